"""Trajectories: the fall of a metric's mean score as a golden is degraded further, and its slope."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from evenkeel.lab.calibrate.resampling import means, measured, rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenkeel.lab.calibrate.calibration import BootstrapFigure, FailureMode
    from evenkeel.lab.calibrate.score_table import ScoreTable


# A slope takes two points.
_FEWEST = 2


def slope_weights(severities: Sequence[float]) -> tuple[float, ...]:
    """Return factors of the mean scores such that their sum is the sensitivity.

    The sensitivity is the mean, over neighbouring severities, of the fall in mean score divided by the
    distance between them. For 0.1, 0.3, 0.5 the weights are 2.5, 0, −2.5: only the ends count.

    Args:
        severities: ascending, without severity 0.

    Raises:
        ValueError: fewer than two, or not strictly ascending.
    """
    if len(severities) < _FEWEST:
        raise ValueError("a sensitivity needs mean scores at two severities or more")
    steps = [after - before for before, after in pairwise(severities)]
    if min(steps) <= 0:
        raise ValueError(f"severities must ascend: {list(severities)}")
    # A mean of slopes is linear in the scores, so all curves take one product with these weights.
    weights = [0.0] * len(severities)
    for index, step in enumerate(steps):
        weights[index] += 1 / (step * len(steps))
        weights[index + 1] -= 1 / (step * len(steps))
    return tuple(weights)


def sensitivities(means: NDArray[np.float64], severities: Sequence[float]) -> NDArray[np.float64]:
    """Fall in score per unit of severity, averaged over the steps between severities, of many curves at once.

    Args:
        means: shape (…, severities); NaN where nothing was measured.
        severities: ascending, without 0.

    Returns: shape (…); 1 = falls as much as the golden is degraded; 0 = does not react; negative = rises; NaN
        where one of the means is.
    Source: WorkflowPerturb, equation 1: the mean of the two slopes between 10, 30 and 50 %.
    """
    # Rounded, so that processors which add in another order print the same digits.
    result: NDArray[np.float64] = np.round(means @ np.asarray(slope_weights(severities)), 9)
    return result


@dataclass(frozen=True, slots=True)
class TrajectoryPoint:
    """A metric at one severity."""

    severity: float
    mean: BootstrapFigure
    """Mean of the scores, with its interval."""
    deviation: float
    """Standard deviation of the scores, as of a population."""
    expected: float
    """Mean of the expected scores of the same candidates."""
    residual: BootstrapFigure
    """Mean of score − expected score: above 0 = the metric is too kind, below = too harsh."""
    unmeasured: int
    """Candidates without a score."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A metric's way down a failure mode. Severities at which nothing was measured are left out."""

    metric: str
    mode: FailureMode
    points: tuple[TrajectoryPoint, ...]

    @property
    def residual(self) -> float | None:
        """Root mean square of the residuals of the degraded points; None if there are none."""
        values = []
        for point in self.points:
            if point.severity > 0:
                values.append(point.residual.value)
        return rounded(float(np.sqrt(np.mean(np.square(values))))) if values else None


def trajectories(table: ScoreTable, drawn: NDArray[np.float64]) -> tuple[Trajectory, ...]:
    """Every metric's trajectory in every degraded mode, by mode and then by metric.

    Args:
        table: the scores.
        drawn: resamples of the table's goldens; see `multiplicities`.
    """
    residuals = table.scores - table.expected[:, :, None]
    resampled = means(table.scores, drawn)
    resampled_residuals = means(residuals, drawn)

    def point(condition: int, column: int) -> TrajectoryPoint | None:
        scores = table.scores[:, condition, column]
        measured_mask = ~np.isnan(scores)
        n = int(measured_mask.sum())
        if n == 0:
            return None
        return TrajectoryPoint(
            severity=table.conditions[condition].severity,
            mean=measured(float(scores[measured_mask].mean()), resampled[:, condition, column], n),
            deviation=rounded(float(scores[measured_mask].std())),
            expected=rounded(float(table.expected[measured_mask, condition].mean())),
            residual=measured(
                float(residuals[measured_mask, condition, column].mean()),
                resampled_residuals[:, condition, column], n,
            ),
            unmeasured=int((~np.isnan(table.expected[:, condition])).sum()) - n,
        )  # fmt: skip

    ways = []
    for mode in table.modes:
        for column, facts in enumerate(table.metrics):
            points = [point(condition, column) for condition in table.places(mode)]
            places = []
            for place in points:
                if place is not None:
                    places.append(place)
            ways.append(Trajectory(facts.name, mode, tuple(places)))
    return tuple(ways)
