"""Events that the fold emits besides its reports: alert events and trend points, as data."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from evenkeel.core.approval import Approval
from evenkeel.monitor.changes import kinds
from evenkeel.stores.monitor_state import AlertEvent, AlertFacts, TrendPoint
from evenkeel.stores.verdict_log import LoggedNote

if TYPE_CHECKING:
    from evenkeel.core.incidents import Decision
    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.changes.record import Closed
    from evenkeel.monitor.detect import AlertChange, Baseline, DriftChange
    from evenkeel.monitor.fold.cell import Cell
    from evenkeel.monitor.fold.settings import MonitorSettings
    from evenkeel.monitor.incidents import Incident
    from evenkeel.monitor.incidents.book import IncidentCause
    from evenkeel.stores.verdict_log import Logged, LoggedVerdict


class TrendRow(NamedTuple):
    """Trend point with its cell, as `MonitorStore.commit` takes it."""

    route: str
    model: str
    perturbation: str
    point: TrendPoint


class FoldOutcome(NamedTuple):
    """Events and trend points that one verdict caused."""

    events: list[AlertEvent]
    trend: list[TrendRow]


def trend_point(cell: Cell, at: float, settings: MonitorSettings, era: int) -> TrendPoint:
    """Return the cell's figure since the last change: an average over all trials would lag in a chart."""
    excess = cell.above_noise(cell.since_change(era), settings)
    if excess is None:
        return TrendPoint(at, None, None, None)
    return TrendPoint(at, excess.value, excess.lower, excess.upper)


def alert_event(
    cell: Cell, change: AlertChange, logged: LoggedVerdict, settings: MonitorSettings
) -> AlertEvent:
    """Return the event of an excess that a verdict moved above the threshold, or back below it."""
    return _event(
        cell,
        logged,
        settings,
        kind=change.kind,
        run_trials=change.run_trials,
        measure=change.measure.value,
        limit=change.limit.value,
        limit_source=change.limit.source,
        value=change.run_mean,
        reason="recovered" if change.kind == "resolved" else "",
        clients=dict(change.clients),
        facts=AlertFacts(segment=change.segment),
    )


def drift_event(
    cell: Cell, change: DriftChange, logged: LoggedVerdict, settings: MonitorSettings
) -> AlertEvent:
    """Return the event of a content delta that left its baseline with a verdict, or came back to it."""
    over = change.kind == "recovered"
    limit = settings.tolerance_of(cell.key.route)
    return _event(
        cell,
        logged,
        settings,
        kind="resolved" if over else "raised",
        what="drift",
        direction="" if over else change.kind,
        run_trials=change.run_trials,
        measure="drift",
        limit=limit.value,
        limit_source=limit.source,
        value=change.run_mean,
        reason="recovered" if over else "",
        facts=replace(_baseline(change.baseline), line=change.line),
    )


def _baseline(baseline: Baseline) -> AlertFacts:
    return AlertFacts(baseline=baseline.mean, baseline_trials=baseline.n, approved=not baseline.provisional)


def cell_left(
    cell: Cell,
    what: Literal["excess", "drift"],
    gone: Literal["", "model", "place", "prompts"],
    logged: LoggedVerdict,
    settings: MonitorSettings,
) -> AlertEvent:
    """Return the event of a cell's alert that ended because its traffic is gone; "" if it was reversed."""
    reason = "retired" if gone else "reversed"
    return _event(cell, logged, settings, what=what, reason=reason, facts=AlertFacts(gone=gone))


def drift_approved(cell: Cell, approval: Approval, offset: int, settings: MonitorSettings) -> AlertEvent:
    """Return the event of a drift that ended because another baseline was approved."""
    assert cell.drift.baseline is not None
    facts = _baseline(cell.drift.baseline)
    logged = LoggedNote(offset, approval)
    return _event(cell, logged, settings, what="drift", reason="approved", by=approval.by, facts=facts)


def _event(
    cell: Cell,
    logged: Logged,
    settings: MonitorSettings,
    *,
    kind: str = "resolved",
    what: str = "excess",
    **more: Any,
) -> AlertEvent:
    if isinstance(logged, LoggedNote):
        assert isinstance(logged.note, Approval)
        cause, at, verdict, trace_id = logged.note.id, logged.note.at, "", ""
    else:
        verdict, at, trace_id = logged.verdict.id, logged.verdict.scored_at, logged.verdict.trace_id
        cause = verdict
    excess = cell.above_noise(cell.counts, settings)
    # Follows from the entry and the cell, so that a fold of the same log names the event the same.
    return AlertEvent(
        id=_named(what, kind, cause, *cell.key.parts),
        at=at,
        kind=kind,
        route=cell.key.route,
        model=cell.key.model,
        perturbation=cell.key.perturbation,
        offset=logged.offset,
        trials=cell.counts.trials,
        excess=excess.value if excess else None,
        what=what,
        verdict=verdict,
        trace_id=trace_id,
        **more,
    )


def change_raised(record: ChangeRecord, offset: int) -> AlertEvent:
    """Return the event of a silent change that was found, at its place in the log."""
    silent = record.silent
    assert silent is not None
    evidence = silent.references
    event = _change_event(record.route, evidence.requested_model, record.id, "raised", evidence.at, offset)
    return replace(
        event,
        id=_named("change", "raised", record.id, "references"),
        incident=record.id,
        measure="references",
        trials=evidence.calls,
        run_trials=evidence.calls,
        after=evidence.after,
        since=max(evidence.since, evidence.until),
        value=1 - evidence.likeness,
        limit=1 - evidence.own,
        facts=AlertFacts(beside=tuple(kinds.select(record.marks, kinds.STATED))),
    )


def change_closed(
    route: str,
    model: str,
    change: str,
    closed: Closed,
    *,
    opened_at: float,
    at: float,
    offset: int,
) -> AlertEvent:
    """Return the event of a silent change that is over, with the reason."""
    return replace(
        _change_event(route, model, change, "resolved", at, offset),
        id=_named("change", "resolved", change, closed),
        incident=change,
        reason=closed,
        facts=AlertFacts(noticed_at=opened_at),
    )


def decided(incident: Incident, decision: Decision, offset: int) -> AlertEvent:
    """Return the event for a person's decision about an incident."""
    acknowledged = decision.decided == "acknowledged"
    return replace(
        _incident_event(incident, "acknowledged" if acknowledged else "closed", decision.at, offset),
        id=_named("incident", decision.id),
        note=decision.note,
        reason="" if acknowledged else decision.decided,
        by=decision.by,
    )


def explained(cause: IncidentCause, logged: LoggedVerdict) -> AlertEvent:
    """Return the event for a cause of an incident that was noticed only after it was opened."""
    event = _incident_noted(cause.incident, "explained", logged)
    return replace(event, change=cause.change, marks=cause.marks)


def followed(cause: IncidentCause, logged: LoggedVerdict) -> AlertEvent:
    """Return the event of another change while an incident was open."""
    return replace(_incident_noted(cause.incident, "followed", logged), marks=cause.marks)


def not_rolled_back(incident: Incident, logged: LoggedVerdict) -> AlertEvent:
    """Return the event of an incident that goes on, because its change was not rolled back as reported."""
    values: list[str] = []
    for turn in incident.turns:
        values += turn.after
    event = _incident_noted(incident, "reopened", logged)
    return replace(event, facts=AlertFacts(still=", ".join(values)))


def _incident_noted(incident: Incident, kind: str, logged: LoggedVerdict) -> AlertEvent:
    """Return the event of something that a verdict shows about an incident."""
    verdict = logged.verdict
    event = _incident_event(incident, kind, verdict.scored_at, logged.offset)
    return replace(event, id=_named("incident", kind, incident.id, verdict.id))


def _incident_event(incident: Incident, kind: str, at: float, offset: int) -> AlertEvent:
    event = _change_event(incident.routes[0], "", incident.change, kind, at, offset)
    return replace(event, what="incident", incident=incident.id)


def _change_event(route: str, model: str, change: str, kind: str, at: float, offset: int) -> AlertEvent:
    return AlertEvent(
        id="",
        at=at,
        kind=kind,
        route=route,
        model=model,
        perturbation="",
        offset=offset,
        trials=0,
        excess=None,
        what="change",
        change=change,
    )


def _named(*parts: str) -> str:
    """Return an id that follows from the log, so that every fold of the log gives the event the same id."""
    return hashlib.sha256(" ".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
