"""A few prompts out of many that differ from each other as far as they can."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

_UNIT = 1_000_000
NEAR = 0.2
"""Prompts closer than this to one that is chosen already add nothing."""
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
"""Scripts that put no spaces between words count each character as one."""


def spread(texts: Sequence[str], count: int, rng: Random) -> list[int]:
    """Places of up to `count` texts, chosen greedily: each the farthest from those chosen before.

    Distance is 1 − the weighted Jaccard index of the pairs of neighbouring words, each weighed by the
    logarithm of how rare it is among the texts: a template that all of them share tells nothing. The first
    is drawn; of equally far ones the first in order is taken. Near-duplicates are left out, so that fewer
    may come back.

    Source: Gonzalez 1985 (farthest-first traversal), Broder 1997 (shingles), Spärck Jones 1972 (weights).
    """
    if not texts or count < 1:
        return []
    sets = [_pairs(text) for text in texts]
    holders: dict[str, list[int]] = {}
    for place, one in enumerate(sets):
        for pair in one:
            holders.setdefault(pair, []).append(place)
    # Whole numbers, so that the order of a set, which differs from run to run, is nothing to a sum.
    weights = {pair: round(_UNIT * math.log(len(sets) / len(held))) for pair, held in holders.items()}
    sizes = [sum(weights[pair] for pair in one) for one in sets]

    def distances(place: int) -> list[float]:
        shared = [0] * len(sets)
        for pair in sets[place]:
            if weight := weights[pair]:
                for other in holders[pair]:
                    shared[other] += weight
        either = (sizes[place] + size - both for size, both in zip(sizes, shared, strict=True))
        return [1 - both / all_ if all_ else 0.0 for both, all_ in zip(shared, either, strict=True)]

    chosen = [rng.randrange(len(texts))]
    nearest = distances(chosen[0])
    while len(chosen) < count:
        place = max(range(len(texts)), key=lambda index: (nearest[index], -index))
        if nearest[place] < NEAR:
            break
        chosen.append(place)
        nearest = [min(known, new) for known, new in zip(nearest, distances(place), strict=True)]
    return chosen


def _pairs(text: str) -> frozenset[str]:
    words = _WORD.findall(text.casefold())
    return frozenset(words[:1]) | {f"{one} {two}" for one, two in pairwise(words)}
