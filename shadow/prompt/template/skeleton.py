"""What all requests of a template share in one text: literal fragments with gaps between them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.shadow.prompt.template.tokens import END, START, readable, splits_word, word_count

if TYPE_CHECKING:
    from collections.abc import Sequence

Skeleton = tuple[str, ...]
"""Fragments in order; the first begins with `START`, the last ends with `END`.

Between two fragments any text may stand, none included. A text that is always the same is a single
fragment, one of which nothing is known ("\\x02", "\\x03").
"""

NOTHING_FIXED: Final[Skeleton] = (START, END)
_WEAK_WORDS: Final = 2


class Span(NamedTuple):
    """A half-open stretch of a text."""

    start: int
    end: int


def whole(text: str) -> Skeleton:
    """The skeleton of a template of which one request is known.

    Args:
        text: Padded.
    """
    return tuple(stretch for stretch in readable(text) if stretch) or NOTHING_FIXED


def fixed_words(skeleton: Skeleton) -> int:
    """Words in all fragments."""
    return sum(word_count(fragment) for fragment in skeleton)


def fixed_characters(skeleton: Skeleton) -> int:
    """Characters in all fragments, without the marks of the ends."""
    return sum(map(len, skeleton)) - 2


def place(skeleton: Skeleton, text: str) -> list[Span] | None:
    """Where the fragments stand in a text, None if they do not all occur in order.

    The first and the last stand at the ends, each other at the first place behind the one before, so a
    request into which a user pasted the template's own words is read as the template means it.

    Args:
        skeleton: What is looked for.
        text: Padded.
    """
    first, last = skeleton[0], skeleton[-1]
    if len(skeleton) == 1:
        return [Span(0, len(text))] if first == text else None
    limit = len(text) - len(last)
    if limit < len(first) or not text.startswith(first) or not text.endswith(last):
        return None
    if splits_word(text, len(first)) or splits_word(text, limit):
        return None
    spans = [Span(0, len(first))]
    for fragment in skeleton[1:-1]:
        found = _find(text, fragment, spans[-1].end, limit)
        if found is None:
            return None
        spans.append(found)
    spans.append(Span(limit, len(text)))
    return spans


def _find(text: str, fragment: str, start: int, limit: int) -> Span | None:
    while True:
        at = text.find(fragment, start, limit)
        if at < 0:
            return None
        end = at + len(fragment)
        if not splits_word(text, at) and not splits_word(text, end):
            return Span(at, end)
        start = at + 1


def gaps(spans: Sequence[Span]) -> list[Span]:
    """The stretches between the fragments, empty ones included."""
    return [Span(left.end, right.start) for left, right in pairwise(spans)]


def repeated(skeleton: Skeleton, text: str, spans: Sequence[Span]) -> set[int]:
    """Which weak fragments occur more often than the skeleton says, so that their place is chance.

    A fragment of one or two words that the text around it holds several times is a common word, or a
    label that the input repeats, such as the speakers of a transcript.

    Returns: indices into the skeleton, never those of its ends.
    """
    weak = [
        0 < number < len(skeleton) - 1 and word_count(fragment) <= _WEAK_WORDS
        for number, fragment in enumerate(skeleton)
    ]
    strong = [number for number, is_weak in enumerate(weak) if not is_weak]
    found: set[int] = set()
    for left, right in pairwise(strong):
        between = skeleton[left + 1 : right]
        for number in range(left + 1, right):
            fragment = skeleton[number].strip()
            expected = sum(other.count(fragment) for other in between)
            if text.count(fragment, spans[left].end, spans[right].start) > expected:
                found.add(number)
    return found
