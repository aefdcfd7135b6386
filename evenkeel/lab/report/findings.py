"""The findings: everything that a report says, read from the stores."""

from __future__ import annotations

import difflib
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from evenkeel.core.figures import listing
from evenkeel.lab.report.counts import Folder
from evenkeel.lab.report.period import Period, read_period, span_of
from evenkeel.lab.report.tables import Rules, make_tables
from evenkeel.monitor.changes.book import ChangeBook, latest_changes
from evenkeel.monitor.fold import CheckpointError, MonitorSettings
from evenkeel.monitor.monitor import stored_states
from evenkeel.monitor.notify import summary
from evenkeel.release.kit.arguments import InputError
from evenkeel.stores.counters import RouteFlow, UntriedPerturbation, route_flows, untried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from evenkeel.core.cells import JudgeEstimates
    from evenkeel.core.verdict import Scorer
    from evenkeel.lab.report.counts import Cost
    from evenkeel.lab.report.tables import ReportLine, Tables
    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.changes import ChangeStore
    from evenkeel.stores.counters import CounterStore
    from evenkeel.stores.monitor_state import AlertEvent, MonitorStore
    from evenkeel.stores.verdict_log import VerdictLog


@dataclass(frozen=True, slots=True)
class ReportAlert:
    """An alert that was up at some time of the period. Times are Unix seconds."""

    route: str
    model: str
    perturbation: str
    what: str
    """"excess": above the threshold. "drift": away from what it was."""
    raised_at: float | None
    """None if that is no longer known."""
    resolved_at: float | None
    """None if it was still up at the end of the period."""
    summary: str
    """Sentence for people, of when it was raised or else of when it was resolved."""


@dataclass(frozen=True, slots=True)
class JudgeLine:
    """Estimates of the judge on one model of one route."""

    route: str
    model: str
    found: JudgeEstimates


@dataclass(frozen=True, slots=True)
class Gaps:
    """Things that were not measured, and why."""

    failures: Mapping[str, Mapping[str, int]]
    """Counts by route: trials without a rating, by reason."""
    unscored: Mapping[str, Mapping[str, int]]
    """Counts by route: shifted trials of which a quality could not be measured, by reason."""
    unsure: Mapping[str, int]
    """Counts by route: trials whose answers differ and no judge was asked; their similarity counts."""
    invalid: Mapping[str, int]
    """Counts by route: answers that ignore the format or language asked for; they count as worse."""
    thin: tuple[ReportLine, ...]
    """Perturbations with too few observations for a figure."""
    flows: tuple[RouteFlow, ...]
    """Counts from request to verdict, since the service started; not of the period."""
    untried: tuple[UntriedPerturbation, ...]
    """Perturbations that did not apply to a prompt, since the service started."""
    notes: tuple[str, ...] = ()
    """Stores that could not be read, a sentence each."""


@dataclass(frozen=True, slots=True)
class Report:
    """A report."""

    store: str
    """Place of the verdicts."""
    made_at: float
    """Unix time in seconds."""
    period: Period
    route: str | None
    """The only one that is looked at; None for all."""
    rules: Rules
    exchanges: int
    """Exchanges that were replayed."""
    trials: int
    """Trials, the controls and those without a rating among them."""
    scorers: Mapping[Scorer, int]
    """Ratings by who gave them."""
    first_at: float
    """Unix time in seconds of the first verdict; likewise the last."""
    last_at: float
    tables: Tables
    judges: tuple[JudgeLine, ...]
    alerts: tuple[ReportAlert, ...]
    """The newest first."""
    changes: tuple[ChangeReport, ...]
    """Changes noticed in the period, the newest first."""
    gaps: Gaps
    costs: Mapping[str, Cost]
    """Costs by route: replays and judge; not the rewriter, which is paid for by the exchange."""
    days: Mapping[int, Cost]
    """The same by UTC day, in days since 1970."""


def alerts_of(
    events: Iterable[AlertEvent], period: Period, route: str | None = None
) -> tuple[ReportAlert, ...]:
    """The alerts that were up at some time of the period, the newest first.

    Args:
        events: Of all times, in any order; the same one may occur twice.
        period: From when to when.
        route: Only of this one; None for all.
    """
    cells: dict[tuple[str, ...], dict[str, AlertEvent]] = defaultdict(dict)
    for event in events:
        if route is None or event.route == route:
            cells[event.route, event.model, event.perturbation, event.what, event.change][event.id] = event
    alerts = [
        alert
        for cell in cells.values()
        for alert in _paired(sorted(cell.values(), key=lambda event: (event.at, event.offset)))
        if (alert.raised_at is None or alert.raised_at < period.until)
        and (alert.resolved_at is None or alert.resolved_at >= period.since)
    ]
    closed = [_as_of(alert, period.until) for alert in alerts]
    return tuple(
        sorted(closed, key=lambda one: (-_time(one), one.route, one.model, one.perturbation, one.what))
    )


def _paired(events: list[AlertEvent]) -> Iterator[ReportAlert]:
    raised: AlertEvent | None = None
    for event in events:
        if event.kind == "raised":
            raised = raised or event
        else:
            yield _alert(raised, event)
            raised = None
    if raised is not None:
        yield _alert(raised, None)


def _alert(raised: AlertEvent | None, resolved: AlertEvent | None) -> ReportAlert:
    shown_event = raised or resolved
    assert shown_event is not None
    began, ended = (event.at if event else None for event in (raised, resolved))
    return ReportAlert(
        shown_event.route,
        shown_event.model,
        shown_event.perturbation,
        shown_event.what,
        began,
        ended,
        summary(shown_event),
    )


def _as_of(alert: ReportAlert, until: float) -> ReportAlert:
    """The alert as it stood at the end of the period."""
    over = alert.resolved_at is None or alert.resolved_at < until
    return alert if over else replace(alert, resolved_at=None)


def _time(alert: ReportAlert) -> float:
    return alert.raised_at if alert.raised_at is not None else alert.resolved_at or 0.0


_EVENTS_READ: Final = 10_000


@dataclass(frozen=True, slots=True)
class Wish:
    """Scope of a report."""

    period: Period
    route: str | None = None


class ReportStores(Protocol):
    """The stores that a report reads."""

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

    @property
    def counters(self) -> CounterStore:
        """Counters of the processes."""
        ...

    def monitors(self) -> list[MonitorStore]:
        """Checkpoint and alerts of every monitor."""
        ...


def make_report(
    stores: ReportStores,
    wish: Wish,
    *,
    min_trials: int,
    clock: Callable[[], float],
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Report:
    """Read the stores and make the report. Blocks.

    Args:
        stores: Where everything is kept.
        wish: What it is to be about.
        min_trials: Observations that a figure needs at least.
        clock: Unix time in seconds.
        progress: Called with how many places of the log are read, and about how many there are.

    Raises: InputError, in one line that says what there is, if there is nothing to report on.
    """
    monitor = MonitorSettings(min_trials=min_trials)
    rules = Rules(monitor.alpha, monitor.min_trials)
    records, notes = _records(stores, monitor)
    book = ChangeBook(lambda: records, stores.changes, min_trials=rules.min_trials, clock=clock)
    now, period, route = clock(), wish.period, wish.route
    folder, seen = _folded(stores.verdicts, period, route, progress)
    if not folder.verdicts:
        raise InputError(_nothing(stores.verdicts, period, route, seen))
    assert folder.first_at is not None
    assert folder.last_at is not None
    tables = make_tables(folder, rules)
    snapshots = stores.counters.read()
    flows = route_flows(snapshots)
    return Report(
        store=stores.place,
        made_at=now,
        period=period,
        route=route,
        rules=rules,
        exchanges=folder.resends.total(),
        trials=folder.verdicts,
        scorers=dict(folder.scorers),
        first_at=folder.first_at,
        last_at=folder.last_at,
        tables=tables,
        judges=_judges(folder, rules),
        alerts=alerts_of(_events(stores), period, route),
        changes=tuple(
            change
            for change in book.reports()
            if period.covers(change.at) and (route is None or route in change.routes)
        ),
        gaps=Gaps(
            failures={name: dict(folder.failures[name]) for name in sorted(folder.failures)},
            unscored={name: dict(folder.unscored[name]) for name in sorted(folder.unscored)},
            unsure=dict(sorted(folder.unsure.items())),
            invalid=dict(sorted(folder.invalid.items())),
            thin=tuple(line for line in tables.kinds if not line.measured),
            flows=tuple(flows[scope] for scope in sorted(flows) if route in {None, scope}),
            untried=tuple(gap for gap in untried(snapshots) if route in {None, gap.route}),
            notes=tuple(notes),
        ),
        costs={name: folder.costs[name] for name in sorted(folder.costs)},
        days={day: folder.days[day] for day in sorted(folder.days)},
    )


def _records(stores: ReportStores, settings: MonitorSettings) -> tuple[list[ChangeRecord], list[str]]:
    """The changes that the monitors know of, and why those of some are not known."""
    records: list[Sequence[ChangeRecord]] = []
    notes = []
    for store in stores.monitors():
        try:
            records += [state.change_records() for state in stored_states([store], settings)]
        except CheckpointError as error:
            notes.append(
                f"Changes are left out: the monitor's {error}; start `evenkeel up` on the store once."
            )
    return latest_changes(records), notes


def _folded(
    log: VerdictLog,
    period: Period,
    route: str | None,
    progress: Callable[[int, int], None],
) -> tuple[Folder, set[str]]:
    """Count the period, and name every route that has verdicts in the period."""
    folder, seen = Folder(), set()
    for logged in read_period(log, period, progress=progress):
        seen.add(logged.verdict.route)
        if route is None or logged.verdict.route == route:
            folder.add(logged)
    return folder, seen


def _nothing(log: VerdictLog, period: Period, route: str | None, seen: set[str]) -> str:
    """Says what there is where nothing of what was asked for is."""
    if route is not None and seen:
        close = difflib.get_close_matches(route, sorted(seen), n=1, cutoff=0.6)
        meant = f'; did you mean "{close[0]}"?' if close else ""
        newest = log.latest(1, route=route)
        last = f" (its newest: {_day(newest[0].scored_at)})" if newest else ""
        return (
            f'route "{route}" has no verdicts in the period, {period.words}{last}; there are some of '
            f"{listing(sorted(seen))}{meant}"
        )
    span = span_of(log)
    if span is None:
        return "there are no verdicts yet; `evenkeel up` writes some once it has sampled traffic"
    first, last_day = _day(span.since), _day(span.until)
    return (
        f"there are no verdicts in the period, {period.words}; the log has some from {first} to {last_day}: "
        f"--since {first} --until {last_day}"
    )


def _day(at: float) -> str:
    return Period(at, at + 1).name.partition("_")[0]


def _judges(folder: Folder, rules: Rules) -> tuple[JudgeLine, ...]:
    judged_cells = sorted({(key.route, key.model) for key in folder.cells})
    lines = (
        JudgeLine(*judged, folder.judges.estimates(*judged, alpha=rules.alpha, min_trials=rules.min_trials))
        for judged in judged_cells
    )
    return tuple(line for line in lines if line.found.decided)


def _events(stores: ReportStores) -> Iterable[AlertEvent]:
    for store in stores.monitors():
        yield from store.events(_EVENTS_READ)
