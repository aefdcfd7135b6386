"""Sliding windows over observations, in bounded memory, as a fold over the verdict log.

An observation is a text of one or more words; how often each word occurred in a window is all that
estimates need. For a cell it is an outcome's letter, for a roll-up the shares of one exchange, each with the
sign of its weight unless that is 1.

What a window holds: the running slot and the whole ones before it, so "1h" spans 60 to 65 minutes of
verdict time and "24h" 24 to 25 hours; the last 500 observations in log order; those since the last change.
Memory: at most 16 + 28 slots and 500 observations, about 20 KB for a cell that is busy all day.

The time is that of the log (`LogClock`), never that of a wall clock. A verdict goes to the slot of
its own time, so late ones find their place; slots outside the window just don't count, whether they are
before or, after a clock that ran ahead was set back, behind the log's time.
"""

from __future__ import annotations

from collections import Counter, deque
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.cells import Window

RECENT: Final = 500
"""Number of observations in the window "500"."""

_SPARE_SLOTS: Final = 3
_MOST_OBSERVATIONS: Final = 64
"""Most different observations that are counted whole; more than the 44 outcomes of a cell."""


def _take_apart(observations: dict[str, int], words: dict[str, int]) -> None:
    """Move the counts of observations to their words."""
    for observation, times in observations.items():
        for word in observation.split(" "):
            words[word] = words.get(word, 0) + times
    observations.clear()


def _add_words(observations: dict[str, int], total: Counter[str]) -> None:
    for observation, times in observations.items():
        for word in observation.split(" "):
            total[word] += times


class Occurrences:
    """Number of occurrences of each word in observations, in memory bounded by the number of words.

    Observations are counted as they come, and taken apart only when many differ or somebody asks.
    """

    __slots__ = ("_observations", "_words")

    def __init__(self) -> None:
        self._observations: dict[str, int] = {}
        self._words: dict[str, int] | None = None
        """Words of the observations that were taken apart; few slots ever need it."""

    def add(self, observation: str) -> None:
        """Count an observation."""
        counted = self._observations
        counted[observation] = counted.get(observation, 0) + 1
        if len(counted) > _MOST_OBSERVATIONS:
            self._take_apart()

    def _take_apart(self) -> None:
        self._words = self._words or {}
        _take_apart(self._observations, self._words)

    def total(self) -> Counter[str]:
        """Return the number of occurrences of each word."""
        total: Counter[str] = Counter()
        _add_words(self._observations, total)
        total.update(self._words or {})
        return total

    def to_json(self) -> list[dict[str, int] | None]:
        """Return the counts as JSON values."""
        return [self._observations, self._words]

    @classmethod
    def from_json(cls, raw: list[Any]) -> Occurrences:
        """Read what `to_json` wrote."""
        occurrences = cls()
        occurrences._observations, occurrences._words = raw
        return occurrences


class SlotRing:
    """Counts of words in slots of equal length; slots far from the log's time are forgotten."""

    __slots__ = ("_slots", "_words", "spans", "width_s")

    def __init__(self, width_s: int, spans: int) -> None:
        self.width_s = width_s
        self.spans = spans
        """Whole slots in the window, besides the running one."""
        self._slots: dict[int, dict[str, int]] = {}
        """Observations by slot number, each with its count. Not `Occurrences`: the garbage collector
        passes over a dictionary of texts and whole numbers, and a state has some hundred thousand slots."""
        self._words: dict[int, dict[str, int]] = {}
        """Words of the observations that were taken apart, by slot; few slots ever need it."""

    def add(self, observation: str, at: float, now: float) -> None:
        """Count an observation of time `at`, the log's time being `now`."""
        number = int(at // self.width_s)
        slots = self._slots
        slot = slots.get(number)
        if slot is None:
            slots[number] = {observation: 1}
            if len(slots) > self.spans + 1 + _SPARE_SLOTS:
                here, first, last = int(now // self.width_s), min(slots), max(slots)
                gone = first if here - first >= last - here else last
                del slots[gone]
                self._words.pop(gone, None)
            return
        slot[observation] = slot.get(observation, 0) + 1
        if len(slot) > _MOST_OBSERVATIONS:
            _take_apart(slot, self._words.setdefault(number, {}))

    def place(self, now: float) -> int:
        """Return the number of the running slot; the window changes with it even without verdicts."""
        return int(now // self.width_s)

    def holds(self, at: float, now: float) -> bool:
        """Return whether the window, which reaches one slot ahead of the log, covers the time `at`."""
        return -1 <= self.place(now) - int(at // self.width_s) <= self.spans

    def total(self, now: float) -> Counter[str]:
        """Return the number of occurrences of each word in the window."""
        here = self.place(now)
        total: Counter[str] = Counter()
        for number in sorted(self._slots):
            if -1 <= here - number <= self.spans:
                _add_words(self._slots[number], total)
                total.update(self._words.get(number, {}))
        return total

    def to_json(self) -> dict[str, Any]:
        """Return the slots as JSON values."""
        return {str(number): [slot, self._words.get(number)] for number, slot in sorted(self._slots.items())}

    def read(self, raw: dict[str, Any]) -> None:
        """Read what `to_json` wrote."""
        self._slots = {int(number): slot for number, (slot, _) in raw.items()}
        self._words = {int(number): words for number, (_, words) in raw.items() if words}


class Windows:
    """Set of the four windows of a cell or a roll-up. Not thread-safe."""

    __slots__ = ("_day", "_era", "_hour", "_recent", "_since")

    def __init__(self) -> None:
        self._hour = SlotRing(300, 12)
        self._day = SlotRing(3600, 24)
        self._recent: deque[str] = deque(maxlen=RECENT)
        self._since = Occurrences()
        self._era = 0

    def add(self, observation: str, at: float, now: float, era: int) -> None:
        """Count an observation.

        Args:
            observation: its words, with a space between.
            at: Unix time in seconds.
            now: the log's time.
            era: number of changes before it. An observation of an earlier era is not since the change.
        """
        if isfinite(at):
            self._hour.add(observation, at, now)
            self._day.add(observation, at, now)
        self._recent.append(observation)
        if era > self._era:
            self._era, self._since = era, Occurrences()
        if era == self._era:
            self._since.add(observation)

    def place(self, now: float, era: int) -> tuple[int, int, int]:
        """Return a key that changes whenever time or a new era changes the windows without an observation."""
        return self._hour.place(now), self._day.place(now), era

    def since_change(self, era: int) -> Counter[str]:
        """Return the number of occurrences of each word since the last change.

        Args:
            era: number of changes so far.
        """
        return self._since.total() if self._era == era else Counter()

    def totals(
        self, now: float, era: int, unfinished: Iterable[tuple[str, float, int]] = ()
    ) -> dict[Window, Counter[str]]:
        """Return the number of occurrences of each word in each window.

        Args:
            now: the log's time.
            era: number of changes so far.
            unfinished: observation, time and era of what may still change, in log order.
        """
        hour, day = self._hour.total(now), self._day.total(now)
        since = self.since_change(era)
        recent = list(self._recent)
        for observation, at, observed_era in unfinished:
            words = observation.split(" ")
            recent.append(observation)
            if isfinite(at) and self._hour.holds(at, now):
                hour.update(words)
            if isfinite(at) and self._day.holds(at, now):
                day.update(words)
            if observed_era == era:
                since.update(words)
        return {"1h": hour, "24h": day, "500": _words(recent[-RECENT:]), "since_change": since}

    def to_json(self) -> dict[str, Any]:
        """Return the windows as JSON values."""
        return {
            "hour": self._hour.to_json(),
            "day": self._day.to_json(),
            "recent": _packed(self._recent),
            "since": self._since.to_json(),
            "era": self._era,
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Windows:
        """Read what `to_json` wrote."""
        windows = cls()
        windows._hour.read(raw["hour"])
        windows._day.read(raw["day"])
        windows._recent.extend(_unpacked(raw["recent"]))
        windows._since, windows._era = Occurrences.from_json(raw["since"]), raw["era"]
        return windows


def _words(observations: Iterable[str]) -> Counter[str]:
    total: Counter[str] = Counter()
    for observation, times in Counter(observations).items():
        for word in observation.split(" "):
            total[word] += times
    return total


def _packed(observations: Iterable[str]) -> Any:
    """Pack observations in order: single letters as one text, others as values with their places."""
    order = list(observations)
    if all(len(observation) == 1 for observation in order):
        return "".join(order)
    places: dict[str, int] = {}
    numbers = [places.setdefault(observation, len(places)) for observation in order]
    return [list(places), numbers]


def _unpacked(raw: Any) -> list[str]:
    if isinstance(raw, str):
        return list(raw)
    distinct, numbers = raw
    return [distinct[number] for number in numbers]
