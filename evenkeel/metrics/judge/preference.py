"""Preference of a judge between two answers to one request; it does not know which model gave which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.verdict import Failure
from evenkeel.metrics.judge.prompts import PREFERENCE
from evenkeel.metrics.judge.raters import Asking, relabelled, swaps
from evenkeel.metrics.judge.rendering import render

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair
    from evenkeel.metrics.judge.client import Judge

# Step of the scale between "the first is better" and "the second is better".
_AS_GOOD: Final = 2
# Each order is shown for half of the pairs, so a liking for the first place cancels out.
_HALF: Final = 0.5


class Preference(NamedTuple):
    """Place of the candidate's answer against the reference."""

    place: int | None
    """−1 worse, 0 as good, 1 better; None if the judge gave none."""
    reason: str = ""
    """The judge's reason, in which "the first" is the reference; or the reason of a failure."""


class PreferenceJudge(Asking):
    """Asks a judge which of two answers serves the user better, in an order that is drawn."""

    labels = ("REQUEST", "FIRST ANSWER", "SECOND ANSWER")

    def __init__(self, judge: Judge) -> None:
        """Build it; nothing is sent."""
        super().__init__(judge, PREFERENCE)

    async def prefer(self, pair: Pair) -> Preference:
        """Return the place of a pair's candidate, asked in the order that a hash of both texts draws."""
        return await self._asked(pair, swapped=swaps(self._texts(pair), _HALF))

    async def prefer_other_order(self, pair: Pair) -> Preference:
        """Return the same, asked in the order that `prefer` did not take."""
        return await self._asked(pair, swapped=not swaps(self._texts(pair), _HALF))

    @staticmethod
    def _texts(pair: Pair) -> tuple[str, str]:
        return render(pair.reference), render(pair.candidate)

    async def _asked(self, pair: Pair, *, swapped: bool) -> Preference:
        first, second = self._texts(pair)[::-1] if swapped else self._texts(pair)
        reply = await self._judge.ask(self._question((pair.context, first, second)))
        ruling = reply.outcome
        if isinstance(ruling, Failure):
            return Preference(None, ruling.reason)
        preference = ruling.rating - _AS_GOOD
        return Preference(
            -preference if swapped else preference,
            relabelled(ruling.explanation) if swapped else ruling.explanation,
        )
