"""Pairwise judges: how often they are right, and how often the order of the answers decides."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.monitor.estimate.shares import Share, cluster_share, wilson

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from evenkeel.experiments.judge_audit.pairs import PairCase, Preference


@dataclass(frozen=True, slots=True)
class PairwiseReport:
    """One pairwise judge."""

    judge: str
    pairs: int
    accuracy: Share
    """Share of rulings, over both orders, that name the answer people preferred. Its interval is
    drawn over pairs, because the two rulings about one pair are not independent."""
    swap_consistency: Share
    """Share of pairs with the same preference in both orders."""
    right_both_ways: Share
    """Share of pairs with the right preference in both orders."""
    first_shown: Share
    """Share of rulings for the answer that was shown first; 0.5 without a liking for a place."""
    failures: dict[str, int] = field(default_factory=dict)
    """Rulings that are none, by reason."""


def pairwise_report(
    judge: str, cases: Sequence[PairCase], preferences: Sequence[Preference], *, times: int, rng: Random
) -> PairwiseReport:
    """Count one judge's preferences against the labels.

    A ruling that failed is neither right nor wrong: it is in `failures` only, and its pair is left out of
    the consistency.

    Args:
        judge: its name.
        cases: the pairs.
        preferences: one per pair.
        times: resamples for the intervals of accuracy and place.
        rng: draws them.
    """
    right: list[tuple[int, int]] = []
    first: list[tuple[int, int]] = []
    failures: Counter[str] = Counter()
    consistent = both_right = both = 0
    for case, preference in zip(cases, preferences, strict=True):
        sides = (preference.in_order, preference.swapped)
        failures.update(side.reason for side in sides if isinstance(side, Failure))
        given = [(place, side) for place, side in enumerate(sides, start=1) if not isinstance(side, Failure)]
        right.append((sum(side == case.label for _, side in given), len(given)))
        # In order, answer 1 is shown first; swapped, answer 2 is.
        first.append((sum(side == place for place, side in given), len(given)))
        if len(given) == len(sides):
            both += 1
            consistent += sides[0] == sides[1]
            both_right += sides[0] == sides[1] == case.label
    return PairwiseReport(
        judge=judge,
        pairs=len(cases),
        accuracy=cluster_share(right, times=times, rng=rng),
        swap_consistency=wilson(consistent, both),
        right_both_ways=wilson(both_right, both),
        first_shown=cluster_share(first, times=times, rng=rng),
        failures=dict(sorted(failures.items())),
    )
