"""Overlap of the words that carry content, whatever their order and spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.identity import is_empty
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.words import content_words, matched_count

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair


class ContentWords:
    """F1 over distinct content words, typos forgiven."""

    name: ClassVar[str] = "content_words"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("lexical", akin="vocabulary", languages=("en",))

    def score(self, pair: Pair) -> float | Failure:
        """Share of the two vocabularies that both answers use, function words left out.

        Returns: ratio in [0, 1]; 1 = the same content words, also if neither side has any;
            0 = none in common. A `Failure` "no_text" if neither side has text or a tool call.
        Source: Dice coefficient of the vocabularies; words match by stem, or within the typos of
            `evenkeel.metrics.similarity.words.same_word`.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return word_overlap(pair.reference.text, pair.candidate.text)


def word_overlap(reference: str, candidate: str) -> float:
    """Return the Dice coefficient of the content words of two texts, in [0, 1]."""
    left, right = content_words(reference), content_words(candidate)
    if not left and not right:
        return 1.0
    return (matched_count(left, right) + matched_count(right, left)) / (len(left) + len(right))
