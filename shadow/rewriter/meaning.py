"""Whether a rewriting says the same as its original, asked of a judge."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from evenkeel.core.budget import Spend
from evenkeel.core.verdict import Failure
from evenkeel.llm.price import tokens_at_most
from evenkeel.metrics.judge.prompts import prompts_of

if TYPE_CHECKING:
    from evenkeel.core.budget import CallBudget
    from evenkeel.metrics.judge.prompts import Question
    from evenkeel.metrics.judge.reply import Reply

MEANING: Final = prompts_of(__package__)["equal_meaning"]

_SAME: Final = 3
_REPLY_TOKENS: Final = 200


class Asker(Protocol):
    """Who answers questions with ratings: the judge's client."""

    async def ask(self, question: Question) -> Reply:
        """The reply; a failure is one too."""
        ...


class JudgedMeaning:
    """An `EqualMeaning`: only the highest rating counts as the same.

    None if the judge fails, or the budget forbids to ask it.
    """

    def __init__(self, judge: Asker, budget: CallBudget) -> None:
        """Wire it.

        Args:
            judge: Asked once for each text.
            budget: Of these calls.
        """
        self._judge = judge
        self._budget = budget

    async def __call__(self, original: str, rewritten: str) -> bool | None:
        """Whether both say the same; None if nobody could say."""
        question = MEANING.fill({"ORIGINAL TEXT": original, "REWRITTEN TEXT": rewritten})
        asked = tokens_at_most(one.content for one in question.messages)
        estimate = Spend(asked + _REPLY_TOKENS, 0.0)
        if not await asyncio.to_thread(self._budget.reserve, estimate):
            return None
        spent = estimate
        try:
            reply = await self._judge.ask(question)
            spent = Spend(reply.prompt_tokens + reply.completion_tokens, reply.cost_usd)
        finally:
            await asyncio.to_thread(self._budget.settle, estimate, spent)
        return None if isinstance(reply.outcome, Failure) else reply.outcome.rating == _SAME
