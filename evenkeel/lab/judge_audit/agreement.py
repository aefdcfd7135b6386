"""Agreement of raters, and shares with an interval for one look (not a confidence sequence).

Krippendorff's alpha is for ordinal or interval ratings, with a bootstrap interval over the items, or over
clusters of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING, Literal

from evenkeel.core.verdict import Failure
from evenkeel.monitor.labels import Share

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from random import Random


METRIC = "krippendorff_alpha"
VERSION = 1

Unit = tuple[tuple[float, int], ...]
"""Ratings of one item in ascending order, each with its number of occurrences."""

Level = Literal["ordinal", "interval"]
"""Level of measurement. Ordinal ratings (steps of a scale) differ by the ratings between them, interval
ratings (decimals) by their distance."""

_CONFIDENCE = 0.95
# Share of the resamples that must have an alpha for there to be an interval.
_FEWEST_RESAMPLES = 0.5


@dataclass(frozen=True, slots=True)
class RaterAgreement:
    """Krippendorff's alpha in [−1, 1]: 1 = perfect agreement, 0 = chance, below 0 = systematic disagreement.

    With more than two complete raters it cannot get near −1: four reach about −1/3.
    """

    value: float
    lower: float | None
    """Ends of the 95 % interval; None if too few resamples had any variation, or none was asked for."""
    upper: float | None
    items: int
    """Items with at least two ratings; others say nothing about agreement."""


def unit(ratings: Iterable[float | None]) -> Unit:
    """Return the ratings of one item as a unit; who gave which does not matter."""
    return tuple(sorted(Counter(rating for rating in ratings if rating is not None).items()))


def krippendorff_alpha(units: Sequence[Unit], level: Level = "ordinal") -> float | Failure:
    """Krippendorff's alpha with the ordinal or the interval difference function.

    1 − observed / expected disagreement over all pairs of ratings of the same item. Items with fewer
    than two ratings are left out; raters may miss items.

    Returns: a number ≤ 1, or a failure: "too_few_ratings" if no item has two ratings, "no_variation" if all
    ratings are the same, where agreement and chance are indistinguishable.
    Source: Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"; agrees with the
    krippendorff package to 1e-9.
    """
    return _alpha(Counter(units), level)


def agreement(
    units: Sequence[Unit],
    resamples: Sequence[Sequence[int]] = (),
    *,
    level: Level = "ordinal",
) -> RaterAgreement | Failure:
    """Return alpha with the percentile bootstrap interval over items.

    Args:
        units: one per item.
        resamples: item indices, drawn with replacement; see `resamples`. The same for every alpha of
            the same items, so that their differences are not blurred by the drawing. None: no interval.
        level: level of measurement of the ratings.
    """
    value = krippendorff_alpha(units, level)
    if isinstance(value, Failure):
        return value
    items = sum(1 for each in units if _size(each) > 1)
    # Counting small numbers instead of units makes this three times as fast.
    distinct = sorted(set(units))
    codes = [distinct.index(each) for each in units]
    drawn = []
    for indices in resamples:
        drawn.append(
            _alpha(
                {distinct[code]: count for code, count in Counter(map(codes.__getitem__, indices)).items()},
                level,
            )
        )
    alphas = sorted(alpha for alpha in drawn if not isinstance(alpha, Failure))
    if not alphas or len(alphas) < _FEWEST_RESAMPLES * len(resamples):
        return RaterAgreement(value, None, None, items)
    tail = (1 - _CONFIDENCE) / 2
    return RaterAgreement(value, quantile(alphas, tail), quantile(alphas, 1 - tail), items)


def quantile(ascending: Sequence[float], share: float) -> float:
    """Return the value below which a share of the numbers lies; interpolates between neighbours."""
    position = share * (len(ascending) - 1)
    below = int(position)
    above = min(below + 1, len(ascending) - 1)
    return ascending[below] + (position - below) * (ascending[above] - ascending[below])


def _size(ratings: Unit) -> int:
    return sum(count for _, count in ratings)


def _alpha(weights: Mapping[Unit, int], level: Level) -> float | Failure:
    """Return alpha of distinct units and how often each occurs."""
    totals: Counter[float] = Counter()
    together: dict[tuple[float, float], float] = {}
    # In order, so that the sum's rounding does not depend on the order of the items.
    for ratings, weight in sorted(weights.items()):
        size = _size(ratings)
        if size < 2:  # noqa: PLR2004 - a pair
            continue
        for index, (rating, count) in enumerate(ratings):
            totals[rating] += weight * count
            for other, other_count in ratings[index + 1 :]:
                pair = (rating, other)
                share = weight * count * other_count / (size - 1)
                together[pair] = together.get(pair, 0.0) + share
    if not totals:
        return Failure(METRIC, VERSION, "too_few_ratings", "No item has two ratings.")
    if len(totals) == 1:
        return Failure(METRIC, VERSION, "no_variation", "All ratings are the same.")
    values = sorted(totals)
    # Interval ratings are their own places; ordinal ones get theirs below.
    ranks, passed = dict(zip(values, values, strict=True)), 0.0
    for value in values:
        if level == "ordinal":
            # The distance is the ratings from one value to the other, the two ends counted half.
            ranks[value] = passed + totals[value] / 2
        passed += totals[value]
    observed = sum(share * (ranks[value] - ranks[other]) ** 2 for (value, other), share in together.items())
    expected = 0.0
    for value, other in combinations(values, 2):
        expected += totals[value] * totals[other] * (ranks[value] - ranks[other]) ** 2
    return 1 - (passed - 1) * observed / expected


def resamples(
    items: int, times: int, rng: Random, *, clusters: Sequence[Hashable] | None = None
) -> list[list[int]]:
    """Draw `times` samples of item indices with replacement, for `agreement`.

    Args:
        items: how many there are.
        times: draws.
        rng: draws them.
        clusters: of each item, which one it belongs to: whole clusters are drawn, as many as there are. None
            = each item is one of its own.
    """
    groups: dict[Hashable, list[int]] = {}
    for index in range(items):
        groups.setdefault(index if clusters is None else clusters[index], []).append(index)
    drawn_from = list(groups.values())
    samples = []
    # Whole clusters are drawn, since items of one cluster are alike.
    for _ in range(times if items else 0):
        samples.append(list(chain.from_iterable(rng.choices(drawn_from, k=len(drawn_from)))))
    return samples


def cluster_share(clusters: Sequence[tuple[int, int]], *, times: int, rng: Random) -> Share:
    """Return a share over clustered items, with the percentile bootstrap interval over the clusters.

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
        # A resample of empty clusters has no share.
        if size:
            shares.append(sum(clusters[index][0] for index in indices) / size)
    shares.sort()
    tail = (1 - _CONFIDENCE) / 2
    ends = (quantile(shares, tail), quantile(shares, 1 - tail)) if shares else (None, None)
    return Share(count, n, count / n, *ends)
