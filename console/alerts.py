"""Alerts: the page, the file, and `/api/alerts/ID` with the verdicts and traces behind an alert.

The verdicts behind an alert are those of its cell since the change seems to have begun, read from the log.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from evenkeel.console import links
from evenkeel.console.api import json_response
from evenkeel.console.baselines import approval_lines
from evenkeel.console.downloads import Table
from evenkeel.console.heatmap import retired_models
from evenkeel.console.rendering import Head, live_handlers
from evenkeel.core import figures, rewordings
from evenkeel.core.cells import CellKey
from evenkeel.monitor.changes.report import SAID
from evenkeel.monitor.fold import OTHER_MODEL
from evenkeel.stores.verdict_log import Narrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.baselines import ApprovalLine
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.monitor_state import AlertEvent
    from evenkeel.stores.verdict_log import LoggedVerdict, VerdictLog


EXPLAINS_S: Final = 7 * 86_400.0
"""A change explains an alert of its route that was raised at most so long after it."""

SHOWN: Final = 60
"""Alerts of either list on the page; the download has all."""

_REGRESSES_S: Final = 86_400.0
"""So long a change that made answers worse is an alert, as it is for the rules of Prometheus."""

_SLACK_S: Final = 60.0
"""The first verdict after a change and the one that raises an alert may be scored in either order."""

RUNBOOKS: Final = {
    "excess": "EvenkeelRobustnessBreach",
    "drift": "EvenkeelDrift",
    "change": "EvenkeelChangeRegression",
}
_DRIFTED: Final = {"risen": "more often than they did", "fallen": "less often than they did"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """The change that came before an alert."""

    href: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert, firing or over."""

    kind: str
    """"excess", "drift" or "change"."""
    what: str
    """Ends the sentence "answers move …", or says it whole."""
    route: str
    model: str
    """"" for all models of the route."""
    retired: bool
    since: str
    """Time of day, "" if its raising is no longer in the history."""
    since_iso: str
    until: str
    """"" while it fires."""
    until_iso: str
    lasts: str
    value: str
    """What was measured against what is allowed."""
    route_href: str
    evidence_href: str
    runbook_href: str
    explanation: Explanation | None
    since_s: float | None
    """Unix time in seconds."""
    until_s: float | None
    baseline_href: str = ""
    """Where the level it has drifted to can be approved; "" unless it drifts now."""


@dataclass(frozen=True, slots=True)
class AlertsPage:
    """What fires, and what is over, newest first."""

    head: Head
    firing: tuple[Alert, ...]
    past: tuple[Alert, ...]
    approved: tuple[ApprovalLine, ...] = ()
    """Baselines that were approved last."""
    shown: int = SHOWN
    """How many of either are printed."""


def alerts_page(
    reports: Sequence[CellReport],
    events: Sequence[AlertEvent],
    changes: Sequence[ChangeReport],
    now: float,
    approved: Sequence[ApprovalLine] = (),
) -> AlertsPage:
    """Put alerts of all kinds into two lists.

    Args:
        reports: one per cell, in any order.
        events: raised and resolved alerts, newest first.
        changes: newest first.
        now: Unix time in seconds.
        approved: baselines, newest first.
    """
    retired = retired_models(reports)
    firing = [
        *(_excess(report, events, changes, retired, now) for report in _by_excess(reports)),
        *(_drift(report, events, changes, retired, now) for report in reports if _drifting(report)),
        *(_change(change, now) for change in _newest(changes) if _regressed(change, now)),
    ]
    count = len(firing)
    title = f"▲ {count} firing · Alerts · evenkeel" if firing else "Alerts · evenkeel"
    said = "" if not firing else f"{count} alert{'s' * (count > 1)} firing"
    return AlertsPage(
        Head(title, alert=any(report.alert for report in reports), announcement=said),
        tuple(firing),
        tuple(_past(events, changes, retired, now)),
        tuple(approved),
    )


def explanation(
    changes: Sequence[ChangeReport], route: str, raised_at: float | None, now: float
) -> Explanation | None:
    """The newest change of a route before an alert was raised there; None if there was none lately."""
    if raised_at is None:
        return None
    for change in changes:
        if change.route == route and -_SLACK_S <= raised_at - change.at <= EXPLAINS_S:
            return Explanation(
                links.change_link(change.id), SAID[change.cause], figures.moment(change.at, now)
            )
    return None


def _by_excess(reports: Sequence[CellReport]) -> list[CellReport]:
    alerting = [report for report in reports if report.alert]
    return sorted(alerting, key=lambda report: -(report.excess.value if report.excess else 0.0))


def _drifting(report: CellReport) -> bool:
    return report.drift is not None and report.drift.state in _DRIFTED


def _regressed(change: ChangeReport, now: float) -> bool:
    return change.effect == "worse" and now - change.at <= _REGRESSES_S


def _newest(changes: Sequence[ChangeReport]) -> list[ChangeReport]:
    found: dict[str, ChangeReport] = {}
    for change in changes:
        found.setdefault(change.route, change)
    return list(found.values())


def _raised_at(report: CellReport, what: str, events: Sequence[AlertEvent]) -> float | None:
    for event in events:
        if event.what == what and (event.route, event.model, event.perturbation) == report.key.parts:
            return event.at if event.kind == "raised" else None
    return None


def _excess(
    report: CellReport,
    events: Sequence[AlertEvent],
    changes: Sequence[ChangeReport],
    retired: set[tuple[str, str]],
    now: float,
) -> Alert:
    measured = figures.estimate_text(report.excess) if report.excess else "not known"
    return _alert(
        "excess",
        "Answers move under",
        report.key,
        retired,
        since=_raised_at(report, "excess", events),
        value=f"excess {measured}, allowed {figures.percent(report.threshold)}, {report.trials:,} trials",
        changes=changes,
        now=now,
    )


def _drift(
    report: CellReport,
    events: Sequence[AlertEvent],
    changes: Sequence[ChangeReport],
    retired: set[tuple[str, str]],
    now: float,
) -> Alert:
    drift = report.drift
    assert drift is not None
    line = figures.percent(drift.upper if drift.state == "risen" else drift.lower)
    made = "first" if drift.provisional else "approved"
    found = _alert(
        "drift",
        f"Answers shift {_DRIFTED[drift.state]}, under",
        report.key,
        retired,
        since=_raised_at(report, "drift", events),
        value=f"{figures.percent(drift.baseline)} in the {made} {drift.trials:,} trials, now beyond {line}",
        changes=changes,
        now=now,
    )
    key = report.key
    href = links.baselines_link(key.route, model=key.model, perturbation=key.perturbation)
    return replace(found, baseline_href=href)


def _change(change: ChangeReport, now: float) -> Alert:
    explained = Explanation(links.change_link(change.id), SAID[change.cause], figures.moment(change.at, now))
    return Alert(
        kind="change",
        what="Answers are worse since the last change",
        route=change.route,
        model="",
        retired=False,
        since=figures.moment(change.at, now),
        since_iso=figures.iso(change.at),
        until="",
        until_iso="",
        lasts=figures.duration(now - change.at),
        value=" ".join(change.effects).rstrip("."),
        route_href=links.route_link(change.route),
        evidence_href=links.trials_link(change=change.id, side="after", rating="shifted"),
        runbook_href=links.runbook_link(RUNBOOKS["change"]),
        explanation=explained,
        since_s=change.at,
        until_s=None,
    )


def _past(
    events: Sequence[AlertEvent],
    changes: Sequence[ChangeReport],
    retired: set[tuple[str, str]],
    now: float,
) -> list[Alert]:
    """Every resolved alert with the raising before it."""
    found = []
    for place, event in enumerate(events):
        if event.kind != "resolved":
            continue
        raised = next((one for one in events[place + 1 :] if _same_cell(one, event)), None)
        began = raised.at if raised is not None and raised.kind == "raised" else None
        drifted = _DRIFTED.get(raised.direction if raised else "", "differently")
        said = f"Answers shift {drifted}, under" if event.what == "drift" else "Answers move under"
        excess = raised.excess if raised is not None else None
        found.append(
            _alert(
                event.what if event.what in RUNBOOKS else "excess",
                said,
                CellKey(event.route, event.model, event.perturbation),
                retired,
                since=began,
                until=event.at,
                value="" if excess is None else f"excess {figures.percent(excess)} when it was raised",
                changes=changes,
                now=now,
            )
        )
    return found


def _same_cell(one: AlertEvent, other: AlertEvent) -> bool:
    return (one.what, one.route, one.model, one.perturbation) == (
        other.what,
        other.route,
        other.model,
        other.perturbation,
    )


def _alert(
    kind: str,
    begins: str,
    key: CellKey,
    retired: set[tuple[str, str]],
    *,
    since: float | None,
    value: str,
    changes: Sequence[ChangeReport],
    now: float,
    until: float | None = None,
) -> Alert:
    if since is None:
        lasts = ""
    else:
        lasts = figures.lasting(now - since) if until is None else figures.duration(until - since)
    return Alert(
        kind=kind,
        what=f"{begins} {rewordings.phrase(key.perturbation)}",
        route=key.route,
        model=key.model,
        retired=(key.route, key.model) in retired,
        since="" if since is None else figures.moment(since, now),
        since_iso="" if since is None else figures.iso(since),
        until="" if until is None else figures.moment(until, now),
        until_iso="" if until is None else figures.iso(until),
        lasts=lasts,
        value=value,
        route_href=links.route_link(key.route),
        evidence_href=links.trials_link(
            route=key.route, model=key.model, perturbation=key.perturbation, rating="shifted"
        ),
        runbook_href=links.runbook_link(RUNBOOKS[kind]),
        explanation=explanation(changes, key.route, since, now),
        since_s=since,
        until_s=until,
    )


EVENTS_READ: Final = 400
"""Newest events that the page and its download look at."""


def alerts_table(page: AlertsPage) -> Table:
    """All of them for a file, those that fire first."""
    columns = ("state", "kind", "what", "route", "model", "since", "until", "measured", "change", "runbook")
    return Table(
        columns,
        [
            (
                "firing" if place < len(page.firing) else "over",
                alert.kind,
                alert.what,
                alert.route,
                alert.model,
                alert.since_s,
                alert.until_s,
                figures.plain(alert.value),
                alert.explanation.text if alert.explanation else None,
                RUNBOOKS[alert.kind],
            )
            for place, alert in enumerate((*page.firing, *page.past))
        ],
    )


def alerts_of(sources: ConsoleSources) -> AlertsPage:
    """The page as it is now."""
    changes = sources.change_reports() if sources.change_reports else ()
    now, events = sources.clock(), sources.monitor_store.events(EVENTS_READ)
    return alerts_page(sources.reports(), events, changes, now, approval_lines(sources.log.approvals(), now))


def alert_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """`/alerts` and its live part."""
    return live_handlers("/alerts", "_alerts.html", lambda _: alerts_of(sources), renderer)


MOST_VERDICTS: Final = 100
"""Verdicts of an alert that are given at most, the newest."""
_SCANNED: Final = 20_000
"""Verdicts that are looked through at most."""
_AT_ONCE: Final = 500


def verdicts_behind(log: VerdictLog, event: AlertEvent, *, most: int = MOST_VERDICTS) -> list[LoggedVerdict]:
    """The rated trials of an event's cell up to the deciding one, newest first.

    Args:
        log: where the verdicts are.
        event: an alert that was raised or resolved.
        most: verdicts to give at most.

    Returns: as many as the event's run holds; of an excess those whose resend has a rating as well, which is
    what its detector looked at. Fewer once the log no longer has them. The run is chosen in hindsight, so
    its mean errs towards the change.
    """
    wanted = min(most, event.run_trials or most)
    narrow = Narrow(route=event.route, perturbation=event.perturbation, ratings=(1, 2, 3))
    found: list[LoggedVerdict] = []
    at, looked_at = event.offset + 1, 0
    while at > 0 and len(found) < wanted and looked_at < _SCANNED:
        stretch = log.read_before(at, _AT_ONCE, narrow)
        found += [one for one in stretch.verdicts if _counts(one, event)]
        at, looked_at = stretch.reached, looked_at + max(1, stretch.looked_at)
    return found[:wanted]


def _counts(logged: LoggedVerdict, event: AlertEvent) -> bool:
    """Whether the event's detector looked at a verdict. Models beyond the limit cannot be told apart."""
    verdict = logged.verdict
    paired = event.what != "excess" or verdict.baseline_rating is not None
    return paired and event.model in {verdict.model, OTHER_MODEL}


EventId = FromPath[str]
_EVENTS_READ = 10_000
"""As many as the stores keep."""


def alert_evidence_handlers(sources: ConsoleSources) -> list[HTTPRouteHandler]:
    """`/api/alerts/ID`, with 404 for an alert that is not known (any more)."""

    @get("/api/alerts/{event:str}", sync_to_thread=True)
    def alert(event: EventId) -> Response[bytes]:
        found = next((one for one in sources.monitor_store.events(_EVENTS_READ) if one.id == event), None)
        if found is None:
            raise NotFoundException(f'There is no alert "{event}", or no longer.')
        behind = verdicts_behind(sources.log, found)
        return json_response({"alert": asdict(found), "verdicts": [_shown(one) for one in behind]})

    return [alert]


def _shown(logged: LoggedVerdict) -> dict[str, Any]:
    verdict = logged.verdict
    return {
        "id": verdict.id,
        "exchange_id": verdict.exchange_id,
        "scored_at": verdict.scored_at,
        "rating": verdict.rating,
        "baseline_rating": verdict.baseline_rating,
        "shifted": verdict.shifted,
        "baseline_shifted": verdict.baseline_shifted,
        "trace_id": verdict.trace_id,
    }
