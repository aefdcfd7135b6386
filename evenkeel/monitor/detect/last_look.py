"""The gate's last look: an exact test of all differences, once no golden is left to ask.

Evidence that may be looked at after every cluster pays for that freedom. Where the goldens ran out and
nothing is settled, the number of clusters is known, and a test made for exactly that number finds much more.

Differences of −1, 0 and 1 follow from two probabilities. Outcomes are ordered by the score statistic, and
the p-value is the largest probability, over all that the hypothesis leaves open, of an outcome at least as
extreme. Fractions, of clusters with several goldens or answers, are tested by turning their signs in every
way; that is exact if candidate and reference could be exchanged in each cluster.

Source: Suissa, Shuster 1991, "The 2 × 2 matched-pairs trial: exact unconditional design and analysis";
Tango 1998, "Equivalence test and confidence interval for the difference in proportions for the
paired-sample design".
"""

from __future__ import annotations

from functools import lru_cache
from math import pi
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.fft import fft

from evenkeel.monitor.estimate.bounded_mean import bounded_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

# Values of the open probability that are tried, denser at both ends, before the best is refined.
_GRID: Final = 48
# Points of the finer grid around the best point of the coarse one.
_REFINED: Final = 16
# Below it a deviation is taken for none, since a rounding error would decide.
_SLACK: Final = 1e-9
# Steps between 0 and 1 that fractions are rounded to, so that their sums can be counted.
_FRACTIONS: Final = 60
# Halvings of the range in which an end of an interval is looked for.
_STEPS: Final = 16


class Pairs(NamedTuple):
    """Clusters by their difference, where that is −1, 0 or 1."""

    worse: int
    """Goldens where only the candidate's answer breaches the measure."""
    better: int
    """Goldens where only the reference's does."""
    n: int
    """All clusters."""

    @classmethod
    def of(cls, counts: Mapping[float, int]) -> Pairs | None:
        """The pairs behind counts of differences; None if some differences are fractions."""
        if not set(counts) <= {-1.0, 0.0, 1.0}:
            return None
        return cls(round(counts.get(1.0, 0)), round(counts.get(-1.0, 0)), round(sum(counts.values())))


def p_value(counts: Mapping[float, int], threshold: float) -> float:
    """P-value of "the mean difference is at most `threshold`" against "it is above".

    Args:
        counts: How often each difference in [−1, 1] was seen; whole numbers.
        threshold: In (−1, 1).

    Returns: in [0, 1]; 1 without differences.
    Raises: ValueError for fractions and a threshold other than 0, for which there is no exact test.
    """
    pairs = Pairs.of(counts)
    if pairs is not None:
        return _unconditional(pairs, threshold)
    if threshold != 0:
        raise ValueError(f"fractions have no exact test against {threshold:g}")
    return _signs_turned(counts)


def mirrored(counts: Mapping[float, int]) -> dict[float, int]:
    """Return the counts with the signs of all differences reversed."""
    return {-difference: count for difference, count in counts.items()}


def score(pairs: Pairs, threshold: float) -> float:
    """The score statistic: how many standard errors the mean difference is above the threshold."""
    worse, better = np.array([pairs.worse]), np.array([pairs.better])
    return float(scores(worse, better, pairs.n, threshold)[0])


def scores(
    worse: NDArray[np.int64], better: NDArray[np.int64], n: int, threshold: float
) -> NDArray[np.float64]:
    """The same for many outcomes of n goldens at once."""
    # The probability of "better" that fits best where the mean is the threshold: a quadratic equation.
    linear = (2 * n - worse + better) * threshold - worse - better
    constant = -better * threshold * (1 - threshold)
    fitted = (np.sqrt(np.maximum(linear * linear - 8 * n * constant, 0.0)) - linear) / (4 * n)
    fitted = np.clip(fitted, max(0.0, -threshold), (1 - threshold) / 2)
    deviation = np.sqrt(np.maximum(n * (2 * fitted + threshold * (1 - threshold)), 0.0))
    distance = worse - better - n * threshold
    certain = np.where(distance > _SLACK, np.inf, 0.0)
    deviations: NDArray[np.float64] = np.divide(distance, deviation, out=certain, where=deviation > _SLACK)
    return deviations


@lru_cache(maxsize=4096)
def _unconditional(pairs: Pairs, threshold: float) -> float:
    """The largest probability, over that of "better", of a score at least as high."""
    n = pairs.n
    if not n:
        return 1.0
    fewest = _fewest_worse(score(pairs, threshold), n, threshold)
    low, high = max(0.0, -threshold), (1 - threshold) / 2
    means_tried = (np.arange(_GRID) + 0.5) / _GRID
    tails = _tails(fewest, n, threshold, low + (high - low) * np.sin(means_tried * pi / 2) ** 2)
    best = int(tails.argmax())
    near = np.linspace(max(best - 1, 0), min(best + 1, _GRID - 1), _REFINED)
    refined = low + (high - low) * np.sin((near + 0.5) / _GRID * pi / 2) ** 2
    return min(1.0, float(max(tails.max(), _tails(fewest, n, threshold, refined).max())))


def _fewest_worse(least: float, n: int, threshold: float) -> NDArray[np.int64]:
    """Return for each number of "better" the fewest "worse" that make the score; one too many if none do."""
    better = np.arange(n + 1)
    low, high = np.zeros(n + 1, dtype=np.int64), n - better + 1
    while (low < high).any():
        middle = (low + high) // 2
        enough = (middle > n - better) | (scores(middle, better, n, threshold) >= least - _SLACK)
        high, low = np.where(enough, middle, high), np.where(enough, low, np.minimum(middle + 1, high))
    return low


def _tails(
    fewest: NDArray[np.int64], n: int, threshold: float, better: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probability of the outcomes from `fewest` on, for each probability of "better"."""
    # It takes longer to load than all of numpy, and only goldens that ran out ask for it.
    from scipy.special import bdtrc, gammaln, xlog1py, xlogy  # noqa: PLC0415

    numbers = np.arange(n + 1)
    left = n - numbers
    share = better[:, None]
    # At a share of 1 no golden is left that could be "worse".
    rest = np.where(share < 1, 1 - share, 1.0)
    among_rest = np.clip((share + threshold) / rest, 0.0, 1.0)
    log_ways = gammaln(n + 1) - gammaln(numbers + 1) - gammaln(left + 1)
    chance = np.exp(log_ways + xlogy(numbers, share) + xlog1py(left, -share))
    tails: NDArray[np.float64] = (chance * bdtrc(fewest - 1, left, among_rest)).sum(axis=1)
    return tails


def _signs_turned(counts: Mapping[float, int]) -> float:
    """Share of the ways to exchange the sides in each cluster that give the candidate so many breaches."""
    steps = {}
    for difference in counts:
        steps[difference] = round(difference * _FRACTIONS)
    seen = round(sum(steps[difference] * count for difference, count in counts.items()))
    reach = round(sum(abs(steps[difference]) * count for difference, count in counts.items()))
    # The characteristic function of a number with a random sign is a cosine; that of the sum is the product.
    turns = 2 * pi * np.arange(2 * reach + 1) / (2 * reach + 1)
    product = np.ones(2 * reach + 1)
    for difference, count in counts.items():
        product *= np.cos(turns * steps[difference]) ** count
    chances = fft(product).real / len(product)
    extreme = chances[np.arange(seen, reach + 1)].sum()
    return float(min(1.0, max(extreme, 0.0)))


def excluded(counts: Mapping[float, int], level: float) -> float:
    """Return the largest threshold that the mean difference is shown to be above; −1 if none.

    Args:
        counts: How often each difference in [−1, 1] was seen; whole numbers.
        level: Largest p-value that shows it.
    """
    pairs = Pairs.of(counts)
    if pairs is None:
        # Fractions have an exact test against 0 only (see `p_value`).
        mean = bounded_mean(counts, low=-1.0, alpha=2 * level)
        lower = -1.0 if mean is None else mean.lower
        return 0.0 if lower < 0 and _signs_turned(counts) <= level else lower
    if pairs.better == pairs.n:
        return -1.0
    inside, outside = -1.0, (pairs.worse - pairs.better) / pairs.n
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if _unconditional(pairs, middle) <= level:
            inside = middle
        else:
            outside = middle
    return inside
