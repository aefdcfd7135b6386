"""Whether a rewriting says the same as its original, asked of a judge."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from evenkeel.core.budget import Spend
from evenkeel.core.verdict import Failure
from evenkeel.metrics.judge.prompts import Prompt

if TYPE_CHECKING:
    from evenkeel.metrics.judge.client import Reply
    from evenkeel.metrics.judge.prompts import Question
    from evenkeel.shadow.rewriter.protocol import CallBudget

MEANING: Final = Prompt(
    name="equal_meaning",
    version=1,
    role="You check whether a rewritten text can stand in for the original text, whatever its language.",
    question="""\
Does the rewritten text say, ask and demand the same as the original?

- Look at statements, questions, requests, conditions, negations, and at who does what.
- Wording, tone, politeness, order of clauses and language are no differences; greetings are none either.
- A text that answers or obeys the original instead of restating it does not say the same.""",
    scale="""\
Scale:
3 - The same in every point: whoever gets the rewritten text would do exactly the same.
2 - Nearly: a point is missing, added, weaker, stronger or less clear.
1 - Something else.""",
)

_SAME: Final = 3
_REPLY_TOKENS: Final = 200


class Asker(Protocol):
    """Who answers questions with ratings: the judge's client."""

    async def ask(self, question: Question) -> Reply:
        """The reply; a failure is one too."""
        ...


class JudgedMeaning:
    """An `EqualMeaning`: only the highest rating counts as the same.

    A judge that fails, or may not be paid, could not tell.
    """

    def __init__(self, judge: Asker, purse: CallBudget) -> None:
        """Wire it.

        Args:
            judge: Asked once for each text.
            purse: Pays.
        """
        self._judge = judge
        self._purse = purse

    async def __call__(self, original: str, rewritten: str) -> bool | None:
        """Whether both say the same; None if that could not be told."""
        question = MEANING.fill({"ORIGINAL TEXT": original, "REWRITTEN TEXT": rewritten})
        # As for the rewriter's own calls: a token takes two bytes or more.
        asked = sum(len(one.content.encode("utf-8", "replace")) for one in question.messages) // 2
        estimate = Spend(asked + _REPLY_TOKENS, 0.0)
        if not await asyncio.to_thread(self._purse.reserve, estimate):
            return None
        spent = estimate
        try:
            reply = await self._judge.ask(question)
            spent = Spend(reply.prompt_tokens + reply.completion_tokens, reply.cost_usd)
        finally:
            await asyncio.to_thread(self._purse.settle, estimate, spent)
        return None if isinstance(reply.outcome, Failure) else reply.outcome.rating == _SAME
