"""ROUGE-L: longest common subsequence of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.similarity.normalised import is_empty
from evenkeel.metrics.similarity.unlocked import common_length
from evenkeel.metrics.similarity.words import words

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair


class RougeL:
    """Longest-common-subsequence F1 of the words of two texts.

    The subsequence comes from rapidfuzz: the rouge-score package fills the same table in Python
    and needs 5 ms for two texts of 200 words against 0.04 ms, and its tokens are ASCII only.
    """

    name: ClassVar[str] = "rouge_l"
    version: ClassVar[int] = 2

    def score(self, pair: Pair) -> float | Failure:
        """ROUGE-L F1 of the candidate's text against the reference's.

        Returns: ratio in [0, 1]; 1 = the same words in the same order; 0 = no word in common, or
            one text without words. A `Failure` "no_text" if neither side has text or a tool call;
            1 if both only call tools.
        Source: Lin 2004; agrees with the rouge-score package to 1e-9 on ASCII text.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return rouge_l(pair.reference.text, pair.candidate.text)


_WORDS = 100_000
"""The cost grows with the product of the lengths; texts beyond this are compared up to here."""


def rouge_l(reference: str, candidate: str) -> float:
    """ROUGE-L F1 of two texts, in [0, 1]; 1 if neither has words, 0 if only one has."""
    left, right = words(reference)[:_WORDS], words(candidate)[:_WORDS]
    if not left or not right:
        return float(not left and not right)
    return 2 * common_length(left, right) / (len(left) + len(right))
