"""Faithfulness and completeness without a judge: details of the answer against those of the prompt."""

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


_ON_TOPIC = 0.25
"""Below this share of content words found in the context, the answer is about something else."""
_GROUNDED_WORDS = 0.5
"""Share that stands in for details where the answer has none."""
_ALL_DETAILS = 0.9
_MOST_DETAILS = 0.5


class _Grounding:
    """A stand-in that holds the details of an answer against those of the prompt."""

    name: ClassVar[str]
    version: ClassVar[int]
    label: ClassVar[str]

    def __init__(self, *, hard_only: bool = False) -> None:
        """Build the stand-in.

        Args:
            hard_only: Look at numbers, dates, identifiers and addresses only, which need no translation.
        """
        self._hard_only = hard_only

    async def measure(self, pair: Pair) -> Measured:
        """Both ratings; by hard details alone, on both sides, if the variant asks for another language."""
        metric = self if pair.wanted.language is None else type(self)(hard_only=True)
        return await EachSide(metric).measure(pair)

    async def rate(self, answer: Answer, context: str) -> Rating:
        """`rate_now` in a thread."""
        return await asyncio.to_thread(self.rate_now, answer, context)

    def rate_now(self, answer: Answer, context: str) -> Rating:
        """Rate an answer against its context."""
        raise NotImplementedError

    def _no_context(self) -> Rating:
        detail = "The prompt has no text to check against."
        return Rating(Failure(self.name, self.version, "no_context", detail))


class FaithfulnessProxy(_Grounding):
    """Share of the answer's details that the context supports, in three bins."""

    name: ClassVar[str] = "faithfulness_proxy"
    version: ClassVar[int] = 2
    label: ClassVar[str] = "faithfulness (heuristic stand-in)"

    def rate_now(self, answer: Answer, context: str) -> Rating:
        """Rate how well an answer is grounded in its context.

        Only details decide (numbers, identifiers, names …), so that rewording and typos do not;
        leaving something out does not lower the rating, nor does the format of the answer. Words are
        only asked whether the answer is on the topic at all.

        Returns: 3 = at least nine in ten details are in the context; 2 = at least half; 1 = fewer,
            or under a quarter of the content words is. Without details 3 or 2 by whether half of
            the words are. An answer without words claims nothing: 3; so does, if only hard details are
            looked at, one without any. A `Failure` "no_context" if the context has no words.
        """
        if not content_words(context):
            return self._no_context()
        said, source = read_statements(answer), read_details(context)
        details = said.details(hard_only=self._hard_only)
        if not said.words or (self._hard_only and not details):
            return Rating(3, "The answer makes no claim that can be checked.")
        scores: dict[str, float] = {}
        if not self._hard_only:
            on_topic = scores["words_supported"] = matched_count(said.words, source.content) / len(said.words)
            if on_topic < _ON_TOPIC:
                return Rating(1, "The answer is not about the context.", scores)
            if not details:
                return Rating(3 if on_topic >= _GROUNDED_WORDS else 2, "No details.", scores)
        unsupported = sorted(detail.text for detail in details if not source.mentions(detail))
        support = scores["details_supported"] = 1 - len(unsupported) / len(details)
        rating = 3 if support >= _ALL_DETAILS else 2 if support >= _MOST_DETAILS else 1
        explanation = (
            f"Not in the context: {', '.join(unsupported[:4])}."
            if unsupported
            else "Every detail is in the context."
        )
        return Rating(rating, explanation, scores)


_MANY = 0.4
_SOME = 0.15
_MANY_WORDS = 0.3
_SOME_WORDS = 0.1
"""A summary says in few words what the context says in many, so words count as covered earlier."""


class CompletenessProxy(_Grounding):
    """Share of the context's details that the answer holds, in three bins."""

    name: ClassVar[str] = "completeness_proxy"
    version: ClassVar[int] = 2
    label: ClassVar[str] = "completeness (heuristic stand-in)"

    async def measure(self, pair: Pair) -> Measured:
        """Both ratings; None if the variant asks for another language and the prompt has no hard details."""
        if pair.wanted.language is not None and not hard(read_details(pair.context)):
            return Measured(None)
        return await super().measure(pair)

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
            return self._no_context()
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
