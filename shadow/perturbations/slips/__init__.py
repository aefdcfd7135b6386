"""Slips by language: neighbouring keys, common misspellings, forgotten marks, words to steer clear of.

`tables` says what is known of a language, `keyboards` has the layouts, and each language is a module
with its tables. Japanese is apart: there a slip is another conversion of the same reading.
"""

from __future__ import annotations

from typing import Final

from evenkeel.shadow.perturbations.slips.dutch import DUTCH
from evenkeel.shadow.perturbations.slips.english import ENGLISH
from evenkeel.shadow.perturbations.slips.french import FRENCH
from evenkeel.shadow.perturbations.slips.german import GERMAN
from evenkeel.shadow.perturbations.slips.italian import ITALIAN
from evenkeel.shadow.perturbations.slips.portuguese import PORTUGUESE
from evenkeel.shadow.perturbations.slips.spanish import SPANISH
from evenkeel.shadow.perturbations.slips.tables import Slips

SLIPS: Final[dict[str, Slips]] = {
    "de": GERMAN,
    "en": ENGLISH,
    "es": SPANISH,
    "fr": FRENCH,
    "it": ITALIAN,
    "nl": DUTCH,
    "pt": PORTUGUESE,
}
"""Tables by base tag."""


def slips_for(language: str | None) -> Slips:
    """The tables of a language; the English ones where there are none or the language is unknown."""
    return SLIPS.get(language or "en", ENGLISH)


__all__ = ["SLIPS", "Slips", "slips_for"]
