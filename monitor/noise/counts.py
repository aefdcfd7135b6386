"""What verdicts tell about the judge of a route and model: stages, agreement, noise."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from evenkeel.core.verdict import (
    BANDS_RATING,
    JUDGED_AGAIN,
    JUDGED_SWAPPED,
    STAGES,
    stage_of,
)
from evenkeel.monitor.estimate import proportion

if TYPE_CHECKING:
    from evenkeel.core.cells import Estimate
    from evenkeel.core.verdict import Verdict


@dataclass(frozen=True, slots=True)
class JudgeEstimates:
    """The judge of one route and model; an estimate is None below the minimum number of observations."""

    noise: Estimate | None
    """P(another rating when the same pair is judged again)."""
    swap_consistency: Estimate | None
    """P(the same rating with the sides swapped); the noise is in it."""
    agreement: Estimate | None
    """P(the judge says what the bands said), over audited pairs."""
    decided: dict[str, int] = field(default_factory=dict)
    """Ratings by the stage that decided them; empty if no judge was there."""


@dataclass(slots=True)
class JudgeCounts:
    """Sufficient statistics of a route and model; adding costs the same however many there were.

    The pairs behind noise and swap consistency are those the judge was asked about: with a cascade
    these are the doubtful ones and the audited ones, on which a judge is less steady than on all.
    """

    decided: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STAGES, 0))
    """Ratings by the stage that decided them; all but "judge" are calls saved."""
    agreed: int = 0
    """Audited ratings on which judge and bands said the same."""
    disagreed: int = 0
    same_again: int = 0
    other_again: int = 0
    same_swapped: int = 0
    other_swapped: int = 0

    def add(self, verdict: Verdict) -> bool:
        """Count a verdict.

        Returns: whether anything was counted: a verdict without a rating, or of a scorer without a
        judge, says nothing about one.
        """
        if verdict.rating is None or verdict.scorer != "judge":
            return False
        details = verdict.details
        self.decided[stage_of(details)] += 1
        bands = details.get(BANDS_RATING)
        if bands is not None:
            self.agreed += bands == verdict.rating
            self.disagreed += bands != verdict.rating
        again = details.get(JUDGED_AGAIN)
        if again is not None:
            self.same_again += again == verdict.rating
            self.other_again += again != verdict.rating
        swapped = details.get(JUDGED_SWAPPED)
        if swapped is not None:
            self.same_swapped += swapped == verdict.rating
            self.other_swapped += swapped != verdict.rating
        return True

    def estimates(self, *, alpha: float, min_trials: int) -> JudgeEstimates:
        """All estimates; None where one has fewer than `min_trials` observations."""

        def rate(count: int, others: int) -> Estimate | None:
            trials = count + others
            return proportion(count, trials, alpha=alpha) if trials >= min_trials else None

        return JudgeEstimates(
            noise=rate(self.other_again, self.same_again),
            swap_consistency=rate(self.same_swapped, self.other_swapped),
            agreement=rate(self.agreed, self.disagreed),
            decided=dict(self.decided) if any(self.decided.values()) else {},
        )

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> JudgeCounts:
        """Read what `to_json` wrote."""
        return cls(**raw)
