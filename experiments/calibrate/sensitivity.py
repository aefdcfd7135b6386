"""Sensitivity: how fast a metric falls as a degradation grows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MODERATE = 0.3
"""From here on a metric is called moderately sensitive (Table 5 of the source)."""

_FEWEST = 2


def slope_weights(severities: Sequence[float]) -> tuple[float, ...]:
    """What to multiply the mean scores with so that their sum is the sensitivity.

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
    weights = [0.0] * len(severities)
    for place, step in enumerate(steps):
        weights[place] += 1 / (step * len(steps))
        weights[place + 1] -= 1 / (step * len(steps))
    return tuple(weights)


def sensitivity(severities: Sequence[float], scores: Sequence[float]) -> float:
    """Fall in score per unit of severity, averaged over the steps between severities.

    Returns: 1 = falls as much as the golden is degraded; 0 = does not react; negative = rises.
    Source: WorkflowPerturb, equation 1: the mean of the two slopes between 10, 30 and 50 %.
    """
    return sum(weight * score for weight, score in zip(slope_weights(severities), scores, strict=True))


def sensitivities(means: NDArray[np.float64], severities: Sequence[float]) -> NDArray[np.float64]:
    """`sensitivity` of many curves at once.

    Args:
        means: shape (…, severities); NaN where nothing was measured.
        severities: ascending, without 0.

    Returns: shape (…); NaN where one of the means is.
    """
    result: NDArray[np.float64] = np.round(means @ np.asarray(slope_weights(severities)), 9)
    return result
