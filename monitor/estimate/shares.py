"""A share of counted things with an interval for one look (not a confidence sequence)."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from evenkeel.monitor.estimate.agreement import quantile, resamples

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Share:
    """A share in [0, 1] with its interval; None without anything counted."""

    count: int
    n: int
    value: float | None
    lower: float | None
    upper: float | None


def wilson(count: int, n: int, *, confidence: float = _CONFIDENCE) -> Share:
    """The share `count / n` with its Wilson score interval.

    Returns: 0 ≤ lower ≤ value ≤ upper ≤ 1; all None for n = 0.
    Source: Wilson 1927.
    """
    if n == 0:
        return Share(0, 0, None, None, None)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    value = count / n
    centre = (value + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * sqrt(value * (1 - value) / n + z * z / (4 * n * n))
    # At the ends the formula gives 0 and 1 but for rounding.
    lower = 0.0 if count == 0 else max(0.0, centre - reach)
    upper = 1.0 if count == n else min(1.0, centre + reach)
    return Share(count, n, value, lower, upper)


def cluster_share(clusters: Sequence[tuple[int, int]], *, times: int, rng: Random) -> Share:
    """A share over things that come in clusters, with the percentile bootstrap interval over clusters.

    Args:
        clusters: (counted, size) of each.
        times: resamples.
        rng: draws them.
    """
    count, n = sum(part for part, _ in clusters), sum(size for _, size in clusters)
    if n == 0:
        return Share(0, 0, None, None, None)
    shares = []
    for indices in resamples(len(clusters), times, rng):
        size = sum(clusters[index][1] for index in indices)
        if size:
            shares.append(sum(clusters[index][0] for index in indices) / size)
    shares.sort()
    tail = (1 - _CONFIDENCE) / 2
    ends = (quantile(shares, tail), quantile(shares, 1 - tail)) if shares else (None, None)
    return Share(count, n, count / n, *ends)
