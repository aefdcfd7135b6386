"""Check of an answer against the format and the language that a variant asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.metrics.structured.validity import is_valid
from evenkeel.metrics.surface.language import LanguageMatch

if TYPE_CHECKING:
    from evenkeel.core.languages import LanguageOf
    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Obligation


def ignored(pair: Pair, language_of: LanguageOf | None) -> tuple[Obligation, ...]:
    """Return what the variant asked of the candidate's form and did not get.

    An answer of tool calls alone owes neither. A language that is not certain is not held against it.

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
        and language_of is not None
        and LanguageMatch(language_of).score(pair) == 0.0
    ):
        found.append("language")
    return tuple(found)
