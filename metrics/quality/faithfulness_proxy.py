"""Faithfulness without a judge: is what the answer says found in the context."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from metrics.similarity.details import read_details
from metrics.similarity.protocol import Rating
from metrics.similarity.rendering import claims
from metrics.similarity.words import content_words, matched_count
from metrics.verdict import Failure

if TYPE_CHECKING:
    from metrics.pair import Answer

_ON_TOPIC = 0.25
"""Below this share of content words found in the context, the answer is about something else."""
_GROUNDED_WORDS = 0.5
"""Share that stands in for details where the answer has none."""
_ALL_DETAILS = 0.9
_MOST_DETAILS = 0.5


class FaithfulnessProxy:
    """Share of the answer's details that the context supports, in three bins."""

    name: ClassVar[str] = "faithfulness_proxy"
    version: ClassVar[int] = 1

    async def rate(self, answer: Answer, context: str) -> Rating:
        """`rate_now` in a thread."""
        return await asyncio.to_thread(self.rate_now, answer, context)

    def rate_now(self, answer: Answer, context: str) -> Rating:
        """Rate how well an answer is grounded in its context.

        Only details decide (numbers, identifiers, names …), so that rewording and typos do not;
        leaving something out does not lower the rating. Words are only asked whether the answer is
        on the topic at all.

        Returns: 3 = at least nine in ten details are in the context; 2 = at least half; 1 = fewer,
            or under a quarter of the content words is. Without details 3 or 2 by whether half of
            the words are. An answer without words claims nothing: 3. A `Failure` "no_context" if
            the context has no words.
        """
        if not content_words(context):
            return Rating(
                Failure(self.name, self.version, "no_context", "The prompt has no text to check against.")
            )
        text = claims(answer)
        spoken = content_words(text)
        if not spoken:
            return Rating(3, "The answer makes no claim.")
        reading, source = read_details(text), read_details(context)
        on_topic = matched_count(spoken, source.content) / len(spoken)
        if on_topic < _ON_TOPIC:
            return Rating(1, "The answer is not about the context.", {"words_supported": on_topic})
        if not reading.details:
            return Rating(
                3 if on_topic >= _GROUNDED_WORDS else 2, "No details.", {"words_supported": on_topic}
            )
        unsupported = sorted(detail.text for detail in reading.details if not source.mentions(detail))
        support = 1 - len(unsupported) / len(reading.details)
        rating = 3 if support >= _ALL_DETAILS else 2 if support >= _MOST_DETAILS else 1
        told = (
            f"Not in the context: {', '.join(unsupported[:4])}."
            if unsupported
            else "Every detail is in the context."
        )
        return Rating(rating, told, {"details_supported": support, "words_supported": on_topic})
