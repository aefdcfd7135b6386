"""The second stage of the score: all qualities of a pair at once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure, QualityScore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.pair import Pair
    from evenkeel.metrics.quality.protocol import PairQuality


@dataclass(frozen=True, slots=True)
class Qualities:
    """What became of the qualities of one pair."""

    scores: tuple[QualityScore, ...]
    """In the order of the qualities; those with nothing to say are left out."""
    failures: tuple[Failure, ...]
    tokens: int
    cost_usd: float


async def measure_all(measures: Iterable[PairQuality], pair: Pair) -> Qualities:
    """Measure every quality of a pair whose content has shifted.

    All are asked at once: a judge limits its own concurrency. One that fails is a failure beside the
    scores of the others. Tokens and cost cover every call made.
    """
    given = await asyncio.gather(*(quality.measure(pair) for quality in measures))
    outcomes = [one.outcome for one in given]
    return Qualities(
        tuple(outcome for outcome in outcomes if isinstance(outcome, QualityScore)),
        tuple(outcome for outcome in outcomes if isinstance(outcome, Failure)),
        sum(one.tokens for one in given),
        sum(one.cost_usd for one in given),
    )
