"""What the fold tells of a cell beside its report: alert events and trend points."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from metrics.stores.protocols import AlertEvent, TrendPoint

if TYPE_CHECKING:
    from metrics.cells import CellKey, Estimate
    from metrics.detect import Change
    from metrics.fold.cell import Cell
    from metrics.fold.settings import MonitorSettings
    from metrics.stores.protocols import LoggedVerdict


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
    counts = cell.counts
    alpha, min_trials = 1 - settings.confidence, settings.min_trials
    excess = counts.excess(alpha=alpha, min_trials=min_trials) if cell.alert else None
    robustness = counts.robustness(alpha=alpha, min_trials=min_trials)
    return TrendPoint(
        at=at,
        trials=counts.trials,
        content_delta=counts.shifted / counts.trials if counts.trials >= max(min_trials, 1) else None,
        excess=excess.value if excess else None,
        excess_lower=excess.lower if excess else None,
        excess_upper=excess.upper if excess else None,
        robustness=robustness.value if robustness else None,
        evidence_log10=cell.alert.evidence_log10 if cell.alert else 0.0,
        alert=cell.alert.up if cell.alert else False,
    )


def alert_event(cell: Cell, change: Change, logged: LoggedVerdict, settings: MonitorSettings) -> AlertEvent:
    """The event of a change that a verdict decided."""
    verdict = logged.verdict
    excess = cell.counts.excess(alpha=1 - settings.confidence, min_trials=settings.min_trials)
    return AlertEvent(
        # Follows from the verdict, so that a fold of the same log names the event the same.
        id=hashlib.sha256(f"{change.kind} {verdict.id}".encode()).hexdigest()[:16],
        at=verdict.scored_at,
        kind=change.kind,
        route=cell.key.route,
        model=cell.key.model,
        perturbation=cell.key.perturbation,
        offset=logged.offset,
        trials=cell.counts.trials,
        excess=excess.value if excess else None,
        summary=_summary(cell.key, change, excess, settings),
    )


def _summary(key: CellKey, change: Change, excess: Estimate | None, settings: MonitorSettings) -> str:
    """What happened, in one sentence."""
    where = f"{key.perturbation} on {key.route} ({key.model})"
    recent = (
        f"over the last {change.run_trials} paired trials answers shifted {change.run_mean:+.0%} "
        f"compared with an identical resend, where {settings.threshold:.0%} is tolerated"
    )
    overall = (
        f"; over all {excess.n} pairs {excess.value:+.0%} [{excess.lower:+.0%}, {excess.upper:+.0%}]"
        if excess
        else ""
    )
    verb = "Robustness fell" if change.kind == "raised" else "Robustness recovered"
    return f"{verb} for {where}: {recent}{overall}."
