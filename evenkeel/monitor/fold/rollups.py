"""Roll-ups: every model of a route, over all rewordings by themselves.

A roll-up pools the trials of its cells, each with the weight that it has there: a rate is the chance that a
trial, as the planner chooses them, shifts. Trials of one exchange are compared with the same answer, so a
roll-up has a design effect of its own, of its trials in the order of the log. Trials of a group are in none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from evenkeel.core.cells import RollupEstimates, RollupReport
from evenkeel.core.verdict import BASELINE, Scorer
from evenkeel.monitor.estimate import Counts, DesignEffect, RatedOutcome
from evenkeel.monitor.noise import JudgeCounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.cells import Estimate
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.fold.cell import Cell
    from evenkeel.monitor.fold.settings import MonitorSettings


class Rollup(Struct, dict=True):
    """State of one model of a route beside that of its cells."""

    effect: DesignEffect = field(default_factory=DesignEffect)
    """Design effect of the trials of all its rewordings."""
    judge: JudgeCounts = field(default_factory=JudgeCounts)
    """Ratings of the judge, also those of groups."""
    scored_at: float | None = None
    """Time of the newest verdict, and its scorer."""
    scorer: Scorer = "metrics"

    def __post_init__(self) -> None:
        self.changed = True
        """True if it changed since the last checkpoint."""

    def add(self, verdict: Verdict, outcome: RatedOutcome | str) -> None:
        """Take a verdict that its cell counts, with a reason if nobody rated it."""
        self.changed = True
        self.scored_at, self.scorer = verdict.scored_at, verdict.scoring.scorer
        if isinstance(outcome, RatedOutcome) and outcome.known and not verdict.is_control:
            self.effect.add(float(outcome.shifted), verdict.origin.session)

    def report(
        self, route: str, model: str, cells: Iterable[Cell], settings: MonitorSettings, era: int
    ) -> RollupReport:
        """Return the report on its cells: the control, and the rewordings by themselves."""
        whole, since = Counts(effect=self.effect.intervals), Counts(effect=self.effect.intervals)
        floor = floor_since = None
        for cell in cells:
            if cell.key.perturbation == BASELINE:
                floor = cell.estimates(settings).content_delta
                floor_since = cell.estimates_since_change(settings, era).content_delta
            else:
                whole.pool(cell.counts)
                since.pool(cell.since_change(era))
        return RollupReport(
            route,
            model,
            trials=whole.content_trials,
            last_scored_at=self.scored_at,
            scorer=self.scorer,
            windows={
                "all": _estimates(whole, floor, settings),
                "since_change": _estimates(since, floor_since, settings),
            },
        )


def _estimates(counts: Counts, noise_floor: Estimate | None, settings: MonitorSettings) -> RollupEstimates:
    pooled = counts.estimates(alpha=settings.alpha, min_trials=settings.min_trials)
    return RollupEstimates(
        trials=counts.content_trials,
        content_delta=pooled.content_delta,
        quality_delta=pooled.quality_delta,
        quality_worse=pooled.quality_worse,
        quality_better=pooled.quality_better,
        robustness=pooled.robustness,
        noise_floor=noise_floor,
        excess=pooled.excess,
    )
