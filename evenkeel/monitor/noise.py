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
being the same for both arms. Equal answers skip the judge, which `evenkeel.monitor.fold.corrections`
makes up for; where a judge errs more on one arm for other reasons (other languages, other formats),
the difference of the two f stays in the excess unless labels correct it. Judge noise is about
2f(1 − f) on pairs of one kind if two ratings err independently, so half of a small noise is what each
arm owes the judge.

Noise that repeats itself, such as a judge that always misreads the same table, shows in none
of these series: that takes labels, or the judge audit against people.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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
    from collections.abc import Sequence

    from evenkeel.core.cells import Estimate
    from evenkeel.core.verdict import Verdict


_REPEATED: Final = (
    (JUDGED_AGAIN, "same_again", "other_again"),
    (JUDGED_SWAPPED, "same_swapped", "other_swapped"),
    (JUDGED_ALONE, "same_alone", "other_alone"),
)
"""Details of verdicts that repeat a rating, with the counts for equal and for different ratings."""


@dataclass(slots=True)
class JudgeCounts:
    """Sufficient statistics of a judge on a route and model; the cost of adding is constant.

    The pairs behind noise and swap consistency are those the judge was asked about: all but identical and
    empty answers.
    """

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

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> JudgeCounts:
        """Read what `to_json` wrote."""
        return cls(**raw)


class _Place(NamedTuple):
    """Place where a judge is watched, over all perturbations together: its ratings are few and costly."""

    route: str
    model: str


class _Judge:
    """Counts of a judge, with estimates and JSON cached until the counts change."""

    __slots__ = ("counts", "encoded", "estimates")

    def __init__(self, counts: JudgeCounts) -> None:
        self.counts = counts
        self.encoded: str | None = None
        self.estimates: JudgeEstimates | None = None


_UNKNOWN = JudgeEstimates()


class Judges:
    """Counts of the judge on each route and model. Not thread-safe; part of the monitor's checkpoint."""

    def __init__(self) -> None:
        self._judges: dict[_Place, _Judge] = {}

    def add(self, route: str, model: str, verdict: Verdict) -> None:
        """Count a verdict as evidence on the judge; verdicts by heuristics alone are ignored."""
        if verdict.scoring.scorer != "judge":
            return
        place = _Place(route, model)
        judge = self._judges.get(place)
        if judge is None:
            judge = self._judges[place] = _Judge(JudgeCounts())
        if judge.counts.add(verdict):
            judge.encoded = judge.estimates = None

    def drop(self, route: str, model: str) -> None:
        """Forget a model."""
        self._judges.pop(_Place(route, model), None)

    def estimates(self, route: str, model: str, *, alpha: float, min_trials: int) -> JudgeEstimates:
        """Return the estimates of a judge, computed once for each change of its counts.

        Args:
            route: Where it judges.
            model: Whose answers.
            alpha: Each interval misses the truth at some time with at most this probability; like
                `min_trials` the same at every call.
            min_trials: An estimate with fewer observations is None.
        """
        judge = self._judges.get(_Place(route, model))
        if judge is None:
            return _UNKNOWN
        if judge.estimates is None:
            judge.estimates = judge.counts.estimates(alpha=alpha, min_trials=min_trials)
        return judge.estimates

    def encode(self) -> str:
        """Return all judges as a JSON array; each is encoded once for each change of its own."""
        return f"[{','.join(_encode(place, judge) for place, judge in self._judges.items())}]"

    @classmethod
    def from_json(cls, raw: Sequence[dict[str, Any]]) -> Judges:
        """Read what `encode` wrote, parsed."""
        judges = cls()
        for one in raw:
            judges._judges[_Place(one["route"], one["model"])] = _Judge(JudgeCounts.from_json(one["counts"]))
        return judges


def _encode(place: _Place, judge: _Judge) -> str:
    if judge.encoded is None:
        record = {**place._asdict(), "counts": judge.counts.to_json()}
        judge.encoded = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return judge.encoded
