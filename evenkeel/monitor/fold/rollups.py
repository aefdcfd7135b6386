"""Roll-ups: every model of a route, over all rewordings by themselves.

A roll-up pools the trials of its cells, each with the weight that it has there: a rate is the chance that a
trial, as the planner chooses them, shifts. Trials of one exchange are compared with the same answer, so a
roll-up has a design effect of its own, of its trials in the order of the log. Trials of a group are in none.

The judge's noise is measured apart from the noise of the model and the effect of a perturbation.

A cell has three kinds of series:

- *target noise*: share of identical resends whose content is rated as shifted (the control arm,
  `noise_floor`). It includes the model's randomness and the judge's false alarms.
- *judge noise*: share of pairs that get another rating when they are judged again
  (`evenkeel.metrics.judge.raters` makes the second ratings). Swap consistency: share of pairs whose rating
  stays the same when the two sides are swapped. Group agreement: share of pairs judged in a group that get
  the same rating when judged alone.
- *perturbation effect*: the paired excess over the control.

Effect of judge noise on the two-stage score. Let s be the probability that the judge calls a shifted pair
shifted, and f the probability that it calls an unshifted pair shifted (a false alarm). An arm with the true
shift rate p then measures f + (s − f) · p. So false alarms raise the content delta of both arms and lower
robustness; for this reason neither causes an alert by itself. In the excess they cancel: it measures
(s − f) · (p₁ − p₀). To first order, noise makes an effect look smaller but creates none.

This assumes that s and f are the same in both arms. If the judge errs more in one arm (identical answers skip
it; other languages or formats are harder), the difference between the two f stays in the excess. If two
ratings err independently, judge noise on unshifted pairs is about 2f(1 − f); so f is about half of a small
judge noise.

Systematic errors, such as a judge that always misreads the same table, appear in none of these series. Labels
by people or the judge audit reveal them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from evenkeel.core.cells import JudgeEstimates, RollupEstimates, RollupReport
from evenkeel.core.verdict import (
    BASELINE,
    JUDGED_AGAIN,
    JUDGED_ALONE,
    JUDGED_SWAPPED,
    STAGES,
    Scorer,
    stage_of,
)
from evenkeel.monitor.estimate import Counts, DesignEffect, RatedOutcome, proportion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.cells import Estimate
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.fold.cell import Cell
    from evenkeel.monitor.fold.settings import MonitorSettings


# Details of a verdict with a second rating.
_REPEATED: Final = (JUDGED_AGAIN, JUDGED_SWAPPED, JUDGED_ALONE)


class JudgeCounts(Struct):
    """Counts of a judge's ratings on a route and model, of all perturbations together.

    Second ratings exist only for pairs that the judge was asked about, not for identical or empty answers.
    """

    # Without the last stage, "unsure", which gives no rating.
    decided: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STAGES[:3], 0))
    """Number of ratings by the stage that decided them. All stages but "judge" save a call."""
    same: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_REPEATED, 0))
    """Pairs with an equal second rating, by the detail that holds it."""
    other: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_REPEATED, 0))
    """Pairs with a different one."""

    def add(self, verdict: Verdict) -> None:
        """Count a verdict, unless it has no rating or was scored without a judge."""
        if verdict.rating is None or verdict.scoring.scorer != "judge":
            return
        self.decided[stage_of(verdict.scoring.details)] += 1
        for detail in _REPEATED:
            repeated = verdict.repeated(detail)
            if repeated is not None:
                (self.same if repeated else self.other)[detail] += 1

    def estimates(self, alpha: float, min_trials: int) -> JudgeEstimates:
        """Return all estimates; None where one has too few observations.

        Args:
            alpha: Probability that an interval ever misses the truth.
            min_trials: Fewest observations.
        """

        def rate(counted: dict[str, int], detail: str) -> Estimate | None:
            pairs = self.same[detail] + self.other[detail]
            return proportion(counted[detail], pairs, alpha=alpha, min_trials=min_trials)

        return JudgeEstimates(
            noise=rate(self.other, JUDGED_AGAIN),
            swap_consistency=rate(self.same, JUDGED_SWAPPED),
            group_agreement=rate(self.same, JUDGED_ALONE),
            decided=dict(self.decided) if any(self.decided.values()) else {},
        )


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
