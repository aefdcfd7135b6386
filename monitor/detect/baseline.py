"""What a cell is compared with: its own mean of an approved time, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from evenkeel.monitor.estimate.bounded_mean import bounded_mean
from evenkeel.monitor.estimate.excess import paired_excess
from evenkeel.monitor.estimate.proportion import proportion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.cells import Estimate

_SCORE_STEPS: Final = 200
"""Scores are gathered on a grid of 0.005, so that any number of them takes 201 counts at most."""


class Observable(StrEnum):
    """What is observed once a trial."""

    RATE = "rate"
    """Whether something happened: 0 or 1."""
    DIFFERENCE = "difference"
    """Of a pair, shifted(variant) − shifted(resend): −1, 0 or 1."""
    SCORE = "score"
    """A similarity or a ratio: any number in [0, 1]."""

    @property
    def low(self) -> float:
        """Smallest observation there can be."""
        return -1.0 if self is Observable.DIFFERENCE else 0.0

    @property
    def high(self) -> float:
        """Largest observation there can be."""
        return 1.0

    def place(self, observation: float) -> float:
        """The observation as it is counted: a score as the nearest of its grid.

        Raises:
            ValueError: if there can be no such observation.
        """
        if not self.low <= observation <= self.high:
            raise ValueError(f"a {self} must lie in [{self.low}, {self.high}], got {observation}")
        if self is Observable.SCORE:
            return round(observation * _SCORE_STEPS) / _SCORE_STEPS
        if observation != int(observation):
            raise ValueError(f"a {self} must be whole, got {observation}")
        return int(observation)


def estimate_of(observable: Observable, counts: Mapping[float, int], *, alpha: float) -> Estimate | None:
    """The mean of what was observed, with its confidence sequence.

    Args:
        observable: what the counts are of.
        counts: how often each value was observed, scores on their grid (`Observable.place`).
        alpha: probability with which the interval may ever miss the truth.

    Returns: an estimate in [low, high]; None without observations. The interval of a score is wider
    by half a step of the grid on each side, the most that rounding can have moved the mean.
    """
    present = {value: count for value, count in counts.items() if count}
    if observable is Observable.DIFFERENCE:
        return paired_excess(present.get(1, 0), present.get(-1, 0), present.get(0, 0), alpha=alpha)
    if observable is Observable.RATE:
        return proportion(present.get(1, 0), sum(present.values()), alpha=alpha)
    # Sorted, so that the sums inside do not depend on which value came first.
    estimate = bounded_mean(dict(sorted(present.items())), alpha=alpha)
    if estimate is None:
        return None
    half_step = 0.5 / _SCORE_STEPS
    return type(estimate)(
        estimate.value, max(0.0, estimate.lower - half_step), min(1.0, estimate.upper + half_step), estimate.n
    )


@dataclass(frozen=True, slots=True)
class Baseline:
    """A mean that was approved, or that stands in until one is."""

    mean: float
    lower: float
    """`lower` to `upper` covers the true mean with the confidence of the estimate it was taken from.
    That must be an interval for any time of looking: baselines are approved when they look good."""
    upper: float
    n: int
    provisional: bool = False
    """Made of the first trials there were, not approved by anybody."""

    @classmethod
    def of(cls, estimate: Estimate, *, provisional: bool = False) -> Baseline:
        """An estimate as a baseline."""
        return cls(estimate.value, estimate.lower, estimate.upper, estimate.n, provisional)

    def to_json(self) -> list[Any]:
        """As JSON values; floats survive exactly."""
        return [self.mean, self.lower, self.upper, self.n, self.provisional]

    @classmethod
    def from_json(cls, raw: list[Any]) -> Baseline:
        """Read what `to_json` wrote."""
        return cls(*raw)
