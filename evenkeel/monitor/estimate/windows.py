"""Sliding windows over a cell's outcomes, in bounded memory, as a fold over the verdict log.

How often each outcome's word occurred in a window is all that estimates need (`counts`).

What a window holds: the running slot and the whole ones before it, so "1h" spans 60 to 65 minutes of
verdict time and "24h" 24 to 25 hours; the last 500 trials in log order; those since the last change.
Memory: at most 16 + 28 slots and 500 words, about 20 KB for a cell that is busy all day.

The time is that of the log (`LogClock`), never that of a wall clock. A verdict goes to the slot of
its own time, so late ones find their place; slots outside the window just don't count, whether they are
before or, after a clock that ran ahead was set back, behind the log's time.
"""

from __future__ import annotations

from collections import Counter
from math import isfinite
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from evenkeel.core.cells import Window

RECENT: Final = 500
"""Number of trials in the window "500"."""

# Slots beyond a window's span that are kept, so that the oldest one goes only when it is surely past.
_SPARE_SLOTS: Final = 3


class SlotRing(Struct):
    """Counts of words in slots of equal length; slots far from the log's time are forgotten."""

    width_s: int
    spans: int
    """Whole slots in the window, besides the running one."""
    slots: dict[int, dict[str, int]] = field(default_factory=dict)
    """Words by slot number, each with its count."""

    def add(self, word: str, at: float, now: float) -> None:
        """Count a word of time `at`, the log's time being `now`."""
        number = int(at // self.width_s)
        slots = self.slots
        slot = slots.get(number)
        if slot is not None:
            slot[word] = slot.get(word, 0) + 1
            return
        slots[number] = {word: 1}
        if len(slots) > self.spans + 1 + _SPARE_SLOTS:
            here, first, last = int(now // self.width_s), min(slots), max(slots)
            del slots[first if here - first >= last - here else last]

    def place(self, now: float) -> int:
        """Return the number of the running slot; the window changes with it even without verdicts."""
        return int(now // self.width_s)

    def total(self, now: float) -> Counter[str]:
        """Return the number of occurrences of each word in the window."""
        here = self.place(now)
        total: Counter[str] = Counter()
        for number, words in self.slots.items():
            if -1 <= here - number <= self.spans:
                total.update(words)
        return total


class Windows(Struct):
    """Set of the four windows of a cell. Not thread-safe."""

    hour: SlotRing = field(default_factory=lambda: SlotRing(300, 12))
    day: SlotRing = field(default_factory=lambda: SlotRing(3600, 24))
    recent: list[str] = field(default_factory=list)
    since: dict[str, int] = field(default_factory=dict)
    era: int = 0

    def add(self, word: str, at: float, now: float, era: int) -> None:
        """Count a word.

        Args:
            word: Outcome of a trial.
            at: Unix time in seconds.
            now: the log's time.
            era: number of changes before it. A trial of an earlier era is not since the change.
        """
        if isfinite(at):
            self.hour.add(word, at, now)
            self.day.add(word, at, now)
        self.recent.append(word)
        if len(self.recent) > RECENT:
            del self.recent[0]
        if era > self.era:
            self.era, self.since = era, {}
        if era == self.era:
            self.since[word] = self.since.get(word, 0) + 1

    def place(self, now: float, era: int) -> tuple[int, int, int]:
        """Return a key that changes whenever time or a new era changes the windows without a trial."""
        return self.hour.place(now), self.day.place(now), era

    def since_change(self, era: int) -> Counter[str]:
        """Return the number of occurrences of each word since the last change, the `era`-th."""
        return Counter(self.since if self.era == era else ())

    def totals(self, now: float, era: int) -> dict[Window, Counter[str]]:
        """Return the number of occurrences of each word in each window.

        Args:
            now: the log's time.
            era: number of changes so far.
        """
        return {
            "1h": self.hour.total(now),
            "24h": self.day.total(now),
            "500": Counter(self.recent),
            "since_change": self.since_change(era),
        }
