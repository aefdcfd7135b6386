"""Edit similarity: how many letters two texts share in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.similarity.normalised import is_empty
from evenkeel.metrics.similarity.unlocked import indel_similarity
from evenkeel.metrics.similarity.words import words

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair


class EditSimilarity:
    """Letters and digits kept in order. A typo or a lost space costs a letter, not a word."""

    name: ClassVar[str] = "edit"
    version: ClassVar[int] = 1

    def score(self, pair: Pair) -> float | Failure:
        """One minus the normalised insertion-deletion distance of the two texts' letters.

        Case, spaces and punctuation are ignored. Unrelated English texts reach about 0.5, so only
        values near 1 mean anything.

        Returns: ratio in [0, 1]; 1 = the same letters in the same order, also if neither side has
            any; 0 = one side has none. A `Failure` "no_text" if neither side has text or a tool call.
        Source: 1 − (|a| + |b| − 2·LCS) / (|a| + |b|), by rapidfuzz.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return edit_similarity(pair.reference.text, pair.candidate.text)


_LETTERS = 50_000
"""The cost grows with the product of the lengths; answers beyond this are compared up to here."""


def edit_similarity(reference: str, candidate: str) -> float:
    """Share of letters and digits kept in order, in [0, 1], over the first 50,000 of each text."""
    left, right = ("".join(words(text))[:_LETTERS] for text in (reference, candidate))
    return indel_similarity(left, right)
