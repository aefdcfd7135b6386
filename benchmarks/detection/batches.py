"""Tests on batches, as Evidently's drift checks make them: exact, no simulation.

Every 100 trials are compared with a reference of 1,000 and forgotten. The statistics of Evidently's `z`
and `psi` tests for a column of two categories are written out here; they agree with Evidently 0.7.23 to
1e-14 on every count from 0 to 100 (references with 0, 50, 100 and 500 hits). Of the reference it is
assumed that it holds exactly the rate before the change, which no real reference does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import binom, norm

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

BATCH: Final = 100
REFERENCE: Final = 1000
_EMPTY: Final = 0.0001
"""What Evidently takes for the share of a category that does not occur."""


def z_distance(reference: NDArray[np.float64], current: NDArray[np.float64]) -> NDArray[np.float64]:
    """One minus the p-value of the two-sided z-test of two proportions, from counts of hits."""
    first, second = reference / REFERENCE, current / BATCH
    pooled = (reference + current) / (REFERENCE + BATCH)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / REFERENCE + 1 / BATCH))
    z = np.divide(first - second, spread, out=np.zeros_like(spread), where=spread > 0)
    p_value: NDArray[np.float64] = 2 * (1 - norm.cdf(np.abs(z)))
    return 1 - p_value


def _shares(hits: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    shares = np.stack([1 - hits / size, hits / size])
    return np.where(shares == 0, _EMPTY, shares)


def psi(reference: NDArray[np.float64], current: NDArray[np.float64]) -> NDArray[np.float64]:
    """Population stability index of two categories."""
    first, second = _shares(reference, REFERENCE), _shares(current, BATCH)
    index: NDArray[np.float64] = ((first - second) * np.log(first / second)).sum(axis=0)
    return index


TESTS: Final[dict[str, Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]]] = {
    "z": z_distance,
    "psi": psi,
}


def alarm_chances(name: str, rate: float, run_length: float) -> NDArray[np.float64]:
    """With which probability each count of hits in a batch raises an alarm.

    The largest statistics alarm, as many that the mean run without a change is `run_length` trials;
    the last of them by lot, so that it is so exactly.
    """
    hits = np.arange(BATCH + 1.0)
    distance = TESTS[name](np.full(BATCH + 1, rate * REFERENCE), hits)
    weight = binom.pmf(hits, BATCH, rate)
    left = BATCH / run_length
    chances = np.zeros(BATCH + 1)
    for value in np.unique(distance)[::-1]:
        same = distance == value
        mass = weight[same].sum()
        chances[same] = min(1.0, left / mass) if mass > 0 else 1.0
        left -= mass
        if left <= 0:
            break
    return chances


def mean_delay(name: str, before: float, after: float, run_length: float) -> float:
    """Mean trials from the change to the alarm, over all places in a batch where it can happen."""
    chances = alarm_chances(name, before, run_length)
    hits = np.arange(BATCH + 1)
    later = BATCH / float(chances @ binom.pmf(hits, BATCH, after))
    total = 0.0
    for new in range(1, BATCH + 1):
        old = binom.pmf(np.arange(BATCH - new + 1), BATCH - new, before)
        mixed = np.convolve(old, binom.pmf(np.arange(new + 1), new, after))
        total += new + (1 - float(chances @ mixed)) * later
    return total / BATCH
