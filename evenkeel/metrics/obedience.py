"""Check of an answer against the format and the language that a variant asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.metrics.language_match import LanguageMatch
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.tasks import Task

if TYPE_CHECKING:
    from evenkeel.core.languages import LanguageOf
    from evenkeel.core.pair import Format, Pair
    from evenkeel.core.verdict import Obligation


def ignored(pair: Pair, language_of: LanguageOf | None) -> tuple[Obligation, ...]:
    """Return what the variant asked of the candidate's form and did not get.

    An answer of tool calls alone owes neither, and an extraction no language: it copies what it found. A
    language that is not certain is not held against an answer.

    Args:
        pair: Two answers; `pair.wanted` says what was asked for.
        language_of: Tells a text's language; None = no language is checked.
    """
    if not pair.candidate.text.strip():
        return ()
    found: list[Obligation] = []
    if pair.wanted.format not in (None, "free") and not is_valid(pair.candidate.text, pair.wanted.format):
        found.append("format")
    if (
        pair.wanted.language is not None
        and pair.task != Task.SLOT_FILLING
        and language_of is not None
        and LanguageMatch(language_of).score(pair) == 0.0
    ):
        found.append("language")
    return tuple(found)


def is_valid(text: str, expected: Format) -> bool:
    """Return whether a text is nothing but a valid text of a format, one fence around it allowed.

    Markdown is valid if it has some structure and all its fences are closed. HTML is valid if it
    has an HTML element and no tag lacks its counterpart where HTML needs one.
    """
    found = read_structure(text, expected)
    if not isinstance(found, Structure):
        return False
    return found.format == expected and found.strict and found.alone
