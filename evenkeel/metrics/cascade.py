"""Identical and empty answers by rule, everything else by the judge."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenkeel.core.verdict import DECIDED_BY, STAGES, Failure
from evenkeel.metrics.heuristic import CROSS_LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.metrics.heuristic import HeuristicRater
    from evenkeel.metrics.protocol import Rater, Rating


class CascadeRater:
    """Rater that asks a judge only about pairs that need one, and measures the similarity of all."""

    name = "cascade"
    version = 3

    def __init__(self, heuristic: HeuristicRater, judge: Rater) -> None:
        """Put a cascade together.

        Args:
            heuristic: Rates identical and empty answers, and measures similarity.
            judge: Rates all others.
        """
        self._heuristic = heuristic
        self._judge = judge

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """Return the ratings in order. The judge is asked once about all pairs that need it.

        Returns: for each pair a `Rating` whose details hold the scores behind its similarity, those of the
            judge's rating, and `DECIDED_BY`. A `Failure` "no_text" if neither side has text or a tool call,
            else those of the judge.
        """
        ratings = await self._heuristic.rate_all(pairs)
        places = [place for place, rating in enumerate(ratings) if _needs_judge(rating)]
        judged = await self._judge.rate_all([pairs[place] for place in places]) if places else []
        for place, rating in zip(places, judged, strict=True):
            if rating.outcome is not None:  # a judge on this machine may be unsure, too
                ratings[place] = _combined(ratings[place], rating)
        return ratings


def _needs_judge(heuristic: Rating) -> bool:
    if isinstance(heuristic.outcome, Failure):
        return heuristic.outcome.reason == CROSS_LANGUAGE
    return heuristic.outcome is None


def _combined(heuristic: Rating, judged: Rating) -> Rating:
    """Return the judge's rating with the similarity, and the price of both: embeddings may cost something."""
    return replace(
        judged,
        details=heuristic.details | judged.details | {DECIDED_BY: float(STAGES.index("judge"))},
        similarity=heuristic.similarity,
        tokens=heuristic.tokens + judged.tokens,
        cost_usd=heuristic.cost_usd + judged.cost_usd,
    )
