"""The judge as a quality metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.metrics.judge.prompts import prompt_tokens_at_most
from evenkeel.metrics.judge.votes import Vote, check_votes, decide, poll
from evenkeel.metrics.similarity.rendering import render

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer
    from evenkeel.llm.price import Expense
    from evenkeel.metrics.judge.client import Judge
    from evenkeel.metrics.judge.prompts import Prompt
    from evenkeel.metrics.similarity.protocol import Rating

_LABELS = ("REQUEST", "ANSWER")


class JudgedQuality:
    """Asks a judge for one quality of one answer. It never sees the other answer of the pair."""

    def __init__(self, judge: Judge, prompt: Prompt, *, votes: int = 1) -> None:
        """Build the metric; nothing is sent.

        Args:
            judge: Whom to ask.
            prompt: What to ask, e.g. of `prompts.rubric_prompt`.
            votes: Calls for one rating; odd. See `votes.decide`.

        Raises: ValueError for an even number of votes.
        """
        self._judge = judge
        self._prompt = prompt
        self._votes = check_votes(votes)

    @property
    def name(self) -> str:
        """Name of the prompt, e.g. "faithfulness"."""
        return self._prompt.name

    @property
    def version(self) -> int:
        """Version of the prompt."""
        return self._prompt.version

    @property
    def prompt_version(self) -> str:
        """Name and version of the wording, e.g. "faithfulness@1"; also on every rating."""
        return self._prompt.prompt_version

    def estimate(self, texts_chars: int) -> Expense:
        """Upper estimate of what rating one answer costs, all votes together.

        Args:
            texts_chars: Characters of the request and the answer together.
        """
        prompt_tokens = prompt_tokens_at_most(self._prompt, _LABELS, texts_chars)
        return self._judge.expense(prompt_tokens, calls=self._votes)

    async def rate(self, answer: Answer, context: str, *, fresh: bool = False) -> Rating:
        """The judge's rating of the answer against its request.

        Args:
            answer: What is rated.
            context: The request it answers.
            fresh: Ask whatever the judge remembers, and do not remember the reply.

        Returns: a rating, or a `Failure` with one of the reasons of `Judge.ask` or `votes.decide`.
        """
        question = self._prompt.fill(dict(zip(_LABELS, (context, render(answer)), strict=True)))

        async def cast(number: int) -> Vote:
            return Vote(await self._judge.ask(question, vote=number, fresh=fresh))

        return decide(await poll(cast, self._votes), self._votes, self._prompt)
