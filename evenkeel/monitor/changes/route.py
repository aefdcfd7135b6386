"""The changes of one route, read from its verdicts: a part of the monitor's fold.

Everything here follows from the verdicts in their order and from nothing else, so a restart or a clean fold
of the log finds the same changes at the same places, with the same traffic before and after.

`values` follows the values of exchanges: a nightly batch that comes back is no change. What the traffic is
like is only counted; a report compares both sides of a change (`comparison.shifted_traits`).

All of this is about an even draw of exchanges and trials (`traits.evenly_drawn`): how they are drawn changes
with what is known about a route, and would pass for a change of its traffic.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from evenkeel.core.cells import ChangeMark, RouteChanges
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.onset import ExchangeShifts
from evenkeel.monitor.changes.record import ASKED, ChangeRecord, ChangeTally, change_id
from evenkeel.monitor.changes.stay import turns_of
from evenkeel.monitor.changes.traits import evenly_drawn, judge_value, stated_values, traffic
from evenkeel.monitor.changes.values import KEPT, LATEST, SETTLING, ParameterWatch, ValueWatch

if TYPE_CHECKING:
    from evenkeel.core.panel import PanelRated
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.record import Closed, Silent
    from evenkeel.monitor.changes.values import Switch
    from evenkeel.monitor.estimate import RatedOutcome


# Pattern of fingerprints of learned templates; versions stated by applications look different.
_LEARNED: Final = re.compile("[0-9a-f]{16}")
# Exchanges in which templates are still being learned: one that appears then is not a new version.
_LEARNING: Final = 150
# Changes of one route that are still being compared; older ones keep the figures that they have.
_RECORDS_KEPT: Final = 4
# Exchanges counted in one block; the traffic before a change ends with a whole block.
_BLOCK: Final = 50
# Most exchanges that are kept to tell when answers began to move: as many after a change as before it.
_AROUND: Final = 2 * KEPT
# Most blocks; beyond them the oldest join the first.
_BLOCKS_KEPT: Final = 14


def _add_shifts(latest: list[ExchangeShifts], verdict: Verdict, outcome: RatedOutcome | str) -> None:
    """Count a resend as the next exchange, and a rewording with the exchange that came last."""
    if verdict.is_control:
        latest.append(ExchangeShifts(verdict.scored_at))
    elif latest and not isinstance(outcome, str) and outcome.known:
        at, shifted, trials = latest[-1]
        latest[-1] = ExchangeShifts(at, shifted + outcome.shifted, trials + 1)


def _mark(kind: str, switch: Switch, verdict: Verdict, offset: int) -> ChangeMark:
    return ChangeMark(kind, switch.before, switch.after, verdict.scored_at, offset, switch.age)


class RouteWatch(Struct, dict=True):
    """Watch over the values and changes of one route, and the traffic around its latest changes."""

    route: str
    judge: str = ""
    """Judge and wording of the latest rating; "" if no judge has rated so far."""
    counts: dict[str, int] = field(default_factory=dict)
    """Marks so far, by kind."""
    values: dict[str, ValueWatch] = field(default_factory=dict)
    parameters: ParameterWatch = field(default_factory=ParameterWatch)
    blocks: list[ChangeTally] = field(default_factory=lambda: [ChangeTally(), ChangeTally()])
    """Traffic since the previous change, oldest first: in the first one all but the latest blocks, the last
    one still grows."""
    open_records: list[ChangeRecord] = field(default_factory=list)
    latest: list[ExchangeShifts] = field(default_factory=list)
    """Shifted answers of the latest exchanges."""
    has_panel: bool = False
    """True once a round of the judge's panel was as before."""

    def __post_init__(self) -> None:
        self.changed = True
        """True if it changed since the last checkpoint."""

    @property
    def era(self) -> int:
        """Number of marks so far, after each of which figures begin anew."""
        return sum(self.counts.values())

    @property
    def replaced(self) -> set[str]:
        """Models that were replaced in the latest changes, or whose replacement was reversed."""
        models_replaced: set[str] = set()
        for record in self.open_records:
            for mark in kinds.select(record.marks, {kinds.MODEL}):
                end = record.stay.end
                gone, here = (mark.before, mark.after) if end is None else (mark.after, end.by)
                models_replaced.add(gone)
                models_replaced.discard(here)
        return models_replaced

    def observe(self, verdict: Verdict, outcome: RatedOutcome | str, offset: int) -> list[ChangeMark]:
        """Take the next verdict; return the marks to be passed to `mark`, mostly none.

        Values and the traffic's traits are those of exchanges, so they are taken from the one verdict of each
        that tells of it.

        Args:
            verdict: The verdict.
            outcome: Outcome of the verdict, or the reason why it has none.
            offset: Place of the verdict in the log.
        """
        self.changed = True
        if verdict.is_control and self.open_records:
            self.open_records[-1].since += 1
        # What is likelier to be tried where answers move would look like other traffic.
        if not evenly_drawn(verdict):
            return []
        marks = self._stated(verdict, offset) if verdict.is_control else []
        rated_by = judge_value(verdict)
        if rated_by:
            self.judge = rated_by
            marks += self._switched(kinds.JUDGE, rated_by, verdict, offset)
        if verdict.is_control and self.open_records:
            self._follow(verdict, offset)
        self._count(verdict, outcome)
        return marks

    def _follow(self, verdict: Verdict, offset: int) -> None:
        """Update whether the values of each change are still in the traffic.

        Where the latest one is reversed, the next is compared with what was before it, and comes after.
        """
        latest = self.open_records[-1] if self.open_records else None
        for record in self.open_records:
            # Earlier changes have both of their sides already; the latest one's end is where the next begins.
            if record.stay.observe(turns_of(record.marks), verdict, offset) and record is latest:
                end = record.stay.end
                self._begin(record.before if end is not None and end.how == "reversed" else ChangeTally())

    def _begin(self, before: ChangeTally) -> None:
        """Start the traffic before the next change with a given tally, and count on from here."""
        self.blocks = [ChangeTally(), ChangeTally()]
        self.blocks[0].merge(before)

    def _stated(self, verdict: Verdict, offset: int) -> list[ChangeMark]:
        marks: list[ChangeMark] = []
        for kind, value in stated_values(verdict):
            marks += self._switched(kind, value, verdict, offset)
        for switch in self.parameters.observe(verdict.origin.parameters):
            marks.append(_mark(kinds.PARAMETERS, switch, verdict, offset))
        return marks

    def _switched(self, kind: str, value: str, verdict: Verdict, offset: int) -> list[ChangeMark]:
        watch = self.values.get(kind)
        if watch is None:
            watch = self.values[kind] = ValueWatch()
        learned = kind == kinds.PROMPT and _LEARNED.fullmatch(value) is not None
        switch = watch.observe(value, _LEARNING if learned else SETTLING, guessed=learned)
        if switch is None:
            return []
        return [_mark(kind, switch, verdict, offset)]

    def _count(self, verdict: Verdict, outcome: RatedOutcome | str) -> None:
        tallies = [self.blocks[-1]]
        arounds = [self.latest]
        record = self.open_records[-1] if self.open_records else None
        if record is not None and record.counts(verdict):
            tallies.append(record.after)
            if len(record.around) < _AROUND:
                arounds.append(record.around)
        for tally in tallies:
            tally.add(verdict, outcome)
        for around in arounds:
            _add_shifts(around, verdict, outcome)
        if not verdict.is_control:
            return
        del self.latest[:-KEPT]
        traits = traffic(verdict)
        for tally in tallies:
            tally.add_exchange(traits)
        if self.blocks[-1].exchanges >= _BLOCK:
            self.blocks.append(ChangeTally())
            if len(self.blocks) > _BLOCKS_KEPT:
                self.blocks[0].merge(self.blocks.pop(1))

    def mark(self, change: ChangeMark, silent: Silent | None = None) -> ChangeRecord:
        """Record a mark as part of the nearest change that takes it, or as a new one; return the change.

        Args:
            change: The mark.
            silent: Evidence of a silent change that the mark is of.
        """
        self.changed = True
        self.counts[change.kind] = self.counts.get(change.kind, 0) + 1
        change = replace(change, began=min(self._began(change), change.at))
        began = silent.references.since if silent else change.at
        taking = [record for record in self.open_records if record.takes(change, silent)]
        record = min(taking, key=lambda record: abs(record.at - began), default=None)
        if record is None:
            return self._open(change, silent)
        record.take(change, silent)
        return record

    def _began(self, change: ChangeMark) -> float:
        """Return the earliest time at which a mark may have come about."""
        if change.began is not None:
            return change.began
        if change.kind != kinds.RATINGS:
            return self.latest[-1 - min(change.run, len(self.latest) - 1)].at if self.latest else change.at
        # The run of a cell's trials errs towards the change, so answers may have begun to move a run earlier.
        left = change.run + max(change.run, LATEST)
        cell = change.before.partition(":")[0]
        began = change.at
        for tally in reversed(self.blocks[1:]):
            began = began if tally.began_at is None else tally.began_at
            left -= sum(tally.cells.get(cell, {}).values())
            if left <= 0:
                break
        return began

    def mark_silent(self, silent: Silent, offset: int) -> ChangeRecord:
        """Record a silent change; return the change that it is part of."""
        for record in self.open_records:
            record.askable = False
        return self.mark(silent.mark(offset), silent)

    def close_silent(self, change: str, closed: Closed) -> None:
        """Close a silent change by its id; a change that is no longer kept stays forgotten."""
        record = self.find(change)
        if record is not None and record.silent is not None:
            record.silent = replace(record.silent, state=closed)
            self.changed = True

    def find(self, change: str) -> ChangeRecord | None:
        """Return a change by its id, as it is kept here; None if it is no longer kept."""
        return next((record for record in self.open_records if record.id == change), None)

    def _open(self, change: ChangeMark, silent: Silent | None) -> ChangeRecord:
        """Open a change, with the blocks of traffic wholly before it began and wholly since it showed."""
        since = silent.references.since if silent else change.at
        before, after = ChangeTally(), ChangeTally()
        before.merge(self.blocks[0])
        for tally in self.blocks[1:]:
            if tally.ended_at is None or tally.began_at is None:
                continue
            if tally.ended_at <= change.begun_at:
                before.merge(tally)
            elif tally.began_at >= since:
                after.merge(tally)
        record = ChangeRecord(
            change_id(self.route, change), self.route, (change,), before, after, silent=silent
        )
        record.around = list(self.latest)
        record.panel = "due" if self.has_panel else ""
        self.open_records = [*self.open_records, record][-_RECORDS_KEPT:]
        # What comes before the next change begins with this one.
        self._begin(record.after)
        return record

    def report(self) -> RouteChanges:
        """Return the counts of all marks, and the marks of the latest changes."""
        marks: list[ChangeMark] = []
        for record in self.open_records:
            marks += record.marks
        marks.sort(key=lambda mark: mark.offset)
        return RouteChanges(self.route, dict(self.counts), tuple(marks))

    def records(self) -> list[ChangeRecord]:
        """Return copies of the latest changes, oldest first."""
        return [record.copied() for record in self.open_records]

    def note_reference(self, *, same: bool) -> None:
        """Note an answer to a reference prompt; `same` if all together say that nothing changed."""
        for record in self.open_records:
            if record.askable:
                record.asked = min(ASKED, record.asked + 1) if same else 0
        self.changed = True

    def note_panel(self, rated: PanelRated, offset: int) -> ChangeMark | None:
        """Take a round of the panel of the route's judge; return the mark to record if the judge changed."""
        # The round may have been asked before the judge was swapped.
        if rated.judge != self.judge:
            return None
        if rated.is_as_before:
            self.has_panel = self.changed = True
            for record in self.open_records:
                if rated.at > record.marks[-1].at:
                    record.panel = "same"
        if not rated.shows_change:
            return None
        detail = f"{rated.stricter} of {len(rated.pairs)} pairs rated lower, {rated.lenient} rated higher"
        return ChangeMark(kinds.JUDGE_PANEL, "as before", detail, rated.at, offset, began=rated.since)
