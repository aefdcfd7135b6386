"""Metric of whether an answer is in the language it should be in."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.languages import LanguageOf, base_tag
from evenkeel.core.verdict import Failure
from evenkeel.metrics.protocol import About
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import flat

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, Pair


class LanguageMatch:
    """Agreement of the candidate's language with the one asked for, or else with the reference's."""

    name: ClassVar[str] = "language_match"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("surface", needs="language_identifier")

    def __init__(self, language_of: LanguageOf) -> None:
        """Compare by a function that returns a text's language."""
        self._language_of = language_of

    def score(self, pair: Pair) -> float | Failure:
        """Agreement of the candidate's language with the one the variant asked for, else the reference's.

        Of structured answers only the values are read: keys are often English in any language.
        Regions do not count ("pt-BR" is "pt").

        Returns: 1.0 or 0.0. A `Failure` "no_text" if the candidate, or the reference where it
            counts, has no text; "unknown_language" if one of them is too short or too mixed.
        """
        candidate = _prose(pair.candidate)
        reference = _prose(pair.reference)
        wanted = None if pair.wanted.language is None else base_tag(pair.wanted.language)
        if not candidate or (wanted is None and not reference):
            return Failure(self.name, self.version, "no_text", "An answer has no text.")
        wanted = wanted or self._language_of(reference)
        language = self._language_of(candidate)
        if wanted is None or language is None:
            which = "reference" if wanted is None else "candidate"
            return Failure(
                self.name, self.version, "unknown_language", f"The {which}'s language is not certain."
            )
        return float(base_tag(language) == base_tag(wanted))


def _prose(answer: Answer) -> str:
    structure = read_structure(answer.text)
    return flat(structure.tree) if isinstance(structure, Structure) else answer.text.strip()
