"""Check of an answer against the format and the language that a variant asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.core.languages import base_tag
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import flat
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
    obligations: list[Obligation] = []
    if pair.wanted.format not in (None, "free") and not is_valid(pair.candidate.text, pair.wanted.format):
        obligations.append("format")
    if (
        pair.wanted.language is not None
        and pair.task != Task.SLOT_FILLING
        and language_of is not None
        and _is_in_another(pair.wanted.language, pair.candidate.text, language_of)
    ):
        obligations.append("language")
    return tuple(obligations)


def _is_in_another(wanted: str, text: str, language_of: LanguageOf) -> bool:
    """Return whether a text is certainly in another language; regions do not count ("pt-BR" is "pt")."""
    structure = read_structure(text)
    # Keys of data are often English in any language, so only its values are read.
    prose = flat(structure.tree) if isinstance(structure, Structure) else text.strip()
    language = language_of(prose) if prose else None
    return language is not None and base_tag(language) != base_tag(wanted)


def is_valid(text: str, expected: Format) -> bool:
    """Return whether a text is nothing but a valid text of a format, one fence around it allowed.

    Markdown is valid if it has some structure and all its fences are closed. HTML is valid if it
    has an HTML element and no tag lacks its counterpart where HTML needs one.
    """
    structure = read_structure(text, expected)
    if not isinstance(structure, Structure):
        return False
    return structure.format == expected and structure.strict and structure.alone
