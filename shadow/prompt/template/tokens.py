"""Texts as the learner reads them: cut into tokens, bounded in length, their ends marked."""

from __future__ import annotations

import hashlib
import re
from typing import Final

START: Final = "\x02"
"""Marks the beginning of a text, so that "at the very beginning" is a token like any other."""
END: Final = "\x03"
"""Marks the end of a text."""
CUT: Final = "\x00cut"
"""Stands where a skeleton has a gap or a long text is not read; equals no token of a text."""

LONGEST_READ: Final = 16_384
"""Characters at each end of a text that are read; what lies between counts as a single word."""

_NAME_LENGTH: Final = 18

_MONTH: Final = (
    r"(?:jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|février|mar(?:ch|s|zo|ço)?|märz|maart|apr(?:il|ile)?|avril"
    r"|abril|may|mai|mei|mayo|maio|maggio|june?|juni|juin|junio|junho|giugno|july?|juli|juillet|julio"
    r"|julho|luglio|aug(?:ust|ustus)?|août|agosto|sept?(?:ember|embre)?|setembro|settembre|septiembre"
    r"|oct(?:ober|obre|ubre)?|oktober|outubro|ottobre|nov(?:ember|embre|embro|iembre)?"
    r"|dec(?:ember)?|dezember|décembre|diciembre|dezembro|dicembre)"
)
_WEEKDAY: Final = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)"
)
_VOLATILE: Final = re.compile(
    rf"""\b(?:
        (?:{_WEEKDAY},?\ (?:the\ )?)?
        (?: \d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?
          | \d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}
          | \d{{1,2}}(?:st|nd|rd|th|\.)?\ (?:of\ |de\ )?{_MONTH}\b\.?(?:,?\ (?:de\ )?\d{{4}})?
          | {_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\ \d{{4}})?
          | {_MONTH}\ \d{{4}} )
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
    """Whether a token is a word or a number."""
    return token[0].isalnum() or token[0] == "_"


def word_count(text: str) -> int:
    """Words and numbers in a text."""
    return len(_WORD.findall(text))


def words_of(text: str) -> list[str]:
    """The words and numbers of a text, in order."""
    return _WORD.findall(text)


def splits_word(text: str, at: int) -> bool:
    """Whether a cut before character `at` would go through a word."""
    return 0 < at < len(text) and _JOINS.match(text, at - 1) is not None


def condensed(text: str) -> str:
    """The text, the middle of a long one replaced by a word that stands for it.

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
    """The stretches of a padded text that may be template, in order.

    Dates, times of day and UUIDs are left out: in a prompt they say when and for whom it was made.
    """
    return _VOLATILE.split(text)


def token_stretches(stretches: list[str]) -> list[str]:
    """All tokens of the stretches, with `CUT` between one stretch and the next."""
    found: list[str] = []
    for number, stretch in enumerate(stretches):
        if number:
            found.append(CUT)
        found += tokens(stretch)
    return found
