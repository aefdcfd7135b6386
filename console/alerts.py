"""The page about alerts: what fires, what did, and what is likely behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.console import links
from evenkeel.console.heatmap import retired_models
from evenkeel.console.live import Head
from evenkeel.core import figures, rewordings
from evenkeel.core.cells import CellKey
from evenkeel.monitor.changes.report import SAID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.baselines import ApprovalLine
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.monitor_state import AlertEvent

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
