"""Completeness without a judge: how many of the context's details the answer covers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.quality.measurement import EachSide, Measured
from evenkeel.metrics.similarity.details import read_details
from evenkeel.metrics.similarity.statements import hard, read_statements
from evenkeel.metrics.similarity.words import content_words, matched_count

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, Pair

_MANY = 0.4
_SOME = 0.15
_MANY_WORDS = 0.3
_SOME_WORDS = 0.1
"""A summary says in few words what the context says in many, so words count as covered earlier."""


class CompletenessProxy:
    """Share of the context's details that the answer holds, in three bins."""

    name: ClassVar[str] = "completeness_proxy"
    version: ClassVar[int] = 2
    label: ClassVar[str] = "completeness (heuristic stand-in)"

    def __init__(self, *, hard_only: bool = False) -> None:
        """Build the stand-in.

        Args:
            hard_only: Look for numbers, dates, identifiers and addresses only, which need no translation.
        """
        self._hard_only = hard_only

    async def measure(self, pair: Pair) -> Measured:
        """Both ratings; by hard details alone, on both sides, if the variant asks for another language.

        None if it does and the prompt has no such details.
        """
        if pair.wanted.language is None:
            return await EachSide(self).measure(pair)
        if not hard(read_details(pair.context)):
            return Measured(None)
        return await EachSide(CompletenessProxy(hard_only=True)).measure(pair)

    async def rate(self, answer: Answer, context: str) -> Rating:
        """`rate_now` in a thread."""
        return await asyncio.to_thread(self.rate_now, answer, context)

    def rate_now(self, answer: Answer, context: str) -> Rating:
        """Rate how much of the context an answer covers.

        Two answers that hold the same details of the context always get the same rating, however
        they are worded and in whatever format. The context is the whole prompt, its instructions
        included: what matters is that both answers are measured by the same yardstick.

        Returns: 3 = at least 0.4 of the context's details; 2 = at least 0.15; 1 = fewer, or no
            answer at all. A context without details is measured by its content words instead, at
            0.3 and 0.1. A `Failure` "no_context" if the context has no words.
        """
        salient = content_words(context)
        if not salient:
            return Rating(
                Failure(self.name, self.version, "no_context", "The prompt has no text to check against.")
            )
        said, source = read_statements(answer), read_details(context)
        details = hard(source) if self._hard_only else source.details
        if details:
            missing = sorted(detail.text for detail in details if not said.reading.mentions(detail))
            covered = 1 - len(missing) / len(details)
            rating = 3 if covered >= _MANY else 2 if covered >= _SOME else 1
            explanation = f"Left out: {', '.join(missing[:4])}." if missing else "Every detail is covered."
            return Rating(rating, explanation, {"details_covered": covered})
        covered = matched_count(salient, said.words) / len(salient)
        rating = 3 if covered >= _MANY_WORDS else 2 if covered >= _SOME_WORDS else 1
        return Rating(
            rating, "The context has no details; its words are counted.", {"words_covered": covered}
        )
