"""Report on a period of live traffic, for people who open no dashboard.

Nothing here estimates anything: the verdicts of the period are folded by `MonitorState`, as the monitor folds
them, so a report on all of the log has the figures of the console and of `/api`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, Final, Protocol

import evenkeel.shadow.perturbations  # noqa: F401 - registers the labels of rewordings
from evenkeel.core import figures, rewordings
from evenkeel.core.geometry import band
from evenkeel.core.verdict import BASELINE
from evenkeel.core.version import VERSION
from evenkeel.lab.period import Period
from evenkeel.lab.rows import suggestion
from evenkeel.monitor.changes.book import ChangeBook, latest_changes
from evenkeel.monitor.fold import CheckpointError, MonitorSettings, MonitorState
from evenkeel.monitor.incidents import IncidentBoard
from evenkeel.monitor.monitor import stored_states
from evenkeel.monitor.notify import incident_json
from evenkeel.monitor.notify.notices import current_line
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.document import (
    Bullets,
    Column,
    Document,
    FigureForm,
    Paragraph,
    ReportSection,
    Table,
    TableCell,
)
from evenkeel.release.kit.renderings import json_text
from evenkeel.stores.verdict_log import LoggedVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evenkeel.core.cells import CellEstimates, CellReport, Estimate, RollupEstimates, RollupReport
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.incidents import Incident
    from evenkeel.release.kit.document import Value
    from evenkeel.stores.changes import ChangeStore
    from evenkeel.stores.monitor_state import MonitorStore
    from evenkeel.stores.verdict_log import VerdictLog

# Verdicts in memory at a time.
_BATCH: Final = 2_000
_DAY_S: Final = 86_400
# Rewordings that the summary names.
_NAMED: Final = 3
_MEANINGS: Final = (
    ("robustness", "answers of 100 that keep their content or their quality when the question is reworded"),
    ("content delta", "answers of 100 that say something else"),
    ("quality delta", "of these, the share whose quality changed as well"),
    ("noise floor", "answers of 100 that say something else when the question is asked again word for word"),
    ("above noise", "content delta less the noise floor, on the same requests"),
    ("[…]", "interval that covers the truth in 95 of 100 cases, however often you look"),
)


class ReportStores(Protocol):
    """Stores that a report reads."""

    @property
    def place(self) -> str:
        """Place of the stores, for people."""
        ...

    @property
    def verdicts(self) -> VerdictLog:
        """The verdict log."""
        ...

    @property
    def changes(self) -> ChangeStore:
        """The goldens' runs."""
        ...

    def monitors(self) -> list[MonitorStore]:
        """Checkpoint and incidents of every monitor."""
        ...


@dataclass(slots=True)
class Cost:
    """Cost of trials, and how many there were, failed ones and resends included."""

    trials: int = 0
    tokens: int = 0
    usd: float = 0.0

    def add(self, verdict: Verdict) -> None:
        """Count one."""
        self.trials += 1
        self.tokens += verdict.cost.tokens
        self.usd += verdict.cost.usd


@dataclass(frozen=True, slots=True)
class Report:
    """Report on a period. Times are Unix seconds."""

    store: str
    """Place of the verdicts."""
    made_at: float
    period: Period
    route: str | None
    """The only route that is looked at; None for all."""
    measured: Period
    """Time from the first verdict of the period to its last."""
    cells: list[CellReport]
    rollups: list[RollupReport]
    incidents: list[Incident]
    """Incidents that were open at some time of the period, the newest first."""
    changes: list[ChangeReport]
    """Changes noticed in the period, the newest first."""
    costs: dict[str, Cost]
    """Costs by route: replays and judge; not the rewriter, which is paid for by the exchange."""
    days: dict[int, Cost]
    """The same by UTC day, in days since 1970."""
    notes: list[str]
    """Stores that could not be read, a sentence each."""

    @property
    def trials(self) -> int:
        """Number of trials, the controls and those without a rating among them."""
        return sum(cost.trials for cost in self.costs.values())


def make_report(
    stores: ReportStores,
    period: Period,
    route: str | None,
    *,
    min_trials: int,
    clock: Callable[[], float],
) -> Report:
    """Read the stores and make the report. Blocks.

    Args:
        stores: Where everything is kept.
        period: From when to when; a verdict belongs to it by the time at which it was rated.
        route: Only this route; None for all.
        min_trials: Observations that a figure needs at least.
        clock: Unix time in seconds.

    Raises: InputError, in one line that says what there is, if there is nothing to report on.
    """
    settings = MonitorSettings(min_trials=min_trials)
    state = MonitorState(replace(settings, trend_interval_s=inf))
    routes: set[str] = set()
    costs: defaultdict[str, Cost] = defaultdict(Cost)
    days: defaultdict[int, Cost] = defaultdict(Cost)
    first, last = inf, 0.0
    for logged in _verdicts(stores.verdicts):
        verdict = logged.verdict
        if not period.covers(verdict.scored_at):
            continue
        routes.add(verdict.route)
        if route is None or verdict.route == route:
            state.apply(logged)
            costs[verdict.route].add(verdict)
            days[int(verdict.scored_at // _DAY_S)].add(verdict)
            first, last = min(first, verdict.scored_at), max(last, verdict.scored_at)
    if not costs:
        raise InputError(_nothing(stores.verdicts, period, route, routes))
    changes, notes = _changes_in(stores, period, settings, clock)
    incidents = _incidents_in(stores, period)
    if route is not None:
        incidents = [incident for incident in incidents if route in incident.routes]
        changes = [change for change in changes if route == change.route]
    return Report(
        store=stores.place,
        made_at=clock(),
        period=period,
        route=route,
        measured=Period(first, last + 1),
        cells=state.reports(),
        rollups=state.rollups(),
        incidents=incidents,
        changes=changes,
        costs=dict(sorted(costs.items())),
        days=dict(sorted(days.items())),
        notes=notes,
    )


def _verdicts(log: VerdictLog) -> Iterator[LoggedVerdict]:
    at = 0
    while batch := log.entries_after(at, _BATCH):
        for entry in batch:
            if isinstance(entry, LoggedVerdict):
                yield entry
        at = batch[-1].offset


def _nothing(log: VerdictLog, period: Period, route: str | None, routes: set[str]) -> str:
    """Say what there is where nothing of what was asked for is."""
    if routes:
        return (
            f'route "{route}" has no verdicts in the period, {period.words}; there are some of '
            f"{figures.listing(sorted(routes))}{suggestion(str(route), sorted(routes))}"
        )
    oldest, newest = next(_verdicts(log), None), log.latest(1)
    if oldest is None or not newest:
        return "there are no verdicts yet; `evenkeel up` writes some once it has sampled traffic"
    since, until = (figures.iso(at)[:10] for at in (oldest.verdict.scored_at, newest[0].scored_at))
    return (
        f"there are no verdicts in the period, {period.words}; the log has some from {since} to {until}: "
        f"--since {since} --until {until}"
    )


def _incidents_in(stores: ReportStores, period: Period) -> list[Incident]:
    """Return the incidents that were open in the period, as the monitor with the most of them has them."""
    books = []
    for store in stores.monitors():
        books.append(IncidentBoard(store).all())
    kept = []
    for incident in max(books, key=len, default=()):
        still_open = incident.closed_at is None or incident.closed_at >= period.since
        if incident.opened_at < period.until and still_open:
            kept.append(incident)
    return kept


def _changes_in(
    stores: ReportStores, period: Period, settings: MonitorSettings, clock: Callable[[], float]
) -> tuple[list[ChangeReport], list[str]]:
    """Return the changes that were noticed in the period, and why those of some monitors are not known."""
    records, notes = [], []
    for store in stores.monitors():
        try:
            for state in stored_states([store], settings):
                records.append(state.change_records())
        except CheckpointError as error:
            notes.append(
                f"Changes are left out: the monitor's {error}; start `evenkeel up` on the store once."
            )
    latest = latest_changes(records)
    book = ChangeBook(lambda: latest, stores.changes, min_trials=settings.min_trials, clock=clock)
    return [change for change in book.reports() if period.covers(change.at)], notes


def title(report: Report) -> str:
    """Return the title."""
    return f"Robustness of {report.route}" if report.route else "Robustness of all routes"


def headline(report: Report) -> str:
    """Return the most important thing in one sentence: the least robust model."""
    ranked = _ranked((_whole(rollup).robustness, rollup) for rollup in report.rollups)
    if not ranked:
        judged = any(cell.scorer == "judge" for cell in report.cells)
        return "Too little was measured for a figure." if judged else f"No figure; {figures.NO_JUDGE}."
    robustness, rollup = ranked[0]
    where = f"{rollup.route} ({rollup.model})"
    least = f", the least robust of {len(ranked)}," if len(ranked) > 1 else ""
    return (
        f"{figures.points_text(robustness)} of 100 answers of {where}{least} keep their quality when the "
        "question is reworded."
    )


def summary(report: Report) -> list[str]:
    """Return the facts for a reader of one page."""
    usd = sum(cost.usd for cost in report.costs.values())
    lines = [f"{figures.count(report.trials, 'trial')} from {report.measured.words}, for {figures.usd(usd)}."]
    weakest = _ranked((cell.estimates.robustness, cell) for cell in _rewordings(report))[:_NAMED]
    if weakest:
        named = []
        for estimate, cell in weakest:
            named.append(f"{_cell_name(cell)} ({figures.points(estimate)})")
        lines.append(f"Least robust against {figures.listing(named)}.")
    compared = []
    for cell in _rewordings(report):
        if cell.estimates.excess:
            compared.append(cell.estimates.excess)
    if compared:
        above = sum(excess.lower > 0 for excess in compared)
        lines.append(
            f"{above} of {figures.count(len(compared), 'rewording')} are shown to move answers beyond noise."
        )
    lines.append(
        f"{figures.count(len(report.incidents), 'incident')}, {figures.count(len(report.changes), 'change')}."
    )
    failures = _failures(report)
    if failures:
        lost: Counter[str] = Counter()
        for counts in failures.values():
            lost.update(counts)
        lines.append(f"Not rated: {figures.reasons(lost)}.")
    return lines


def document(report: Report) -> Document:
    """Return the report for people."""
    sections = (
        ReportSection("What the figures mean", (Bullets(tuple(map(": ".join, _MEANINGS))),)),
        ReportSection("Models", (_models(report),)),
        ReportSection("Rewordings", (_rewordings_table(report),)),
        _listed("Incidents", [_incident_line(incident) for incident in report.incidents], "None."),
        _listed(
            "Changes",
            [_change_line(change, report.incidents) for change in report.changes],
            "None was noticed.",
        ),
        _listed("Not measured", list(_gaps(report)), "Every trial was rated."),
        ReportSection("Cost by route", (_spend("Route", report.costs),)),
        ReportSection("Cost by day", (_spend("Day", _by_date(report.days)),)),
    )
    return Document(
        title=title(report),
        kind="report",
        subtitle=report.period.words,
        headline=headline(report),
        summary=tuple(summary(report)),
        sections=sections,
        footer=f"Made {figures.date_and_time(report.made_at)} from {report.store}.",
    )


def as_json(report: Report) -> str:
    """Return everything as JSON: ratios in [0, 1], times in Unix seconds, cells as in `/api/cells`."""
    return json_text(
        {
            "schema": 1,
            "evenkeel": VERSION,
            "store": report.store,
            "made_at": report.made_at,
            "since": report.period.since,
            "until": report.period.until,
            "route": report.route,
            "title": title(report),
            "headline": headline(report),
            "summary": summary(report),
            "trials": report.trials,
            "cells": [_cell_json(cell) for cell in report.cells],
            "rollups": report.rollups,
            "incidents": [incident_json(incident) for incident in report.incidents],
            "changes": report.changes,
            "not_measured": {"failures": _failures(report), "notes": report.notes},
            "spend": {"routes": report.costs, "days": _by_date(report.days)},
        }
    )


def _cell_json(cell: CellReport) -> dict[str, Any]:
    row = cell.flat()
    key = row.pop("key")
    return {"route": key.route, "model": key.model, "perturbation": key.perturbation, **row}


def _whole(rollup: RollupReport) -> RollupEstimates:
    return rollup.windows["all"]


def _rewordings(report: Report) -> list[CellReport]:
    cells: list[CellReport] = []
    for cell in report.cells:
        if cell.key.perturbation != BASELINE:
            cells.append(cell)
    return cells


def _ranked(rows: Iterable[tuple[Estimate | None, Any]]) -> list[tuple[Estimate, Any]]:
    measured = []
    for estimate, row in rows:
        if estimate is not None:
            measured.append((estimate, row))
    return sorted(measured, key=lambda row: row[0].value)


def _cell_name(cell: CellReport) -> str:
    return f"{rewordings.label(cell.key.perturbation)} on {cell.key.route} ({cell.key.model})"


def _figure_columns() -> tuple[Column, ...]:
    names = ("Robustness", "Content delta", "Quality delta", "Noise floor", "Above noise")
    points = [Column(name, FigureForm.POINTS, 1) for name in names]
    return (Column("Trials", FigureForm.NUMBER), *points)


def _figures(
    trials: int, estimates: CellEstimates | RollupEstimates, noise_floor: Estimate | None
) -> tuple[Value, ...]:
    robustness: Value = None
    if estimates.robustness is not None:
        text, interval = figures.points(estimates.robustness), figures.points_interval(estimates.robustness)
        robustness = TableCell(text, interval, band=band(estimates.robustness.value))
    return (
        trials, robustness, estimates.content_delta, estimates.quality_delta, noise_floor, estimates.excess,
    )  # fmt: skip


def _models(report: Report) -> Table:
    rows: list[tuple[Value, ...]] = []
    for rollup in report.rollups:
        whole = _whole(rollup)
        shown = _figures(rollup.trials, whole, whole.noise_floor)
        rows.append((TableCell(rollup.route, rollup.model), *shown))
    return Table((Column("Route, model"), *_figure_columns()), tuple(rows), legend=True)


def _rewordings_table(report: Report) -> Table:
    rows: list[tuple[Value, ...]] = []
    cells = _rewordings(report)
    for cell in sorted(
        cells, key=lambda cell: (cell.key.parts[:2], rewordings.position(cell.key.perturbation))
    ):
        where, rewording = f"{cell.key.route}, {cell.key.model}", rewordings.label(cell.key.perturbation)
        rows.append((where, rewording, *_figures(cell.counts.trials, cell.estimates, cell.noise_floor)))
    columns = (Column("Route, model"), Column("Rewording"), *_figure_columns())
    return Table(columns, tuple(rows), grouped=True)


def _listed(name: str, lines: list[str], none: str) -> ReportSection:
    return ReportSection(name, (Bullets(tuple(lines)) if lines else Paragraph(none),))


def _incident_line(incident: Incident) -> str:
    return f"{current_line(incident)} ({incident.id})"


def _change_line(change: ChangeReport, incidents: list[Incident]) -> str:
    """Return a change with its effect; where it led to an incident, that says the effect."""
    effect = f"{change.said}; this coincided with {change.coincided}."
    for incident in incidents:
        if incident.change == change.id:
            effect = f"{change.title}. It led to the incident {incident.id}."
    silent = f" It began {change.silent.when}." if change.silent is not None else ""
    where = f"{figures.date_and_time(change.at)}: {change.route}"
    return f"{where}: {effect}{silent} ({change.id})"


def _failures(report: Report) -> dict[str, dict[str, int]]:
    failures: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for cell in report.cells:
        failures[cell.key.route].update(cell.counts.failures)
    return {route: dict(counts) for route, counts in failures.items() if counts}


def _gaps(report: Report) -> Iterator[str]:
    for route, counts in _failures(report).items():
        yield f"{route}: trials without a rating: {figures.reasons(counts)}."
    unsure: Counter[str] = Counter()
    invalid: Counter[str] = Counter()
    for cell in report.cells:
        unsure[cell.key.route] += cell.counts.ratings.get(0, 0)
        invalid[cell.key.route] += sum(cell.counts.invalids.values())
    for route in sorted(unsure):
        if unsure[route]:
            yield (
                f"{route}: {figures.count(unsure[route], 'trial')} unsure: the answers are not identical, "
                "and no judge was asked."
            )
        if invalid[route]:
            yield (
                f"{route}: {figures.count(invalid[route], 'answer')} that ignored the format or language "
                "asked for; they count as worse."
            )
    thin = []
    for cell in _rewordings(report):
        if cell.estimates.content_delta is None:
            thin.append(_cell_name(cell))
    if thin:
        yield f"Too few trials for a figure: {figures.listing(thin)}."
    yield from report.notes


def _by_date(days: dict[int, Cost]) -> dict[str, Cost]:
    costs: dict[str, Cost] = {}
    for day, cost in days.items():
        costs[figures.iso(day * _DAY_S)[:10]] = cost
    return costs


def _spend(name: str, costs: dict[str, Cost]) -> Table:
    columns = (
        Column(name),
        Column("Trials", FigureForm.NUMBER),
        Column("Tokens", FigureForm.NUMBER),
        Column("Dollars", FigureForm.USD),
    )
    return Table(columns, tuple((key, cost.trials, cost.tokens, cost.usd) for key, cost in costs.items()))
