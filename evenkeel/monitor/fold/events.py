"""What the fold tells beside its reports: alert events of cells and of silent changes, and trend points."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core import figures
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.detect import Change, Measure
from evenkeel.monitor.detect.traits import TraitEvidence
from evenkeel.monitor.fold.models import LATEST
from evenkeel.stores.monitor_state import AlertEvent, TrendPoint
from evenkeel.stores.verdict_log import LoggedApproval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.cells import CellKey, Estimate
    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.changes.silent import Closed, Silent
    from evenkeel.monitor.detect import DriftChange
    from evenkeel.monitor.fold.cell import Cell
    from evenkeel.monitor.fold.settings import MonitorSettings
    from evenkeel.monitor.incidents import Incident
    from evenkeel.monitor.incidents.book import Cause
    from evenkeel.stores.verdict_log import LoggedDecision, LoggedVerdict


class TrendRow(NamedTuple):
    """A trend point and its cell, as `MonitorStore.commit` takes it."""

    route: str
    model: str
    perturbation: str
    point: TrendPoint


class Applied(NamedTuple):
    """What one verdict gave rise to."""

    events: list[AlertEvent]
    trend: list[TrendRow]


def trend_point(cell: Cell, at: float, settings: MonitorSettings) -> TrendPoint:
    """The cell's estimates at a time."""
    # Only what a point shows: a fold of old verdicts may make one for nearly every verdict.
    counts, alert = cell.counts, cell.alert
    trials = counts.trials
    alpha, min_trials = 1 - settings.confidence, settings.min_trials
    excess = counts.excess(alpha=alpha, min_trials=min_trials) if alert else None
    robustness = counts.robustness(alpha=alpha, min_trials=min_trials)
    return TrendPoint(
        at=at,
        trials=trials,
        content_delta=counts.content_delta_value if trials >= max(min_trials, 1) else None,
        excess=excess.value if excess else None,
        excess_lower=excess.lower if excess else None,
        excess_upper=excess.upper if excess else None,
        robustness=robustness.value if robustness else None,
        evidence_log10=alert.evidence_log10 if alert else 0.0,
        alert=alert.up if alert else False,
    )


def alert_event(cell: Cell, change: Change, logged: LoggedVerdict, settings: MonitorSettings) -> AlertEvent:
    """An excess that went above the threshold, or came back, with a verdict."""
    excess = cell.counts.excess(alpha=settings.alpha, min_trials=settings.min_trials)
    summary = _summary(cell.key, change, excess)
    event = _event(cell, logged, settings, change.kind, summary, run_trials=change.run_trials)
    limit, clients = change.limit, dict(change.clients)
    if len(clients) > 1:
        summary += f" {figures.clients(clients)}."
    return replace(
        event,
        measure=change.measure.value,
        limit=limit.value,
        limit_source=limit.source,
        value=change.run_mean,
        reason="recovered" if change.kind == "resolved" else "",
        clients=clients,
        summary=summary,
    )


def drift_event(
    cell: Cell, change: DriftChange, logged: LoggedVerdict, settings: MonitorSettings
) -> AlertEvent:
    """A content delta that left its baseline, or came back, with a verdict."""
    over = change.kind == "recovered"
    direction = "" if over else change.kind
    summary = _drift_summary(cell.key, change)
    kind = "resolved" if over else "raised"
    event = _event(cell, logged, settings, kind, summary, "drift", direction, change.run_trials)
    limit = settings.tolerance_of(cell.key.route)
    trials = change.run_trials
    clients = {name: count for name, share in cell.clients.shares.items() if (count := round(share * trials))}
    return replace(
        event,
        measure="drift",
        limit=limit.value,
        limit_source=limit.source,
        value=change.run_mean,
        reason="recovered" if over else "",
        clients=clients,
    )


def drift_left(cell: Cell, logged: LoggedVerdict, settings: MonitorSettings) -> AlertEvent:
    """A drift that is over because the prompts in which it was seen come no more."""
    summary = (
        f"Drift of {_place(cell.key)} is closed: the prompts in which it was seen come no more, and others "
        f"have baselines of their own."
    )
    return replace(_event(cell, logged, settings, "resolved", summary, "drift"), reason="retired")


_LEFT: Final[dict[str, str]] = {
    "retired": "{model} has not answered any of the last {exchanges:,} sampled exchanges",
    "reversed": "the change before it was reversed",
}


def cell_left(
    cell: Cell,
    what: Literal["excess", "drift"],
    reason: Literal["retired", "reversed"],
    logged: LoggedVerdict,
    settings: MonitorSettings,
) -> AlertEvent:
    """An alert of a cell that is over because the traffic in which it was raised is gone."""
    why = _LEFT[reason].format(model=cell.key.model, exchanges=LATEST)
    summary = f"{_ALERTS[what]} of {_place(cell.key)} is closed: {why}."
    return replace(_event(cell, logged, settings, "resolved", summary, what), reason=reason)


_ALERTS: Final = {"excess": "The alert", "drift": "Drift"}


def drift_approved(cell: Cell, logged: LoggedApproval, settings: MonitorSettings) -> AlertEvent:
    """A drift that is over because somebody approved another baseline."""
    baseline = cell.drift.baseline
    assert baseline is not None
    summary = (
        f"Drift of {_place(cell.key)} is closed: {logged.approval.by} approved {baseline.mean:.0%} in "
        f"{baseline.n:,} trials as the baseline."
    )
    return replace(_event(cell, logged, settings, "resolved", summary, "drift"), reason="approved")


def cells_dropped(
    cells: Iterable[Cell], logged: LoggedVerdict, settings: MonitorSettings
) -> list[AlertEvent]:
    """The alerts that are over because their model has no traffic any more and its place went to another."""
    found = []
    for cell in cells:
        said = f"of {_place(cell.key)} is closed: the model has no traffic any more."
        if cell.alert is not None and cell.alert.up:
            found.append(_event(cell, logged, settings, "resolved", f"The alert {said}"))
        if cell.drift.up:
            found.append(_event(cell, logged, settings, "resolved", f"Drift {said}", "drift"))
    return [replace(event, reason="retired") for event in found]


def _event(
    cell: Cell,
    logged: LoggedVerdict | LoggedApproval,
    settings: MonitorSettings,
    kind: str,
    summary: str,
    what: str = "excess",
    direction: str = "",
    run_trials: int = 0,
) -> AlertEvent:
    if isinstance(logged, LoggedApproval):
        cause, at, verdict, trace_id = logged.approval.id, logged.approval.at, "", ""
    else:
        verdict, at, trace_id = logged.verdict.id, logged.verdict.scored_at, logged.verdict.trace_id
        cause = verdict
    excess = cell.counts.excess(alpha=settings.alpha, min_trials=settings.min_trials)
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
        summary=summary,
        what=what,
        direction=direction,
        verdict=verdict,
        trace_id=trace_id,
        run_trials=run_trials,
    )


def change_raised(record: ChangeRecord, offset: int, *, asks_references: bool) -> AlertEvent:
    """A change that nobody announced, found or suspected, at the place in the log that decided it."""
    silent = record.silent
    assert silent is not None
    found = silent.references
    evidence = found or silent.traits
    assert evidence is not None
    trials = evidence.pairs if isinstance(evidence, TraitEvidence) else evidence.calls
    event = _change_event(record.route, silent.requested_model, record.id, "raised", silent.at, offset)
    return replace(
        event,
        id=_named("change", "raised", record.id, "references" if silent.found else "traits"),
        summary=_change_summary(record, silent, asks_references=asks_references),
        incident=silent.incident or record.id,
        measure="references" if silent.found else "traits",
        trials=trials,
        run_trials=trials,
        after=silent.after,
        since=silent.since,
        value=None if found is None else 1 - found.likeness,
        limit=None if found is None else 1 - found.own,
    )


_OVER: Final[dict[str, str]] = {
    "settled": "no longer new: it is 24 hours old, so answers are compared with those since then from now on",
    "reversed": "over: answers to reference prompts are like those from before it again",
    "replaced": "over: answers have changed once more, which is a change of its own",
    "not_confirmed": "not confirmed: reference prompts are answered as before",
    "undecided": "undecided: too few reference prompts could be asked within a day to confirm or deny it",
}


def change_closed(
    route: str,
    model: str,
    change: str,
    incident: str,
    closed: Closed,
    *,
    opened_at: float,
    at: float,
    offset: int,
) -> AlertEvent:
    """A change that nobody announced is over, for a reason."""
    event = _change_event(route, model, change, "resolved", at, offset)
    about = f"The change of {_whose(model)} on {route}, noticed {figures.date_and_time(opened_at)}, is"
    return replace(
        event,
        id=_named("change", "resolved", change, closed),
        summary=f"{about} {_OVER[closed]}.",
        incident=incident,
        reason=closed,
    )


def decided(incident: Incident, logged: LoggedDecision) -> AlertEvent:
    """What a person decided about an incident."""
    decision = logged.decision
    acknowledged = decision.decided == "acknowledged"
    return replace(
        _incident_event(incident, decision.at, logged.offset),
        id=_named("incident", decision.id),
        kind="acknowledged" if acknowledged else "closed",
        summary=decision.note,
        reason="" if acknowledged else decision.decided,
        by=decision.by,
    )


def explained(cause: Cause, logged: LoggedVerdict) -> AlertEvent:
    """What came before an incident was noticed after it was opened."""
    verdict = logged.verdict
    named = [f"{mark.before} → {mark.after}" for mark in cause.marks if mark.kind in kinds.STATED]
    return replace(
        _incident_event(cause.incident, verdict.scored_at, logged.offset),
        id=_named("incident", "explained", cause.incident.id, verdict.id),
        change=cause.change,
        kind="explained",
        summary=f"Noticed before it: {figures.listing(named)}.",
        marks=cause.marks,
    )


def followed(cause: Cause, logged: LoggedVerdict) -> AlertEvent:
    """Something changed while an incident was open."""
    verdict = logged.verdict
    named = [f"{mark.before} → {mark.after}" for mark in cause.marks]
    return replace(
        _incident_event(cause.incident, verdict.scored_at, logged.offset),
        id=_named("incident", "followed", cause.incident.id, verdict.id),
        kind="followed",
        summary=f"Changed since: {figures.listing(named)}.",
        marks=cause.marks,
    )


def not_rolled_back(incident: Incident, logged: LoggedVerdict) -> AlertEvent:
    """An incident goes on: what somebody said was rolled back is still in the traffic."""
    after = ", ".join(value for turn in incident.turns for value in turn.after)
    verdict = logged.verdict
    return replace(
        _incident_event(incident, verdict.scored_at, logged.offset),
        id=_named("incident", "reopened", incident.id, verdict.id),
        kind="reopened",
        summary=f"It was closed as rolled back, but {after} still answers.",
    )


def _incident_event(incident: Incident, at: float, offset: int) -> AlertEvent:
    event = _change_event(incident.routes[0], "", incident.change, "", at, offset)
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
        summary="",
        what="change",
        change=change,
    )


def _named(*parts: str) -> str:
    """An id that follows from the log, so that a fold of the same log names the event the same."""
    return hashlib.sha256(" ".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _whose(model: str) -> str:
    return model or "the model"


def _change_summary(record: ChangeRecord, silent: Silent, *, asks_references: bool) -> str:
    """What happened, in a few sentences: since when, how different, and what it was not."""
    where = f"{_whose(silent.requested_model)} on {record.route}"
    also = f" It was found on {figures.listing(silent.also_on)} as well." if silent.also_on else ""
    beside = [
        f"{kinds.NAMES[mark.kind]} “{mark.before}” → “{mark.after}”"
        for mark in record.marks
        if mark.kind in kinds.STATED
    ]
    coincided = f" At the same time: {'; '.join(beside)}." if beside else ""
    found = silent.references
    if found is not None:
        since = figures.date_and_time(found.since)
        after = figures.date_and_time(found.after)
        when = f"since {since}" if after == since else f"since some time between {after} and {since}"
        unchanged = "" if beside else ", and no other model name or fingerprint was noticed"
        return (
            f"{where} answers differently {when}: new answers to reference prompts are {found.likeness:.0%} "
            f"like the earlier ones, which are {found.own:.0%} like each other ({found.calls} calls). The "
            "very same requests were sent, so neither prompt, parameters nor traffic explain it"
            f"{unchanged}.{coincided}{also}"
        )
    assert silent.traits is not None
    moved = "; ".join(one.said for one in silent.traits.moved[:_MOVED_SAID]) or "several traits moved"
    why = (
        "could not be asked to confirm it" if asks_references else "are switched off, so nothing confirms it"
    )
    return (
        f"Suspected: {where} may answer differently since {figures.date_and_time(silent.since)}: {moved}. "
        f"Reference prompts {why}.{coincided}{also}"
    )


_MOVED_SAID: Final = 3
"""Traits that a message names."""


def _place(key: CellKey) -> str:
    return f"{key.perturbation} on {key.route} ({key.model})"


def _drift_summary(key: CellKey, change: DriftChange) -> str:
    """What happened, in one sentence."""
    said = {
        "risen": "Answers shift more often than they did",
        "fallen": "Answers shift less often than they did",
        "recovered": "Answers shift as often as they did before",
    }[change.kind]
    baseline = change.baseline
    return (
        f"{said} for {_place(key)}: {change.run_mean:.0%} over the last {change.run_trials} trials, "
        f"{baseline.mean:.0%} in its {'first' if baseline.provisional else 'approved'} {baseline.n:,} trials "
        f"(line: {change.line:.0%})."
    )


_VERBS: Final = {
    Measure.CONTENT: ("Answers are fragile", "Robustness recovered"),
    Measure.SIMILARITY: ("Answers are fragile", "Robustness recovered"),
    Measure.QUALITY: ("Answers got worse", "Quality recovered"),
    Measure.INVALID: ("Answers are invalid", "Answers are valid again"),
}
"""By measure what is said when an alert is raised, and when it is resolved."""


def _summary(key: CellKey, change: Change, excess: Estimate | None) -> str:
    """What happened, in one sentence: which measure crossed which limit, and where that comes from."""
    points, limit = 100 * change.run_mean, 100 * change.limit.value
    said = {
        Measure.CONTENT: f"content moved {points:.0f} points above noise",
        Measure.SIMILARITY: f"similarity lost {points:.0f} points more than in the resend",
        Measure.QUALITY: f"quality got worse in {points:.0f} points more answers than in the resend",
        Measure.INVALID: f"{points:.0f}% of the answers were invalid",
    }[change.measure]
    overall = (
        f"; over all {excess.n} pairs content {excess.value:+.0%} [{excess.lower:+.0%}, {excess.upper:+.0%}]"
        if excess
        else ""
    )
    verb = _VERBS[change.measure][change.kind != "raised"]
    return (
        f"{verb} for {_place(key)}: {said} over the last {change.run_trials} trials, "
        f"limit {limit:g} ({change.limit.source}){overall}."
    )
