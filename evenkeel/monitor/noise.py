"""Noise that the judge adds to a measurement, apart from that of the model and the prompt.

Three series split what is seen of a cell:

- *target noise*: how often the content of an identical resend is rated as shifted (the control
  arm, `noise_floor`). It holds the model's own randomness and the judge's false alarms.
- *judge noise*: how often the same pair gets another rating when it is judged again
  (`evenkeel.metrics.judge.raters` makes the second ratings). Swap consistency: how often the rating stays
  when the two sides change places. Group agreement: how often a pair that was judged in one call with others
  gets the same rating by itself.
- *perturbation effect*: the paired excess over the resend.

What the noise does to the two-stage score. Let the judge call a pair shifted with probability s if
it is, and f if it is not. An arm whose true shift rate is p shows f + (s − f) · p. So f, the false
alarms, raises the content delta of both arms (and lowers robustness, which is why neither is an
alert by itself), while in the excess it cancels: what remains is (s − f) · (p₁ − p₀). To first
order noise therefore makes an effect look smaller, never out of nothing. That rests on s and f
being the same for both arms; where a judge errs more on one arm (identical answers skip it, other languages,
other formats), the difference of the two f stays in the excess. Judge noise is about
2f(1 − f) on pairs of one kind if two ratings err independently, so half of a small noise is what each
arm owes the judge.

Noise that repeats itself, such as a judge that always misreads the same table, shows in none
of these series: that takes labels, or the judge audit against people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from evenkeel.core.cells import JudgeEstimates
from evenkeel.core.verdict import (
    JUDGED_AGAIN,
    JUDGED_ALONE,
    JUDGED_SWAPPED,
    STAGES,
    stage_of,
)
from evenkeel.monitor.estimate import proportion

if TYPE_CHECKING:
    from evenkeel.core.cells import Estimate
    from evenkeel.core.verdict import Verdict


# Details of verdicts that repeat a rating, with the counts for equal and for different ratings.
_REPEATED: Final = (
    (JUDGED_AGAIN, "same_again", "other_again"),
    (JUDGED_SWAPPED, "same_swapped", "other_swapped"),
    (JUDGED_ALONE, "same_alone", "other_alone"),
)


class JudgeCounts(Struct):
    """Sufficient statistics of a judge on a route and model; the cost of adding is constant.

    The pairs behind noise and swap consistency are those the judge was asked about: all but identical and
    empty answers.
    """

    # The last stage, "unsure", gives no rating.
    decided: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STAGES[:3], 0))
    """Ratings by the stage that decided them; all but "judge" are calls saved."""
    same_again: int = 0
    other_again: int = 0
    same_swapped: int = 0
    other_swapped: int = 0
    same_alone: int = 0
    other_alone: int = 0

    def add(self, verdict: Verdict) -> bool:
        """Count a verdict.

        Returns: whether anything was counted: a verdict without a rating, or of a scorer without a
        judge, says nothing about one.
        """
        if verdict.rating is None or verdict.scoring.scorer != "judge":
            return False
        self.decided[stage_of(verdict.scoring.details)] += 1
        for detail, same, other in _REPEATED:
            repeated = verdict.repeated(detail)
            if repeated is not None:
                name = same if repeated else other
                setattr(self, name, getattr(self, name) + 1)
        return True

    def estimates(self, *, alpha: float, min_trials: int) -> JudgeEstimates:
        """Return all estimates; None where one has fewer than `min_trials` observations."""

        def rate(count: int, others: int) -> Estimate | None:
            return proportion(count, count + others, alpha=alpha, min_trials=min_trials)

        return JudgeEstimates(
            noise=rate(self.other_again, self.same_again),
            swap_consistency=rate(self.same_swapped, self.other_swapped),
            group_agreement=rate(self.same_alone, self.other_alone),
            decided=dict(self.decided) if any(self.decided.values()) else {},
        )


_UNKNOWN: Final = JudgeEstimates()


class Judges:
    """Counts of the judge on each route and model. Not thread-safe; part of the monitor's checkpoint.

    Over all perturbations together: second ratings are few and costly.
    """

    def __init__(self, counts: dict[str, dict[str, JudgeCounts]] | None = None) -> None:
        self.counts = {} if counts is None else counts
        """Counts by route and model."""
        self._estimates: dict[tuple[str, str], JudgeEstimates] = {}

    def add(self, route: str, model: str, verdict: Verdict) -> None:
        """Count a verdict as evidence on the judge; verdicts by heuristics alone are ignored."""
        if verdict.scoring.scorer != "judge":
            return
        models = self.counts.setdefault(route, {})
        counts = models.get(model)
        if counts is None:
            counts = models[model] = JudgeCounts()
        if counts.add(verdict):
            self._estimates.pop((route, model), None)

    def drop(self, route: str, model: str) -> None:
        """Forget a model."""
        self.counts.get(route, {}).pop(model, None)
        self._estimates.pop((route, model), None)

    def estimates(self, route: str, model: str, *, alpha: float, min_trials: int) -> JudgeEstimates:
        """Return the estimates of a judge, computed once for each change of its counts.

        Args:
            route: Where it judges.
            model: Whose answers.
            alpha: Probability that an interval ever misses the truth. Results are kept, so pass the same
                `alpha` and `min_trials` every time.
            min_trials: An estimate with fewer observations is None.
        """
        counts = self.counts.get(route, {}).get(model)
        if counts is None:
            return _UNKNOWN
        estimates = self._estimates.get((route, model))
        if estimates is None:
            estimates = counts.estimates(alpha=alpha, min_trials=min_trials)
            self._estimates[route, model] = estimates
        return estimates
