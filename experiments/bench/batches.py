"""The first issues in batches: how many show well enough what the whole run will cost."""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.experiments.bench.items import Item

_BATCH_SHARE: Final = 0.05
"""Of the issues that are put together while it is found out what calls cost."""
_BATCH_LEAST: Final = 2
_FEWEST_BATCHES: Final = 3
_GOOD_TO: Final = 0.1
"""Costs of the whole run are known well enough if they are to a tenth, at 95 %."""
_TWO_SIDED: Final = 1.96


def batches_of(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Issues in batches of 5 %, of two at least."""
    size = max(_BATCH_LEAST, math.ceil(_BATCH_SHARE * len(items)))
    return [items[start : start + size] for start in range(0, len(items), size)]


def settled(ratios: Sequence[float], done: float) -> bool:
    """Whether the costs of the batches so far, held against the rule of thumb, tell those of the whole run.

    Args:
        ratios: Of each batch, what it cost over what the rule of thumb said.
        done: Share of the issues in them, in [0, 1].
    """
    return len(ratios) >= _FEWEST_BATCHES and margin(ratios, done) <= _GOOD_TO


def margin(ratios: Sequence[float], done: float) -> float:
    """How far off an estimate of the whole run may be, as a share of it, at 95 %.

    A single batch shows no spread: the share that is still to come stands for it.
    """
    mean = fmean(ratios)
    if len(ratios) == 1 or not mean:
        return 1 - done
    return _TWO_SIDED * stdev(ratios) / math.sqrt(len(ratios)) * (1 - done) / mean
