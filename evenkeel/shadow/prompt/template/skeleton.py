"""Skeletons: the text that all requests of a template share, as literal fragments with gaps between.

Texts are cut into tokens, bounded in length, and their ends are marked.
"""

from __future__ import annotations

import hashlib
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from evenkeel.core.protected_spans import MONTH
from evenkeel.shadow.prompt.segments import Span

if TYPE_CHECKING:
    from collections.abc import Sequence


START: Final = "\x02"
"""Marks the beginning of a text, so that "at the very beginning" is a token like any other."""
END: Final = "\x03"
"""Marks the end of a text."""
GAP: Final = "\x00gap"
"""Token for a gap in a skeleton. It equals no token of a text."""
UNREAD: Final = "\x00unread"
"""Token for what is left out of a text. It equals no token of a text, and no gap."""

EDGE: Final = 48
"""Characters at each end of a long value that are looked at."""
LONGEST_READ: Final = 16_384
"""Characters read at each end of a long text. The text between counts as a single word."""

_NAME_LENGTH: Final = 18

_WEEKDAY: Final = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)"
)
_VOLATILE: Final = re.compile(
    rf"""\b(?:
        (?:{_WEEKDAY},?\ (?:the\ )?)?
        (?: \d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?
          | \d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}
          | \d{{1,2}}(?:st|nd|rd|th|\.)?\ (?:of\ |de\ )?{MONTH}\b\.?(?:,?\ (?:de\ )?\d{{4}})?
          | {MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\ \d{{4}})?
          | {MONTH}\ \d{{4}} )
      | \d{{1,2}}:\d\d(?::\d\d(?:\.\d+)?)?(?:\ ?[ap]m)?
      | [0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}-[0-9a-f]{{12}}
    )\b|\d{{4}}年\d{{1,2}}月\d{{1,2}}日""",
    re.VERBOSE | re.IGNORECASE,
)
_CJK: Final = r"\u3040-\u30ff\u3400-\u9fff"
_TOKEN: Final = re.compile(rf"\n|[^\S\n]+|[{_CJK}]|[^\W{_CJK}]+|[^\w\s]")
_WORD: Final = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")
_JOINS: Final = re.compile(rf"[^\W{_CJK}][^\W{_CJK}]")


def padded(text: str) -> str:
    """The text between the marks of its ends."""
    return f"{START}{text}{END}"


def tokens(text: str) -> list[str]:
    """Words, single punctuation marks, line breaks and runs of blanks; joined they are the text again.

    Scripts without blanks give a token for each character.
    """
    return _TOKEN.findall(text)


def is_word(token: str) -> bool:
    """Return whether a token is a word or a number."""
    return token[0].isalnum() or token[0] == "_"


def word_count(text: str) -> int:
    """Words and numbers in a text."""
    return len(_WORD.findall(text))


def words_of(text: str) -> list[str]:
    """The words and numbers of a text, in order."""
    return _WORD.findall(text)


def splits_word(text: str, at: int) -> bool:
    """Return whether a cut before character `at` would go through a word."""
    return 0 < at < len(text) and _JOINS.match(text, at - 1) is not None


def condensed(text: str) -> str:
    """Return the text, with the middle of a long one replaced by a single word.

    So a long document costs no more than its ends, and a long constant prompt is still constant.
    """
    if len(text) <= 2 * LONGEST_READ:
        return text
    middle = text[LONGEST_READ:-LONGEST_READ].encode("utf-8", "surrogatepass")
    name = hashlib.blake2b(middle, digest_size=8).hexdigest()
    return f"{text[:LONGEST_READ]}\x04{name}\x05{text[-LONGEST_READ:]}"


def restored(start: int, end: int, length: int) -> tuple[int, int]:
    """A stretch of a condensed text as a stretch of the text itself.

    Args:
        start: Where it begins.
        end: Where it ends.
        length: Of the text itself.
    """
    if length <= 2 * LONGEST_READ:
        return start, end
    behind = LONGEST_READ + _NAME_LENGTH
    moved = length - LONGEST_READ - behind
    return (
        start if start <= LONGEST_READ else max(start, behind) + moved,
        end + moved if end >= behind else min(end, LONGEST_READ),
    )


def readable(text: str) -> list[str]:
    """Return the stretches of a padded text that may be template, in order.

    Dates, times of day and UUIDs are left out: in a prompt they say when and for whom it was made.
    """
    return _VOLATILE.split(text)


def token_stretches(stretches: list[str], between: str) -> list[str]:
    """All tokens of the stretches, with another token between one stretch and the next."""
    runs: list[str] = []
    for number, stretch in enumerate(stretches):
        if number:
            runs.append(between)
        runs += tokens(stretch)
    return runs


Skeleton = tuple[str, ...]
"""Fragments in order; the first begins with `START`, the last ends with `END`.

Between two fragments any text may stand, none included. A text that is always the same is a single
fragment, one of which nothing is known ("\\x02", "\\x03").
"""

NOTHING_FIXED: Final[Skeleton] = (START, END)


def whole(text: str) -> Skeleton:
    """Return the skeleton of a template that is known from one request.

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
    """Return the spans of the fragments in a text; None if they do not all occur in order.

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
        span = _find(text, fragment, spans[-1].end, limit)
        if span is None:
            return None
        spans.append(span)
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
    gaps = []
    for left, right in pairwise(spans):
        gaps.append(Span(left.end, right.start))
    return gaps
