"""Check of an answer against the format and the language that a variant asks for.

An answer is held to be invalid only if it certainly is: what may be right is left to the rating.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import base_tag, told_apart
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import UnreadableError, flat
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
        and _is_in_another(base_tag(pair.wanted.language), pair.candidate.text, language_of)
    ):
        obligations.append("language")
    return tuple(obligations)


# A block of code is in no language, and its words are English in any answer.
_CODE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)


def _is_in_another(wanted: str, text: str, language_of: LanguageOf) -> bool:
    """Return whether a text is certainly in another language, and none of its lines in the one wanted.

    An answer that quotes a log or drafts a letter in another language is in its own all the same.
    """
    structure = read_structure(text)
    if isinstance(structure, Structure) and structure.format != "markdown":
        # Keys of data are often English in any language, so only its values are read.
        prose = flat(structure.tree)
    else:
        prose = _CODE.sub("", text)
    language = language_of(prose)
    if language is None or not told_apart(language, wanted):
        return False
    for line in prose.split("\n"):
        language = language_of(line)
        if language is not None and not told_apart(language, wanted):
            return False
    return True


def is_valid(text: str, expected: Format) -> bool:
    """Return whether a text is nothing but a valid text of a format, one fence around it allowed.

    Any text may be Markdown if its fences are closed, and if it is no JSON, XML or HTML as a whole. HTML is
    valid if it has an HTML element and no tag lacks its counterpart where HTML needs one. What is too large
    or nested too deeply to be read is taken to be valid.
    """
    structure = read_structure(text, expected)
    if isinstance(structure, UnreadableError):
        return True
    if structure is not None and structure.format == expected:
        return structure.strict and structure.alone
    other = structure is not None and structure.alone and structure.format != "yaml"
    return expected == "markdown" and bool(text.strip()) and not other
