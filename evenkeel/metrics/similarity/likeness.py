"""Likeness: closeness of two texts on a scale fine enough to compare a rerun with a change.

A rating says whether two answers say the same; most pairs of long answers do not in every detail. Likeness
says how far apart they are, so that pairs of a change can be compared with pairs of an identical resend.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final, TypeVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.identity import is_empty
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.words import GLUE, stem, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.pair import Pair

Item = TypeVar("Item")

# Number of characters that are read of a text.
_LONGEST: Final = 200_000
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+")
# All numbers of a numbered list count as one mark, so an added item changes one count.
_LINE_MARK: Final = re.compile(r"[ \t]*(#{1,6}|[-*+>\u2022|]|\d{1,3}[.)]|```|\\\[)?")


@dataclass(frozen=True, slots=True)
class _Parts:
    """Parts of a text that are compared; every part but the size is a multiset."""

    size: int
    order: Counter[tuple[str, ...]]
    """Pairs of neighbouring words."""
    content: Counter[str]
    """Stems of the content words."""
    opening: Counter[tuple[str, ...]]
    """Words of the first sentence, alone and in pairs."""
    closing: Counter[tuple[str, ...]]
    """Words of the last sentence, which holds the conclusion, alone and in pairs."""
    marks: Counter[str]
    lines: Counter[str]
    """Marks that lines begin with: lists, headings, tables."""


WEIGHTS: Final[Mapping[str, float]] = {
    "opening": 0.3,
    "order": 0.25,
    "content": 0.1,
    "size": 0.1,
    "marks": 0.1,
    "closing": 0.1,
    "lines": 0.05,
}
"""Weight of each part.

Set on recorded reruns and changes, rounded so that no figure hangs on them: `python -m
benchmarks.similarity`.
"""


class Likeness:
    """Weighted overlap of openings, word order, content words, length, marks, conclusions and layout."""

    name: ClassVar[str] = "likeness"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("lexical", akin="sequence")

    def score(self, pair: Pair) -> float | Failure:
        """Closeness of the two texts. Symmetric; takes time in proportion to their length.

        Returns: ratio in [0, 1]; 1 = the same words in the same order under the same marks, also if both
            sides only call tools; 0 = nothing in common, or only one side has words. A `Failure` "no_text"
            if neither side has text or a tool call.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return likeness(pair.reference.text, pair.candidate.text)


def likeness(reference: str, candidate: str) -> float:
    """Return the likeness of two texts, in [0, 1]; 1 if neither has words."""
    left, right = _read(reference), _read(candidate)
    if not left.size or not right.size:
        return float(left.size == right.size)
    parts = {
        "opening": _dice(left.opening, right.opening),
        "order": _dice(left.order, right.order),
        "content": _dice(left.content, right.content),
        "size": min(left.size, right.size) / max(left.size, right.size),
        "marks": _dice(left.marks, right.marks),
        "closing": _dice(left.closing, right.closing),
        "lines": _dice(left.lines, right.lines),
    }
    # A text of one word has no order, and many have no marks: a part that both texts lack is left out.
    total = weights = 0.0
    for name, value in parts.items():
        if value is not None:
            total += WEIGHTS[name] * value
            weights += WEIGHTS[name]
    return total / weights


@lru_cache(maxsize=128)
def _read(text: str) -> _Parts:
    text = text[:_LONGEST].strip()
    every = words(text)
    sentences = []
    for part in _SENTENCE.split(text):
        if sentence := words(part):
            sentences.append(sentence)
    lines = []
    for line in text.split("\n"):
        if line.strip():
            lines.append(line)
    return _Parts(
        len(every),
        _twos(every),
        Counter(stem(word) for word in every if word not in GLUE),
        _ones_and_twos(sentences[0] if sentences else ()),
        _ones_and_twos(sentences[-1] if sentences else ()),
        Counter(mark for mark in text if not mark.isalnum() and not mark.isspace()),
        Counter(map(_line_mark, lines)),
    )


def _line_mark(line: str) -> str:
    marked = _LINE_MARK.match(line)
    mark = (marked and marked[1]) or ""
    return "1" if mark[:1].isdigit() else mark


def _twos(words_read: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(pairwise(words_read))


def _ones_and_twos(words_read: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter((word,) for word in words_read) + _twos(words_read)


def _dice(left: Counter[Item], right: Counter[Item]) -> float | None:
    """Return the Dice coefficient of two multisets; None if both are empty."""
    total = left.total() + right.total()
    return 2 * (left & right).total() / total if total else None
