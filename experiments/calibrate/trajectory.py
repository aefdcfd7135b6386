"""Trajectories: a metric's mean score as a degradation grows, beside the score it should give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkeel.experiments.calibrate.resampling import Measured, means, measured, rounded
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkeel.experiments.calibrate.score_table import ScoreTable


@dataclass(frozen=True, slots=True)
class TrajectoryPoint:
    """One metric at one severity."""

    severity: float
    mean: Measured
    """Of the scores, with its interval."""
    deviation: float
    """Standard deviation of the scores, as of a population."""
    expected: float
    """Mean of the expected scores of the same candidates."""
    residual: Measured
    """Mean of score − expected score: above 0 = the metric is too kind, below = too harsh."""
    unmeasured: int
    """Candidates without a score."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One metric's way down one failure mode. Severities at which nothing was measured are left out."""

    metric: str
    mode: FailureMode
    points: tuple[TrajectoryPoint, ...]

    @property
    def residual(self) -> float | None:
        """Root mean square of the residuals of the degraded points; None if there are none."""
        values = [point.residual.value for point in self.points if point.severity > 0]
        return rounded(float(np.sqrt(np.mean(np.square(values))))) if values else None


def trajectories(
    table: ScoreTable, drawn: NDArray[np.float64], *, confidence: float = 0.95
) -> tuple[Trajectory, ...]:
    """Every metric's trajectory in every degraded mode, by mode and then by metric.

    A trajectory starts with severity 0 where the table holds goldens that were run again.

    Args:
        table: the scores.
        drawn: resamples of the table's goldens; see `multiplicities`.
        confidence: of the intervals.
    """
    residuals = table.scores - table.expected[:, :, None]
    resampled = means(table.scores, drawn)
    resampled_residuals = means(residuals, drawn)
    again = table.place(FailureMode.NONE, 0.0)

    def point(place: int, column: int) -> TrajectoryPoint | None:
        scores = table.scores[:, place, column]
        known = ~np.isnan(scores)
        n = int(known.sum())
        if n == 0:
            return None
        return TrajectoryPoint(
            severity=table.conditions[place].severity,
            mean=measured(float(scores[known].mean()), resampled[:, place, column], n, confidence),
            deviation=rounded(float(scores[known].std())),
            expected=rounded(float(table.expected[known, place].mean())),
            residual=measured(
                float(residuals[known, place, column].mean()),
                resampled_residuals[:, place, column], n, confidence,
            ),
            unmeasured=int((~np.isnan(table.expected[:, place])).sum()) - n,
        )  # fmt: skip

    return tuple(
        Trajectory(
            facts.name,
            mode,
            tuple(
                found
                for place in (*(() if again is None else (again,)), *table.places(mode))
                if (found := point(place, column)) is not None
            ),
        )
        for mode in table.modes
        for column, facts in enumerate(table.metrics)
    )
