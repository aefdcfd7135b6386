"""What the fold tells of a cell beside its report: alert events and trend points."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.monitor.detect import Change, Measure
from evenkeel.stores.monitor_state import AlertEvent, TrendPoint
from evenkeel.stores.verdict_log import LoggedApproval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.cells import CellKey, Estimate
    from evenkeel.monitor.detect import DriftChange
    from evenkeel.monitor.fold.cell import Cell
    from evenkeel.monitor.fold.settings import MonitorSettings
    from evenkeel.stores.verdict_log import LoggedVerdict


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
        content_delta=counts.shifted / trials if trials >= max(min_trials, 1) else None,
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
    limit = change.limit
    return replace(event, measure=change.measure.value, limit=limit.value, limit_source=limit.source)


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
    return replace(event, measure="drift", limit=limit.value, limit_source=limit.source)


def drift_left(cell: Cell, logged: LoggedVerdict, settings: MonitorSettings) -> AlertEvent:
    """A drift that is over because the prompts in which it was seen come no more."""
    summary = (
        f"Drift of {_place(cell.key)} is closed: the prompts in which it was seen come no more, and others "
        f"have baselines of their own."
    )
    return _event(cell, logged, settings, "resolved", summary, "drift")


def drift_approved(cell: Cell, logged: LoggedApproval, settings: MonitorSettings) -> AlertEvent:
    """A drift that is over because somebody approved another baseline."""
    baseline = cell.drift.baseline
    assert baseline is not None
    summary = (
        f"Drift of {_place(cell.key)} is closed: {logged.approval.by} approved {baseline.mean:.0%} in "
        f"{baseline.n:,} trials as the baseline."
    )
    return _event(cell, logged, settings, "resolved", summary, "drift")


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
    return found


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
    name = " ".join((what, kind, cause, *cell.key.parts))
    return AlertEvent(
        id=hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16],
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
