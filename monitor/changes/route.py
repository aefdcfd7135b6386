"""The changes of one route, told from its verdicts: a part of the monitor's fold.

Everything here follows from the verdicts in their order and from nothing else, so a restart or a clean fold
of the log finds the same changes at the same places, with the same traffic before and after.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.cells import ChangeMark, RouteChanges
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.record import ChangeRecord, OpenRecord
from evenkeel.monitor.changes.shares import Moved, ShareRules, ShareWatch
from evenkeel.monitor.changes.tally import Tally
from evenkeel.monitor.changes.traits import (
    counted_traffic,
    judge_value,
    judged,
    lengths,
    likeness,
    stated_values,
    traffic,
)
from evenkeel.monitor.changes.values import SETTLING, ValueWatch

if TYPE_CHECKING:
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.estimate import Outcome

MIX: Final = ShareRules(tolerance=0.15, reference=200, mean_run=50_000, detectors=20)
"""In exchanges: of prompts longer than the median, of a language, of a task, of a share of template."""
LENGTHS: Final = ShareRules(tolerance=0.15, reference=200, mean_run=50_000, detectors=4)
"""In exchanges: of answers longer than the median."""
LIKENESS: Final = ShareRules(tolerance=0.1, reference=100, mean_run=50_000, detectors=40, quantiles=(0.1,))
"""In trials: by perturbation, of pairs less alike than nine in ten of the reference were. With the tolerance
that makes one side: the share of the others can only fall."""
JUDGE: Final = ShareRules(tolerance=0.2, reference=100, mean_run=50_000, detectors=9)
"""In judged pairs: what is said about pairs that look alike."""

_LEARNED: Final = re.compile("[0-9a-f]{16}")
"""Fingerprints of templates that evenkeel has learned; what applications say looks otherwise."""
_LEARNING: Final = 150
"""Exchanges in which templates are still being told apart: one that is new then was there before."""
_MARKS_KEPT: Final = 8
_RECORDS_KEPT: Final = 4
_BLOCK: Final = 50
"""Exchanges counted together; what stands before a change ends with a block."""
_BLOCKS_KEPT: Final = 12
"""Blocks that can still be told apart."""


class RouteWatch:
    """Values, shares and changes of one route, and the traffic on both sides of its latest changes."""

    __slots__ = (
        "_closed",
        "_judge",
        "_lengths",
        "_likeness",
        "_mix",
        "_old",
        "_records",
        "_running",
        "_values",
        "changed",
        "counts",
        "marks",
        "route",
    )

    def __init__(self, route: str) -> None:
        self.route = route
        self.changed = True
        """Since the last checkpoint."""
        self.counts: dict[str, int] = {}
        """Marks so far, by kind."""
        self.marks: list[ChangeMark] = []
        """The last few, oldest first."""
        self._values: dict[str, ValueWatch] = {}
        self._mix = ShareWatch(MIX)
        self._lengths = ShareWatch(LENGTHS)
        self._likeness = ShareWatch(LIKENESS)
        self._judge = ShareWatch(JUDGE)
        self._old = Tally()
        self._closed: list[Tally] = []
        self._running = Tally()
        self._records: list[OpenRecord] = []

    @property
    def era(self) -> int:
        """Number of marks so far."""
        return sum(self.counts.values())

    def observe(self, model: str, verdict: Verdict, outcome: Outcome | str, offset: int) -> list[ChangeMark]:
        """Take the next verdict; returns what is noticed with it, mostly nothing, for `mark`.

        Values and the traffic's traits are those of exchanges, so they are taken from the resend, which every
        exchange has exactly one of.
        """
        self.changed = True
        found = self._stated(model, verdict, offset) if verdict.perturbation == BASELINE else []
        rated_by = judge_value(verdict)
        if rated_by:
            found += self._switched(kinds.JUDGE, rated_by, verdict, offset)
        if not found:
            found = self._tested(verdict, offset)
        self._count(verdict, outcome)
        return found

    def _stated(self, model: str, verdict: Verdict, offset: int) -> list[ChangeMark]:
        found: list[ChangeMark] = []
        for kind, value in stated_values(model, verdict):
            found += self._switched(kind, value, verdict, offset)
        return found

    def _switched(self, kind: str, value: str, verdict: Verdict, offset: int) -> list[ChangeMark]:
        watch = self._values.get(kind)
        if watch is None:
            watch = self._values[kind] = ValueWatch()
        learned = kind == kinds.PROMPT and _LEARNED.fullmatch(value) is not None
        switch = watch.observe(value, _LEARNING if learned else SETTLING)
        if switch is None:
            return []
        return [ChangeMark(kind, switch.before, switch.after, verdict.scored_at, offset)]

    def _tested(self, verdict: Verdict, offset: int) -> list[ChangeMark]:
        moved: list[tuple[str, Moved]] = []
        if verdict.perturbation == BASELINE:
            moved += [(kinds.TRAFFIC, one) for one in self._mix.observe(traffic(verdict))[:1]]
            moved += [(kinds.ANSWERS, one) for one in self._lengths.observe(lengths(verdict))[:1]]
        alike = likeness(verdict)
        if verdict.rated_by:
            moved += [(kinds.JUDGE_DRIFT, one) for one in self._judge.observe(judged(verdict, alike))[:1]]
        if alike is not None:
            found = self._likeness.observe({f"likeness under {verdict.perturbation}": alike})
            if found:
                moved += [(kinds.ANSWERS, found[0])]
        if not moved:
            return []
        return [
            ChangeMark(
                kind,
                f"{one.trait}: {one.value} in {one.before:.0%}",
                f"{one.trait}: {one.value} in {one.after:.0%}",
                verdict.scored_at,
                offset,
                one.run,
            )
            for kind, one in moved
        ]

    def _count(self, verdict: Verdict, outcome: Outcome | str) -> None:
        tallies = [self._running]
        record = self._records[-1] if self._records else None
        if record is not None and record.counting:
            tallies.append(record.after)
        for tally in tallies:
            tally.add(verdict, outcome)
        if verdict.perturbation != BASELINE:
            return
        traits = counted_traffic(verdict)
        for tally in tallies:
            tally.add_exchange(traits)
        if record is not None:
            record.since += 1
        if self._running.exchanges >= _BLOCK:
            self._closed.append(self._running)
            self._running = Tally()
            if len(self._closed) > _BLOCKS_KEPT:
                self._old.merge(self._closed.pop(0))

    def mark(self, change: ChangeMark) -> None:
        """Enter what was noticed: a part of the latest change, or a new one."""
        self.changed = True
        self.counts[change.kind] = self.counts.get(change.kind, 0) + 1
        self.marks = [*self.marks, change][-_MARKS_KEPT:]
        record = self._records[-1] if self._records else None
        if record is not None and record.takes(change):
            record.marks.append(change)
        else:
            self._records = [*self._records, OpenRecord([change], self._before(change))][-_RECORDS_KEPT:]
            self._old, self._closed, self._running = Tally(), [], Tally()
        self._forget(change.kind)

    def _before(self, change: ChangeMark) -> Tally:
        """The traffic since the change before, without the blocks that may hold some of this one."""
        # What is noticed by its value took part in the latest 40 exchanges, which end with the running block.
        doubtful = 1 + change.run // _BLOCK
        before = Tally()
        for tally in (self._old, *self._closed[: max(0, len(self._closed) - doubtful)]):
            before.merge(tally)
        return before

    def _forget(self, kind: str) -> None:
        """Begin references anew: what moves with a change that is known is no further change."""
        if kind in {kinds.PROMPT, kinds.TRAFFIC}:
            self._mix.forget()
        if kind in {kinds.MODEL, kinds.REQUESTED_MODEL, kinds.PROMPT, kinds.TRAFFIC, kinds.ANSWERS}:
            # Not for a fingerprint: that says little, and whether the answers move with it is what matters.
            self._lengths.forget()
            self._likeness.forget()
        if kind not in {kinds.FINGERPRINT, kinds.TRAFFIC, kinds.RATINGS}:
            self._judge.forget()

    def report(self) -> RouteChanges:
        """What was noticed, for people."""
        return RouteChanges(self.route, dict(self.counts), tuple(self.marks))

    def records(self) -> list[ChangeRecord]:
        """The latest changes with the traffic on both sides, oldest first."""
        return [record.record(self.route) for record in self._records]

    def to_json(self) -> dict[str, Any]:
        """The watch as JSON values; floats survive exactly."""
        return {
            "counts": self.counts,
            "marks": [asdict(mark) for mark in self.marks],
            "values": {kind: watch.to_json() for kind, watch in self._values.items()},
            "mix": self._mix.to_json(),
            "lengths": self._lengths.to_json(),
            "likeness": self._likeness.to_json(),
            "judge": self._judge.to_json(),
            "old": self._old.to_json(),
            "closed": [tally.to_json() for tally in self._closed],
            "running": self._running.to_json(),
            "records": [record.to_json() for record in self._records],
        }

    @classmethod
    def from_json(cls, route: str, raw: dict[str, Any]) -> RouteWatch:
        """Read what `to_json` wrote."""
        watch = cls(route)
        watch.counts = raw["counts"]
        watch.marks = [ChangeMark(**mark) for mark in raw["marks"]]
        watch._values = {kind: ValueWatch.from_json(one) for kind, one in raw["values"].items()}
        watch._mix = ShareWatch.from_json(raw["mix"], MIX)
        watch._lengths = ShareWatch.from_json(raw["lengths"], LENGTHS)
        watch._likeness = ShareWatch.from_json(raw["likeness"], LIKENESS)
        watch._judge = ShareWatch.from_json(raw["judge"], JUDGE)
        watch._old, watch._running = Tally.from_json(raw["old"]), Tally.from_json(raw["running"])
        watch._closed = [Tally.from_json(tally) for tally in raw["closed"]]
        watch._records = [OpenRecord.from_json(record) for record in raw["records"]]
        watch.changed = False
        return watch
