"""The traffic before a change and after it, held against each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core import rewordings
from evenkeel.core.verdict import BASELINE
from evenkeel.lab.report.counts import (
    LANGUAGE_KINDS,
    CellKey,
    Folder,
    GroupKey,
    worth_a_table,
)
from evenkeel.lab.report.tables import SIDE_WORDS, Rules, cell_line, group_line
from evenkeel.monitor.changes.comparison import Sides as BothSides
from evenkeel.monitor.changes.stay import Stay, turns_of
from evenkeel.monitor.changes.traits import evenly_drawn
from evenkeel.monitor.estimate import Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from evenkeel.core.cells import Estimate
    from evenkeel.lab.report.counts import Kind
    from evenkeel.lab.report.tables import Line
    from evenkeel.monitor.changes.comparison import Difference
    from evenkeel.monitor.changes.record import ChangeRecord, Tally
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.verdict_log import LoggedVerdict

_ALPHA: Final = 0.05
"""As `evenkeel.monitor.changes.comparison` has it, so that both give the same figures to the last digit."""
COMPARED: Final = ("content_delta", "robustness", "quality_delta", "excess")


@dataclass(frozen=True, slots=True)
class SideLine:
    """The same trials before and after."""

    name: str
    """Of the perturbation, the category or the language; "" for everything."""
    before: Line
    after: Line
    differences: Mapping[str, Difference | None]
    """By measure; None where a side has too few observations."""


@dataclass(frozen=True, slots=True)
class SideTable:
    """One table of both sides."""

    key: str
    title: str
    about: str
    lines: tuple[SideLine, ...]


@dataclass(frozen=True, slots=True)
class ChangeSides:
    """A change as the report tells it."""

    report: ChangeReport
    tables: tuple[SideTable, ...]
    """Empty for a change that only goldens noticed, or whose traffic the log no longer has."""
    before_exchanges: int
    after_exchanges: int


class Stretch:
    """Counts the verdicts of one side of a change: those that the change's own tally counted.

    Which trials of a cluster are its observations depends on what came before, which is read for an hour at
    most; where clusters are about, another trial of the same cluster may stand for it.
    """

    def __init__(
        self,
        route: str,
        tally: Tally,
        after_offset: int,
        *,
        pauses: Sequence[Pause] = (),
        covers: Callable[[LoggedVerdict], bool] = lambda _: True,
    ) -> None:
        """Wait for the first one.

        Args:
            route: Whose verdicts.
            tally: What was counted on this side.
            after_offset: The side begins after this place of the log.
            pauses: Within it, in their order.
            covers: Whether a verdict after that place is of this side; asked about each, in their order.
        """
        self.folder = Folder(by_model=False)
        self._route = route
        self._began_at = tally.began_at
        self._ended_at = tally.ended_at
        self._after = after_offset
        self._left = tally.trials
        self._counted = 0
        self._pauses = list(pauses)
        self._covers = covers
        self._begun = False
        self._ended = False

    @property
    def whole(self) -> bool:
        """Whether all of them were seen."""
        return self._left == 0 or self._ended

    def add(self, logged: LoggedVerdict) -> None:
        """Show it the next verdict of the log."""
        verdict = logged.verdict
        if self.whole or verdict.route != self._route or not evenly_drawn(verdict):
            return
        if verdict.weight < 1:
            verdict = replace(verdict, exchange_weight=1.0, path_weight=1.0)
            logged = replace(logged, verdict=verdict)
        covered = logged.offset > self._after and self._covers(logged)
        if covered and verdict.scored_at == self._began_at:
            self._begun = True
        if not (self._begun and covered) or self._pausing(logged.offset):
            self.folder.pass_over(verdict)
            return
        before = self.folder.observed
        self.folder.add(logged)
        self._counted += self.folder.observed - before
        self._left -= self.folder.observed - before
        thinned = self.folder.observed < self.folder.rated
        self._ended = thinned and verdict.scored_at == self._ended_at

    def _pausing(self, offset: int) -> bool:
        """Whether a place of the log lies in a pause."""
        while self._pauses and offset >= self._pauses[0].until:
            del self._pauses[0]
        return bool(self._pauses) and self._counted >= self._pauses[0].after


class Pause(NamedTuple):
    """A change that was reversed: its traffic is not of before the next one."""

    after: int
    """Trials of the side that come before it."""
    until: int
    """Place of the first verdict of the log after it."""


class _InEffect:
    """Says which verdicts after a change the monitor counted: none of once it was reversed."""

    def __init__(self, record: ChangeRecord) -> None:
        self._marks = record.marks
        self._stay = Stay()

    def __call__(self, logged: LoggedVerdict) -> bool:
        """Take the next verdict after the change."""
        turns = turns_of([mark for mark in self._marks if mark.offset < logged.offset])
        if logged.verdict.is_control:
            self._stay.observe(turns, logged.verdict, logged.offset)
        return self._stay.covers(turns, logged.verdict)


class Sides:
    """Both sides of one change while the log is read."""

    def __init__(self, record: ChangeRecord, records: Iterable[ChangeRecord]) -> None:
        """Wait for the log.

        Args:
            record: The change.
            records: All that are known.
        """
        earlier = [
            one
            for one in records
            if one.route == record.route
            and one.marks[0].offset < record.marks[0].offset
            and not one.suspected
        ]
        pauses = _pauses(sorted(earlier, key=lambda one: one.marks[0].offset))
        self.before = Stretch(record.route, record.before, 0, pauses=pauses)
        self.after = Stretch(record.route, record.after, record.marks[0].offset, covers=_InEffect(record))

    def add(self, logged: LoggedVerdict) -> None:
        """Show both the next verdict of the log."""
        self.before.add(logged)
        self.after.add(logged)

    @property
    def whole(self) -> bool:
        """Whether the log had all of both."""
        return self.before.whole and self.after.whole


def _pauses(earlier: Sequence[ChangeRecord]) -> list[Pause]:
    """The changes directly before one that were reversed, oldest first."""
    found: list[Pause] = []
    for one in reversed(earlier):
        if one.end is None or one.end.how != "reversed":
            break
        found.insert(0, Pause(one.before.trials, one.end.offset))
    return found


def change_sides(report: ChangeReport, sides: Sides | None, rules: Rules) -> ChangeSides:
    """A change with the tables of its two sides.

    Each figure's intervals hold together, over all lines of its table and both sides, with probability
    1 − alpha: a difference whose interval leaves out zero is a change.
    """
    comparison = report.comparison
    tables: tuple[SideTable, ...] = ()
    if sides is not None and sides.whole and comparison is not None:
        route = report.route
        maker = _Maker(route, sides.before.folder, sides.after.folder, replace(rules, alpha=_ALPHA))
        tables = tuple(table for table in maker.tables(_pooled(report)) if table.lines)
    return ChangeSides(
        report,
        tables,
        comparison.exchanges_before if comparison else 0,
        comparison.exchanges_after if comparison else 0,
    )


def _pooled(report: ChangeReport) -> tuple[Estimate | None, Estimate | None]:
    assert report.comparison is not None
    return report.comparison.pooled.before, report.comparison.pooled.after


class _Maker:
    def __init__(self, route: str, before: Folder, after: Folder, rules: Rules) -> None:
        self._route = route
        self._sides = (before, after)
        self._groups = (before.groups(), after.groups())
        self._rules = rules

    def tables(self, pooled: tuple[Estimate | None, Estimate | None]) -> Iterator[SideTable]:
        """The tables; `pooled` is the content delta over all perturbations as the change's report has it."""
        together = (_with_content(line, pooled) for line in self._grouped("whole"))
        lines = {
            "sides": (*together, *self._grouped("category")),
            **{f"sides-{kind}s": self._languages(kind) for kind in LANGUAGE_KINDS},
            "sides-kinds": self._cells(),
        }
        for key, found in lines.items():
            yield SideTable(key=key, lines=found, **SIDE_WORDS[key])

    def _cells(self) -> tuple[SideLine, ...]:
        names = sorted(
            {key.perturbation for side in self._sides for key in side.cells},
            key=lambda name: (name != BASELINE, rewordings.position(name)),
        )
        rules = _shared(self._rules, len(names))
        return tuple(
            side_line(
                *(
                    cell_line(
                        self._route, "", name, side.cells.get(CellKey(self._route, "", name), Counts()),
                        rules, noise_floor=None,
                    )
                    for side in self._sides
                )
            )
            for name in names
        )  # fmt: skip

    def _languages(self, kind: Kind) -> tuple[SideLine, ...]:
        perturbations = {key.perturbation for side in self._sides for key in side.cells}
        names = {key.name for groups in self._groups for key in groups if key.kind == kind}
        return self._grouped(kind) if worth_a_table(names, perturbations) else ()

    def _grouped(self, kind: Kind) -> tuple[SideLine, ...]:
        found = [
            {
                key.name: group
                for key, group in groups.items()
                if key == GroupKey(self._route, "", kind, key.name)
            }
            for groups in self._groups
        ]
        # A side without any of them has nothing to be held against.
        names = [name for name in sorted(found[0], key=rewordings.position) if name in found[1]]
        rules = _shared(self._rules, len(names))
        return tuple(
            side_line(*(group_line(self._route, "", name, side[name], rules) for side in found))
            for name in names
        )


def side_line(before: Line, after: Line) -> SideLine:
    """Two lines of the same trials held against each other."""
    return SideLine(
        before.name,
        before,
        after,
        {name: BothSides(getattr(before, name), getattr(after, name)).difference for name in COMPARED},
    )


def _with_content(line: SideLine, pooled: tuple[Estimate | None, Estimate | None]) -> SideLine:
    before, after = (
        replace(side, content_delta=estimate)
        for side, estimate in zip((line.before, line.after), pooled, strict=True)
    )
    return side_line(before, after)


def _shared(rules: Rules, lines: int) -> Rules:
    """Alpha shared among both sides of so many lines, as in the change's own report."""
    return replace(rules, alpha=rules.alpha / max(1, 2 * lines))
