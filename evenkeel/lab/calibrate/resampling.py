"""Bootstrap over goldens: every figure of a calibration is drawn with the same resamples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from evenkeel.lab.calibrate.calibration import BootstrapFigure

if TYPE_CHECKING:
    from random import Random

    from numpy.typing import NDArray

CONFIDENCE: Final = 0.95
"""Confidence of all intervals."""
# Coarser than what platforms differ by, so that equal input gives equal files.
_DIGITS = 6


def multiplicities(
    goldens: int, times: int, rng: Random, clusters: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Draw how often each golden occurs in each resample: shape (times, goldens).

    Variants of a golden, and goldens of a cluster, are drawn together, because their scores are correlated.
    A seed gives the same numbers on every platform.

    Args:
        goldens: How many there are.
        times: Resamples.
        rng: Draws.
        clusters: The number of each golden's cluster, from 0; None = each golden is one.

    Returns: rows that sum to the number of goldens, or with clusters as many clusters as there are.
    """
    if clusters is not None:
        return multiplicities(int(clusters.max()) + 1, times, rng)[:, clusters]
    drawn = np.empty((times, goldens))
    for row in drawn:
        words = np.frombuffer(rng.randbytes(4 * goldens), dtype="<u4").astype(np.uint64)
        # Scaling a 32-bit number picks each golden equally often to within goldens / 2³².
        row[:] = np.bincount((words * goldens >> 32).astype(np.int64), minlength=goldens)
    return drawn


def means(scores: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weighted means over goldens of what was measured.

    Args:
        scores: shape (goldens, …), NaN where nothing was measured.
        weights: shape (times, goldens).

    Returns: shape (times, …), NaN where a resample holds no measured golden. Rounded to 12 digits, so
        that ties do not depend on the order in which a platform adds.
    """
    flat = scores.reshape(len(scores), -1)
    measured_mask = ~np.isnan(flat)
    total = weights @ np.where(measured_mask, flat, 0.0)
    count = weights @ measured_mask.astype(np.float64)
    mean: NDArray[np.float64] = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    result: NDArray[np.float64] = np.round(mean, 12).reshape(len(weights), *scores.shape[1:])
    return result


def measured(value: float, drawn: NDArray[np.float64], n: int) -> BootstrapFigure:
    """A figure with the percentile interval of its resampled values; NaNs among these are left out.

    With nothing drawn the interval is the figure itself.
    """
    values_measured = drawn[~np.isnan(drawn)]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values_measured, (tail, 1 - tail)) if len(values_measured) else (value, value)
    # A percentile interval of a skewed figure can miss it by a little; one that does would confuse.
    return BootstrapFigure(
        rounded(value), rounded(min(float(low), value)), rounded(max(float(high), value)), n
    )


def rounded(value: float) -> float:
    """Six decimals, which is more than any figure here is known to; no negative zero."""
    return round(float(value), _DIGITS) + 0.0
