"""The judge as a rater of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metrics.judge.prompts import SIMILARITY
from metrics.similarity.rendering import render

if TYPE_CHECKING:
    from metrics.judge.client import Judge
    from metrics.judge.prompts import Prompt
    from metrics.pair import Pair
    from metrics.similarity.protocol import Rating


class JudgeRater:
    """Asks a judge whether two answers say the same. Sees the answers only, not the prompt."""

    def __init__(self, judge: Judge, prompt: Prompt = SIMILARITY) -> None:
        self._judge = judge
        self._prompt = prompt

    async def rate(self, pair: Pair) -> Rating:
        """The judge's rating, or a `Failure` with one of the reasons of `Judge.ask`."""
        texts = {"REFERENCE ANSWER": render(pair.reference), "CANDIDATE ANSWER": render(pair.candidate)}
        reply = await self._judge.ask(self._prompt.fill(texts))
        return reply.rating()
