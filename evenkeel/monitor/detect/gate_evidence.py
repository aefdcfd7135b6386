"""Evidence of the gate about a mean difference, computed from the counts of each difference.

The bets are those of the detector (`evenkeel.monitor.detect.e_detector`), but each runs from the first golden
to the last without a restart, because the candidate does not change. Their mean wealth is a test
supermartingale while the mean difference is at most the threshold, so the chance that it ever reaches 1/alpha
is at most alpha (Ville), however often you look. A wealth does not depend on the
order of the differences, so a count of each is all that has to be kept.

Source: Waudby-Smith, Ramdas 2024, "Estimating means of bounded random variables by betting".
"""

from __future__ import annotations

from math import ceil, exp, log, log1p
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SHARES: Final = (0.25, 0.55, 0.9)
"""Bets as shares of the largest bet that cannot go broke, 1/(1 + threshold).

Fewer than the detector's, because the sizes that matter are known in advance: an excess of a tenth or so,
beside noise of 0 to 20 %. In simulations of such cases eight bets from 0.06 to 0.9 took 3 to 18 % more
goldens, and two bets 30 % more at a noise of 20 %.
"""
# Largest threshold in absolute value at which bounds are looked for: −1 and 1 cannot be bet against.
_END = 1 - 1e-6
# Largest error of a bound; one is looked for after every golden.
_PRECISION = 1e-6
# More clusters than anybody has goldens.
_MOST_NEEDED = 1_000_000


class Bounds(NamedTuple):
    """Bounds of a mean difference that are not ruled out, in [−1, 1]."""

    lower: float
    upper: float


def log_evidence(counts: Mapping[float, float], threshold: float) -> float:
    """Return the natural log of the e-value against "the mean difference is at most `threshold`".

    Args:
        counts: Number of times that each difference in [−1, 1] was seen; need not be whole.
        threshold: Threshold in (−1, 1).
    """
    stakes = [share / (1 + threshold) for share in SHARES]
    wealths = []
    for stake in stakes:
        wealths.append(
            sum(count * log1p(stake * (difference - threshold)) for difference, count in counts.items())
        )
    most = max(wealths)
    return most + log(sum(exp(wealth - most) for wealth in wealths) / len(stakes))


def mirrored(counts: Mapping[float, float]) -> dict[float, float]:
    """Return the counts with the signs of all differences reversed."""
    return {-difference: count for difference, count in counts.items()}


def bounds(counts: Mapping[float, float], alpha: float, beta: float) -> Bounds:
    """Return the mean differences that the evidence does not rule out.

    Each side is a confidence sequence: the lower bound ever exceeds the truth with probability at most
    `alpha`, the upper ever falls below it with at most `beta`. A bound is on the far side of a threshold
    exactly if the evidence against that threshold has reached 1/alpha or 1/beta.

    Returns: (−1, 1) without differences.
    """
    return Bounds(_lower(counts, alpha), -_lower(mirrored(counts), beta))


def needed(counts: Mapping[float, float], threshold: float, alpha: float) -> int | None:
    """Return the number of differences that rule out "at most `threshold`" at the proportions seen so far.

    Returns: the number counted from the start, or None if such evidence never grows (or not within a
        million differences).
    """
    n = sum(counts.values())
    if not n:
        return None
    goal = log(1 / alpha)

    def reached(number: float) -> bool:
        scaled = {}
        for difference, count in counts.items():
            scaled[difference] = count * number / n
        return log_evidence(scaled, threshold) >= goal

    if not reached(_MOST_NEEDED):
        return None
    boundary = _boundary(lambda number: not reached(number), 0.0, float(_MOST_NEEDED), _NUMBER_PRECISION)
    # Without the error of the bisection, so that an exact whole number is not rounded up.
    return ceil(boundary - _NUMBER_PRECISION)


# Largest error of a number of differences.
_NUMBER_PRECISION = 1e-5


def _lower(counts: Mapping[float, float], alpha: float) -> float:
    if not counts:
        return -1.0
    goal = log(1 / alpha)
    # A wealth falls with the threshold, so what is ruled out is everything up to one place.
    if log_evidence(counts, -_END) < goal:
        return -1.0
    return _boundary(lambda threshold: log_evidence(counts, threshold) >= goal, -_END, _END, _PRECISION)


def _boundary(holds: Callable[[float], bool], inside: float, outside: float, precision: float) -> float:
    """Return the end of the range where a property holds; it holds at `inside` and at the result."""
    while outside - inside > precision:
        middle = (inside + outside) / 2
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside
