"""Which of many cells are in alarm together: e-BH over e-detectors, in trials of the whole family.

Each cell has an e-detector of its own (`evenkeel.monitor.detect.alert`, `evenkeel.monitor.detect.drift`); a
trial of one cell is a trial of the family. With C the alarm level, the cells in alarm are the largest group
of which every member has evidence of at least C / (size of the group): one cell alone needs C, ten together
need a tenth of it each (more than sixteen together a sixteenth).

What is promised, however the cells depend on each other (all perturbations of an exchange share its
resend, a provider's fault moves them together):

1. While nothing has changed in any cell, the first alert comes after C trials *of the family* or
   more on average, and n trials of the family raise at most n/C alerts on average, each counted by
   the share it is of the alerts in the group that raised it. The number of cells does not appear:
   forty cells alarm no oftener per trial than one.
2. At any time of looking τ, also one chosen by looking, the share of false alerts in the group is on
   average at most E[τ]/C, whatever changed in the other cells: false discovery rate over patience.

Why: the evidence of a cell without a change, minus the number of its own trials, is a supermartingale,
also if it stays what it was while an alert is up and starts from nothing when the alert is over. A false
member of a group of k weighs 1/k ≤ evidence/C. Summed over cells, that is at most (trials)/C on average.
The usual way counts *rounds* in which every cell has one trial, and asks C·K/k of K cells; that is the
same promise in other words, since a round of K cells is K trials.

In numbers: forty cells and 20,000 trials hold at most 2 false alerts on average for C = 10,000, even if
every cell sits exactly on its line, where it is hardest; 0.2 for C = 100,000, for which a single cell that
worsened takes about two fifths more trials to be found (`python -m benchmarks.detection` measures both).

Alerts do not flap: `Family` only names cells to raise. What is up stays up until its own detector has
evidence C that the mean is back, also if the group that helped to raise it is gone. Such an alert is
outside the second promise, which is about the group, and inside the first.

Source: Wang, Ramdas 2022, "False discovery rate control with e-values"; Dandapanthula, Ramdas 2025,
"Multiple testing in multi-stream sequential change detection" (error over patience).
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_TOGETHER: Final = 16
"""Largest group that helps its members: with evidence below C/16 a cell is not considered. Both promises
hold for any group whose members have the evidence its size asks for, so also for the limited ones. The
limit keeps one unlucky moment from raising many false alerts at once: sixteen need a sixteenth each."""

_Key = tuple[str, ...]


def rank(evidence: float, alarm: float) -> int | None:
    """Size of the smallest group in which this evidence is enough; None if that is above the largest."""
    if evidence * MOST_TOGETHER < alarm:
        return None
    size = max(1, ceil(alarm / evidence))
    # Division rounds: take the smallest size that truly suffices.
    if size > 1 and evidence * (size - 1) >= alarm:
        size -= 1
    return size if evidence * size >= alarm else size + 1


def alarm_set(evidence: Mapping[_Key, float], alarm: float) -> frozenset[_Key]:
    """The cells in alarm (see the module's text for what that promises).

    Args:
        evidence: of every cell: `Alert.evidence`, `DriftAlert.evidence`. A cell with two detectors
            takes part twice, and each of its trials counts twice.
        alarm: C, the mean number of trials of the family to a false alert.

    Returns: the largest group of which every member has evidence of at least C / size, where a group of
    more than `MOST_TOGETHER` asks for no less than one of that size. More evidence anywhere never makes
    the group smaller.
    """
    ranks = {key: place for key, value in evidence.items() if (place := rank(value, alarm)) is not None}
    size = _size([sum(place == wanted for place in ranks.values()) for wanted in range(1, MOST_TOGETHER + 1)])
    return frozenset(key for key, place in ranks.items() if place <= size)


def _size(counts: list[int]) -> int:
    """Largest k such that k cells or more have rank k or less; `counts` starts with that of rank 1."""
    size = total = 0
    for place, count in enumerate(counts, 1):
        total += count
        if total >= place:
            size = place
    return size


class Family:
    """`alarm_set` kept up to date, one cell at a time, at a cost that does not grow with the cells.

    `alarm` must be the level of the cells' own rules: a cell that reaches it alone raises itself.
    Its state follows from the evidence of the cells, so it is not stored: after a restart show it
    every cell once.
    """

    __slots__ = ("_counts", "_down", "_ranks", "_size", "alarm")

    def __init__(self, alarm: float) -> None:
        self.alarm = alarm
        self._ranks: dict[_Key, int] = {}
        self._counts = [0] * MOST_TOGETHER
        self._down: set[_Key] = set()
        """Cells with a rank whose alert is not up."""
        self._size = 0

    def show(self, key: _Key, evidence: float, *, up: bool) -> tuple[_Key, ...]:
        """Take a cell's evidence after a trial.

        Args:
            key: names the cell.
            evidence: as for `alarm_set`.
            up: whether its alert is up already.

        Returns: the cells whose alert is to be raised now, sorted; mostly none. Raise each and show
        it again with its alert up: its evidence stays, so nothing else follows from that.
        """
        place = rank(evidence, self.alarm)
        if place is None and key not in self._ranks:
            return ()
        if place is not None and not up:
            self._down.add(key)
        else:
            self._down.discard(key)
        before = self._size
        if place != self._ranks.get(key):
            self._move(key, place)
        if self._size > before:
            return tuple(sorted(one for one in self._down if self._ranks[one] <= self._size))
        return (key,) if key in self._down and self._ranks[key] <= self._size else ()

    def _move(self, key: _Key, place: int | None) -> None:
        former = self._ranks.pop(key, None)
        if former is not None:
            self._counts[former - 1] -= 1
        if place is not None:
            self._ranks[key] = place
            self._counts[place - 1] += 1
        self._size = _size(self._counts)

    def members(self) -> frozenset[_Key]:
        """The group in alarm, as `alarm_set` of the latest evidence of every cell."""
        return frozenset(key for key, place in self._ranks.items() if place <= self._size)
