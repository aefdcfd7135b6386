"""Check by a judge that a rewriting means the same as its original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Failure
from evenkeel.metrics.judge.prompts import prompts_of

if TYPE_CHECKING:
    from evenkeel.core.budget import CallBudget
    from evenkeel.metrics.judge.client import Judge

MEANING: Final = prompts_of(__package__)["equal_meaning"]

_SAME: Final = 3


class JudgedMeaning:
    """An `EqualMeaning`: only the highest rating counts as the same.

    None if the judge fails, or the budget forbids to ask it.
    """

    def __init__(self, judge: Judge, budget: CallBudget) -> None:
        """Wire it.

        Args:
            judge: Asked once for each text.
            budget: Of these calls.
        """
        self._judge = judge
        self._budget = budget

    async def __call__(self, original: str, rewritten: str) -> bool | None:
        """Return whether both say the same; None if nobody could say."""
        question = MEANING.fill({"ORIGINAL TEXT": original, "REWRITTEN TEXT": rewritten})
        reply = await self._judge.ask(question, budget=self._budget)
        return None if isinstance(reply.outcome, Failure) else reply.outcome.rating == _SAME
