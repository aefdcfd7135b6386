"""A judge a few of whose ratings are made again: once as they were, once with the sides swapped."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import draw
from evenkeel.core.verdict import JUDGED_AGAIN, JUDGED_SWAPPED, Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.pair import Pair
    from evenkeel.metrics.protocol import Rater, Rating

_PURPOSE: Final = "judge_noise"


class JudgeNoise:
    """Rates as its judge does, and measures on a share of the pairs how steady that judge is.

    The rating is always the first one, so sampling changes no verdict, only its price: each sampled
    pair costs three calls. Which pairs are sampled follows from their content, not from their
    rating. The second and third rating are in the details; one that failed is absent there and
    counted by `count`, never taken for a change.
    """

    def __init__(
        self,
        judge: Rater,
        *,
        fresh: Rater,
        share: float = 0.02,
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Watch a judge.

        Args:
            judge: Gives the ratings.
            fresh: The same judge with the same prompt, model and votes, but past any cache and
                without sides swapped at random: a cached second rating would show no noise at all.
            share: Of the pairs judged, in [0, 1].
            count: Called with "again" and "swapped" for every rating made again, and with "failed_<reason>".

        Raises:
            ValueError: The share is outside [0, 1].
        """
        if not 0 <= share <= 1:
            raise ValueError(f"share must be in [0, 1], not {share}")
        self._judge = judge
        self._fresh = fresh
        self._share = share
        self._count = count

    async def rate(self, pair: Pair) -> Rating:
        """The judge's rating; details, tokens and cost include what was judged again."""
        rated = await self._judge.rate(pair)
        if isinstance(rated.outcome, Failure) or draw(pair, _PURPOSE) >= self._share:
            return rated
        again = await self._fresh.rate(pair)
        swapped = await self._fresh.rate(replace(pair, reference=pair.candidate, candidate=pair.reference))
        details = dict(rated.details)
        for kind, name, repeated in (("again", JUDGED_AGAIN, again), ("swapped", JUDGED_SWAPPED, swapped)):
            if isinstance(repeated.outcome, Failure):
                self._count(f"failed_{repeated.outcome.reason}")
            else:
                self._count(kind)
                details[name] = float(repeated.outcome)
        return replace(
            rated,
            details=details,
            tokens=rated.tokens + again.tokens + swapped.tokens,
            cost_usd=rated.cost_usd + again.cost_usd + swapped.cost_usd,
        )
