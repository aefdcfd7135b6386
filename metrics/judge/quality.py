"""The judge as a quality metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metrics.judge.prompts import COMPLETENESS, FAITHFULNESS
from metrics.similarity.rendering import render

if TYPE_CHECKING:
    from metrics.judge.client import Judge
    from metrics.judge.prompts import Prompt
    from metrics.pair import Answer
    from metrics.similarity.protocol import Rating


class JudgedQuality:
    """Asks a judge for one quality of one answer. It never sees the other answer of the pair."""

    def __init__(self, judge: Judge, prompt: Prompt) -> None:
        self._judge = judge
        self._prompt = prompt

    @property
    def name(self) -> str:
        """Name of the prompt, e.g. "faithfulness"."""
        return self._prompt.name

    @property
    def version(self) -> int:
        """Version of the prompt."""
        return self._prompt.version

    async def rate(self, answer: Answer, context: str) -> Rating:
        """The judge's rating of the answer against its request, or a `Failure` as of `Judge.ask`."""
        reply = await self._judge.ask(self._prompt.fill({"REQUEST": context, "ANSWER": render(answer)}))
        return reply.rating()


def faithfulness(judge: Judge) -> JudgedQuality:
    """Is everything the answer says supported by its request."""
    return JudgedQuality(judge, FAITHFULNESS)


def completeness(judge: Judge) -> JudgedQuality:
    """Does the answer hold what matters in its request."""
    return JudgedQuality(judge, COMPLETENESS)
