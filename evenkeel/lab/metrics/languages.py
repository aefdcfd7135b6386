"""Languages of two answers: whether they are the same, and whether a model knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import base_tag

if TYPE_CHECKING:
    from evenkeel.core.languages import LanguageOf
    from evenkeel.core.pair import Pair


def languages_of(pair: Pair, language_of: LanguageOf) -> tuple[str | None, str | None]:
    """Return the languages of reference and candidate, None where unknown.

    A candidate that is too short to tell is taken to be in the language it was asked for.
    """
    reference, candidate = language_of(pair.reference.text), language_of(pair.candidate.text)
    if candidate is None and pair.wanted.language is not None:
        candidate = base_tag(pair.wanted.language)
    return reference, candidate


@dataclass(frozen=True, slots=True)
class Coverage:
    """Languages in which a model can compare texts."""

    languages: frozenset[str] | None = None
    """Base tags of the languages; None = any."""
    language_of: LanguageOf | None = None
    """Function that returns a text's language. Without it every pair is compared."""

    def gap(self, pair: Pair) -> str | None:
        """Return the reason why the model cannot compare two answers: it does not know both languages.

        Returns: a sentence for people; None if it can, or a language is not certain.
        """
        if self.languages is None or self.language_of is None:
            return None
        languages = languages_of(pair, self.language_of)
        if None in languages or languages[0] == languages[1] or self.languages.issuperset(languages):
            return None
        return f"The model does not know both languages: {languages[0]}, {languages[1]}."


ANY_LANGUAGE: Final = Coverage()
"""Coverage of a multilingual model, or of one whose languages nobody named."""
