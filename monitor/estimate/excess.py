"""The paired excess: how much more often a variant shifts than an identical resend does."""

from __future__ import annotations

from functools import lru_cache
from math import lgamma, log, sqrt
from typing import NamedTuple

from evenkeel.core.cells import Estimate
from evenkeel.monitor.estimate.crossing import Point, crossing
from evenkeel.monitor.estimate.proportion import times_log

_PRIOR = 0.5
"""Dirichlet(1/2, 1/2, 1/2), the counterpart of the rate's Beta(1/2, 1/2)."""

_LOG_PRIOR = 3 * lgamma(_PRIOR) - lgamma(3 * _PRIOR)


class _Split(NamedTuple):
    """Probabilities of the three outcomes of a pair."""

    plus: float
    minus: float
    zero: float


def _log_mixture(plus: int, minus: int, zero: int) -> float:
    """Log probability of one sequence of outcomes, averaged over the prior."""
    return (
        lgamma(_PRIOR + plus)
        + lgamma(_PRIOR + minus)
        + lgamma(_PRIOR + zero)
        - lgamma(3 * _PRIOR + plus + minus + zero)
        - _LOG_PRIOR
    )


def _likeliest(excess: float, plus: int, minus: int, zero: int) -> _Split:
    """The probabilities of highest likelihood among those with p₊ − p₋ = excess ≥ 0.

    Setting the derivative along the line to zero gives a quadratic in p₋ of which one root is
    feasible; it is taken in the form that does not cancel.
    """
    n = plus + minus + zero
    half = (1 - excess) * (plus + minus) - 2 * excess * (minus + zero)
    product = 2 * n * minus * excess * (1 - excess)
    root = sqrt(half * half + 4 * product)
    p_minus = (half + root) / (4 * n) if half >= 0 else product / n / (root - half)
    return _Split(p_minus + excess, p_minus, max(0.0, 1 - excess - 2 * p_minus))


def _ratio(count: int, probability: float) -> float:
    return count / probability if count else 0.0


def _profile(excess: float, plus: int, minus: int, zero: int) -> Point:
    """Highest log likelihood at an excess in (−1, 1), and its slope there."""
    if excess < 0:
        mirrored = _profile(-excess, minus, plus, zero)
        return Point(mirrored.value, -mirrored.slope)
    split = _likeliest(excess, plus, minus, zero)
    value = times_log(plus, split.plus) + times_log(minus, split.minus) + times_log(zero, split.zero)
    if split.minus > 0:
        slope = (_ratio(plus, split.plus) - _ratio(minus, split.minus)) / 2
    else:
        slope = _ratio(plus, split.plus) - _ratio(zero, split.zero)
    return Point(value, slope)


def log_evidence(excess: float, plus: int, minus: int, zero: int) -> float:
    """Natural log of the evidence against an excess in (−1, 1), given the pairs so far.

    The Dirichlet-multinomial mixture over the highest likelihood that any (p₊, p₋, p₀) with this
    excess reaches: never more than the e-value against the true one, so that Ville's bound holds.
    """
    return _log_mixture(plus, minus, zero) - _profile(excess, plus, minus, zero).value


@lru_cache(maxsize=1024)
def paired_excess(plus: int, minus: int, zero: int, *, alpha: float = 0.05) -> Estimate | None:
    """Rate of shifts in the variant minus that in the identical resend of the same exchanges.

    Args:
        plus: pairs that shifted only in the variant.
        minus: pairs that shifted only in the identical resend.
        zero: pairs in which both or neither shifted.
        alpha: probability with which the interval may ever miss the truth.

    Returns: (plus − minus) / pairs in [−1, 1] with a confidence sequence: the confidence set of
    the Dirichlet-multinomial mixture for the three probabilities, projected on their difference.
    Pairs of the same exchange share the resend, so an exchange should give one pair at most.
    None without pairs.
    """
    n = plus + minus + zero
    if n == 0:
        return None
    target = _log_mixture(plus, minus, zero) + log(alpha)

    def curve(excess: float) -> Point:
        profile = _profile(excess, plus, minus, zero)
        return Point(target - profile.value, -profile.slope)

    value = (plus - minus) / n
    depth = sum(times_log(count, count / n) for count in (plus, minus, zero)) - target
    reach = sqrt(2 * depth * ((plus + minus) / n - value * value) / n)
    return Estimate(
        value=value,
        lower=crossing(curve, value, -1.0, reach=reach) if minus < n else -1.0,
        upper=crossing(curve, value, 1.0, reach=reach) if plus < n else 1.0,
        n=n,
    )
