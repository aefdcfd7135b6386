"""A rate with a confidence sequence: an interval that holds at all times of looking together."""

from __future__ import annotations

from functools import lru_cache
from math import inf, lgamma, log, sqrt

from evenkeel.core.cells import Estimate
from evenkeel.monitor.estimate.crossing import Point, crossing

_PRIOR = 0.5
"""Jeffreys' Beta(1/2, 1/2). Any prior gives valid coverage; this one gives the narrowest intervals
near 0 and 1, where noise floors and robustness live, and costs little in the middle."""

_LOG_PRIOR = 2 * lgamma(_PRIOR) - lgamma(2 * _PRIOR)


def times_log(count: int, probability: float) -> float:
    """`count` · log(`probability`), with 0 · log(0) = 0 and minus infinity where it is impossible."""
    if count == 0:
        return 0.0
    return count * log(probability) if probability > 0 else -inf


def _log_mixture(successes: int, trials: int) -> float:
    """Log probability of one sequence of outcomes, averaged over the prior."""
    failures = trials - successes
    return lgamma(_PRIOR + successes) + lgamma(_PRIOR + failures) - lgamma(2 * _PRIOR + trials) - _LOG_PRIOR


def log_evidence(rate: float, successes: int, trials: int) -> float:
    """Natural log of the e-value against a rate in [0, 1], given the outcomes so far.

    The beta-binomial mixture over the likelihood of `rate`. If `rate` is the truth, its exponential
    is a martingale that starts at 1, so it ever reaches 1/alpha with probability at most alpha (Ville).
    """
    likelihood = times_log(successes, rate) + times_log(trials - successes, 1 - rate)
    return _log_mixture(successes, trials) - likelihood


@lru_cache(maxsize=1024)
def proportion(successes: int, trials: int, *, alpha: float = 0.05, min_trials: int = 1) -> Estimate | None:
    """The rate of successes among independent trials, with its confidence sequence.

    Returns: an estimate in [0, 1] whose interval holds every rate that `log_evidence` does not put
    below 1/alpha odds; it covers the truth at all sample sizes together with probability
    1 - alpha or more. Both ends grow with `successes`. None with fewer than `min_trials`, or none.
    Source: Robbins 1970; Howard, Ramdas, McAuliffe, Sekhon 2021 (beta-binomial mixture).
    """
    if trials < max(1, min_trials):
        return None
    failures = trials - successes
    target = _log_mixture(successes, trials) + log(alpha)

    def curve(rate: float) -> Point:
        value = target - times_log(successes, rate) - times_log(failures, 1 - rate)
        return Point(value, failures / (1 - rate) - successes / rate)

    value = successes / trials
    depth = times_log(successes, value) + times_log(failures, 1 - value) - target
    reach = sqrt(2 * depth * value * (1 - value) / trials)
    return Estimate(
        value=value,
        lower=crossing(curve, value, 0.0, reach=reach) if successes else 0.0,
        upper=crossing(curve, value, 1.0, reach=reach) if failures else 1.0,
        n=trials,
    )
