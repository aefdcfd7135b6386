"""Metrics of what two texts share in order: words (ROUGE-L) and letters (edit similarity).

Both compare by rapidfuzz's function for many pairs, which releases Python's lock. Its functions for one
pair hold it until they are done: 50 ms for texts of 50,000 letters, two seconds for 100,000 words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

import numpy as np
from rapidfuzz.distance import Indel, LCSseq
from rapidfuzz.process import cdist

from evenkeel.core.verdict import Failure
from evenkeel.metrics.identity import is_empty
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.words import words

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair


_PART_WORDS: Final = 4_096
_PART_LETTERS: Final = 8_192
"""The cost grows with the product of two lengths. What lies between the common beginning and the common end
of two texts is compared in so many parts, each with its counterpart, that none is longer than this."""

_Side = TypeVar("_Side", str, Sequence[str])


def common_length(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of two sequences of words.

    Of longer differing stretches than 4,096 words, that of their parts in order, which may be less.
    """
    begin, end = _shared_ends(left, right)
    parts = _parts(left[begin : len(left) - end], right[begin : len(right) - end], _PART_WORDS)
    return begin + end + sum(_words_kept(one, other) for one, other in parts)


def _words_kept(left: Sequence[str], right: Sequence[str]) -> int:
    return int(cdist([left], [right], scorer=LCSseq.similarity, dtype=np.uint32)[0, 0])


def indel_similarity(left: str, right: str) -> float:
    """Return 1 minus the normalised insertion-deletion distance, in [0, 1]; 1 if both texts are empty.

    Longer differing stretches than 8,192 letters are compared part by part, see `common_length`.
    """
    begin, end = _shared_ends(left, right)
    parts = _parts(left[begin : len(left) - end], right[begin : len(right) - end], _PART_LETTERS)
    edits = sum(
        int(cdist([one], [other], scorer=Indel.distance, dtype=np.uint32)[0, 0]) for one, other in parts
    )
    total = len(left) + len(right)
    return 1 - edits / total if total else 1.0


def _shared_ends(left: Sequence[str], right: Sequence[str]) -> tuple[int, int]:
    """Count the words or letters that both texts begin with and, behind those, end with."""
    shorter = min(len(left), len(right))
    begin = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    behind = shorter - begin
    end = next((at for at in range(behind) if left[-1 - at] != right[-1 - at]), behind)
    return begin, end


def _parts(left: _Side, right: _Side, longest: int) -> Iterator[tuple[_Side, _Side]]:
    """Yield the parts of both sides: equally many, each with about the same share of its side."""
    count = -(-max(len(left), len(right)) // longest)
    for place in range(count):
        yield (
            left[len(left) * place // count : len(left) * (place + 1) // count],
            right[len(right) * place // count : len(right) * (place + 1) // count],
        )


class RougeL:
    """Longest-common-subsequence F1 of the words of two texts.

    The subsequence comes from rapidfuzz: the rouge-score package fills the same table in Python
    and needs 5 ms for two texts of 200 words against 0.04 ms, and its tokens are ASCII only.
    """

    name: ClassVar[str] = "rouge_l"
    version: ClassVar[int] = 3
    about: ClassVar[About] = About("lexical", akin="sequence", label="ROUGE-L")

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


def rouge_l(reference: str, candidate: str) -> float:
    """Return the ROUGE-L F1 of two texts, in [0, 1]; 1 if neither has words, 0 if only one has."""
    left, right = words(reference), words(candidate)
    if not left or not right:
        return float(not left and not right)
    return 2 * common_length(left, right) / (len(left) + len(right))


class EditSimilarity:
    """Share of letters and digits kept in order. A typo or a lost space costs a letter, not a word."""

    name: ClassVar[str] = "edit"
    version: ClassVar[int] = 2
    about: ClassVar[About] = About("lexical", akin="sequence")

    def score(self, pair: Pair) -> float | Failure:
        """Similarity of the two texts' letters: 1 minus their normalised insertion-deletion distance.

        Case, spaces and punctuation are ignored. Unrelated English texts reach about 0.5, so only
        values near 1 mean anything.

        Returns: ratio in [0, 1]; 1 = the same letters in the same order, also if neither side has
            any; 0 = one side has none. A `Failure` "no_text" if neither side has text or a tool call.
        Source: 1 − (|a| + |b| − 2·LCS) / (|a| + |b|), by rapidfuzz.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return edit_similarity(pair.reference.text, pair.candidate.text)


def edit_similarity(reference: str, candidate: str) -> float:
    """Return the share of letters and digits kept in order, in [0, 1]."""
    left, right = ("".join(words(text)) for text in (reference, candidate))
    return indel_similarity(left, right)
