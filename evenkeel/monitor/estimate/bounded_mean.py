"""Mean of bounded observations with a confidence sequence, by betting.

Every interval of the monitor is one of these: rates (observations 0 and 1), paired differences (−1, 0, 1),
similarities, and means over the trials of one exchange, which are one observation because the trials are
not independent.

Observations are mapped to [0, 1]. Against "the mean is μ" a gambler stakes the share s of their wealth on
every observation v, which is then worth 1 − s + s·v/μ of what it was (for a mean above μ) or
1 − s + s·(1 − v)/(1 − μ) (below). If μ is the mean, neither grows on average, whatever else is true of the
distribution, so the mean wealth of gamblers with different s ever reaches 2/alpha with probability alpha/2
at most (Ville). It is assumed that each observation has the mean μ, given those before: they are
independent. The product over observations does not depend on their order, so a histogram holds all of it.

**Weights.** An observation that was not drawn with the same chance as others weighs w in (0, 1], proportional
to one over its chance, and gamblers stake s·w on it: 1 − s·w + s·w·v/μ. Over the draw, w·(v − μ) is 0 on
average at the mean μ of an equal draw, so nobody wins against that, and the value is Σ w·v / Σ w (Hájek). The
chance may depend on everything that was observed before, also of the same exchange.

**Dependence.** Observations that depend on their neighbours tell less: so many of them as the design effect
(`blocks`) count as one, which takes the logarithm of the capital through it.

Source: Waudby-Smith, Ramdas 2024, "Estimating means of bounded random variables by betting" (hedged
capital), with a mixture over s in place of a predicted one. Widths and coverage:
`docs/research/intervals.md`.
"""

from __future__ import annotations

from functools import lru_cache
from math import fsum, inf, log, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from evenkeel.core.cells import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Column: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"
Stakes: TypeAlias = "np.ndarray[tuple[int, int], np.dtype[np.float64]]"

# Stakes that bet side by side. With more of them intervals hardly get narrower.
_GAMBLERS: Final = 16
_SMALLEST: Final = 0.0005
_LARGEST: Final = 0.95
_TILT: Final = 0.75

SHARES: Final = tuple(
    _SMALLEST * (_LARGEST / _SMALLEST) ** (place / (_GAMBLERS - 1)) for place in range(_GAMBLERS)
)
"""Stakes of the gamblers. The best share is about distance · μ / variance, so these serve from a handful
of observations to a million."""

WEIGHTS: Final = tuple(share**_TILT / sum(other**_TILT for other in SHARES) for share in SHARES)
"""Initial wealth of the gamblers. Large stakes weigh more: with equal weights intervals are 10 % wider at
a hundred observations and no narrower at 20,000."""

_STAKED: Final = np.array(SHARES)[:, np.newaxis]
_UNSTAKED: Final = 1 - _STAKED
_WEIGHED: Final = np.array(WEIGHTS)

# Precision of an end of the interval, as a share of its distance from the mean; it errs outwards.
_TOLERANCE: Final = 1e-5
# A bisection of floats ends long before; a fault must not loop for ever.
_MOST_STEPS: Final = 200


class BoundPoint(NamedTuple):
    """Value and slope of a curve at one place."""

    value: float
    slope: float


def log_capital(
    mean: float, values: Column, counts: Column, stakes: Stakes = _STAKED, left: Stakes = _UNSTAKED
) -> BoundPoint:
    """Return the log of the wealth of those who bet that the true mean is above `mean`, and its slope there.

    Args:
        mean: in (0, 1].
        values: distinct observations in [0, 1].
        counts: how often each was made.
        stakes: what each gambler (row) stakes on each observation (column), as a share of their wealth.
        left: one less that.
    """
    # Matrices of shares and values: 10 µs for three values, as long as loops take.
    gains = stakes * (values / mean)
    kept = left + gains
    logs = np.log(kept) @ counts
    slopes = (gains / kept) @ counts
    highest = logs.max()
    weights = np.exp(logs - highest) * _WEIGHED
    total = float(weights.sum())
    return BoundPoint(float(highest) + log(total), -float(weights @ slopes) / (total * mean))


def bounded_mean(
    histogram: Mapping[float, int],
    *,
    low: float = 0.0,
    high: float = 1.0,
    alpha: float = 0.05,
    min_observations: int = 1,
) -> Estimate | None:
    """Return the mean of independent observations in [low, high], with its confidence sequence.

    Args:
        histogram: how often each value was observed.
        low: smallest observation there can be.
        high: largest.
        alpha: probability with which the interval may ever miss the truth, half of it on each side.
        min_observations: an estimate from fewer is None.

    Returns: an estimate whose `n` counts observations; None without any.
    """
    weighted = {}
    for value, count in histogram.items():
        weighted[(value, 1.0)] = count
    return weighted_mean(weighted, low=low, high=high, alpha=alpha, min_observations=min_observations)


def weighted_mean(
    histogram: Mapping[tuple[float, float], int],
    *,
    low: float = 0.0,
    high: float = 1.0,
    alpha: float = 0.05,
    min_observations: int = 1,
    effect: float = 1.0,
) -> Estimate | None:
    """Return the mean under an equal draw, from weighted observations; see `bounded_mean`.

    Args:
        histogram: how often each value was observed with each weight in (0, 1].
        low: smallest observation there can be.
        high: largest.
        alpha: probability with which the interval may ever miss the truth.
        min_observations: an estimate from fewer is None, whatever they weigh.
        effect: design effect, at least 1.
    """
    if sum(histogram.values()) < max(1, min_observations):
        return None
    # Sorted, so that nothing depends on the order of observations, not even the last digit.
    observed = tuple(sorted((*each, count) for each, count in histogram.items() if count))
    return _weighted_mean(observed, low, high, alpha, effect)


def proportion(
    successes: int, trials: int, *, alpha: float = 0.05, min_trials: int = 1, effect: float = 1.0
) -> Estimate | None:
    """Return the rate of successes among trials of a design effect; see `weighted_mean`."""
    histogram = {(0.0, 1.0): trials - successes, (1.0, 1.0): successes}
    return weighted_mean(histogram, alpha=alpha, min_observations=min_trials, effect=effect)


def paired_excess(
    plus: int, minus: int, zero: int, *, alpha: float = 0.05, min_pairs: int = 1
) -> Estimate | None:
    """Return the rate of shifts in the variant minus that in the identical resend of the same exchanges.

    Pairs of the same exchange share the resend, so an exchange should give one pair at most.

    Args:
        plus: pairs that shifted only in the variant.
        minus: pairs that shifted only in the identical resend.
        zero: pairs in which both or neither shifted.
        alpha: as `bounded_mean`.
        min_pairs: an estimate from fewer is None.
    """
    histogram = {-1.0: minus, 0.0: zero, 1.0: plus}
    return bounded_mean(histogram, low=-1.0, alpha=alpha, min_observations=min_pairs)


@lru_cache(maxsize=4096)
def _weighted_mean(
    observed: tuple[tuple[float, float, int], ...], low: float, high: float, alpha: float, effect: float
) -> Estimate:
    """Estimate a weighted mean; cached, as windows with equal observations need it only once."""
    n = sum(count for _, _, count in observed)
    total = fsum(weight * count for _, weight, count in observed)
    value = fsum(each * weight * count for each, weight, count in observed) / total
    width = high - low
    placed, weights, counts = np.array(observed, dtype=np.float64).T
    placed = np.clip((placed - low) / width, 0.0, 1.0)
    mean = min(1.0, max(0.0, (value - low) / width))
    variance = float((placed - mean) ** 2 @ (counts * weights**2)) / total
    counts, total = counts / effect, total / effect
    target = log(2 / alpha)
    # The mixture costs about log(n) / 2: a parabola of this depth crosses near the end.
    reach = sqrt((2 * target + log(n)) * variance / total)
    stakes = _STAKED * weights
    bets = _Bets(counts, stakes, 1 - stakes)
    lower = low + width * _end(placed, bets, mean, target, reach)
    upper = high - width * _end(1 - placed, bets, 1 - mean, target, reach)
    return Estimate(value, min(lower, value), max(upper, value), n)


class _Bets(NamedTuple):
    counts: Column
    stakes: Stakes
    left: Stakes


def _end(values: Column, bets: _Bets, mean: float, target: float, reach: float) -> float:
    """Return the lower end, below which the capital, a convex curve, exceeds the target."""
    if mean <= 0:
        return 0.0

    def curve(mean: float) -> BoundPoint:
        value, slope = log_capital(mean, values, *bets)
        return BoundPoint(value - target, slope)

    return _crossing(curve, mean, reach)


def _crossing(curve: Callable[[float], BoundPoint], inside: float, reach: float) -> float:
    """Return the place between 0 and `inside` where a convex curve reaches zero.

    Newton's method, kept between the two ends by bisection. The curve is below zero at `inside` and, being
    convex, crosses once on the way to 0, where it may be infinite: neither end is evaluated. On the outer
    side a tangent never overshoots, so the returned place errs outwards, by at most the tolerance: a
    confidence set is never made too small.

    Args:
        curve: value and slope at a place strictly between the ends.
        inside: the lowest place of the curve.
        reach: a guess of the distance from `inside` to the crossing, 0 if there is none. It only saves steps.
    """
    mean, outside = inside, 0.0
    probe = inside - min(reach or inf, inside / 2)
    for _ in range(_MOST_STEPS):
        value, slope = curve(probe)
        if value < 0:
            inside = probe
        else:
            outside = probe
        step = value / slope if slope else 0.0
        tolerance = _TOLERANCE * (mean - probe)
        if inside - outside <= tolerance or (value >= 0 and slope and abs(step) <= tolerance):
            break
        newton = probe - step
        probe = newton if slope and outside < newton < inside else (inside + outside) / 2
    return outside
