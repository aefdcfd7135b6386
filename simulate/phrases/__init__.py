"""Stock phrases of the languages that the simulation speaks, one small file each."""

from typing import Final

from evenkeel.simulate.phrases.de import GERMAN
from evenkeel.simulate.phrases.en import ENGLISH
from evenkeel.simulate.phrases.fr import FRENCH
from evenkeel.simulate.phrases.ja import JAPANESE
from evenkeel.simulate.phrases.language import Labels, Phrases, Tones, Triple

LANGUAGES: Final = (
    ENGLISH,
    FRENCH,
    GERMAN,
    JAPANESE,
)
"""All of them; regional forms after the language they belong to."""


def phrases_for(tag: str) -> Phrases | None:
    """The phrases of a BCP 47 tag: of the very tag, else of its language; None if there are none."""
    wanted = tag.strip().lower().replace("_", "-")
    base = wanted.partition("-")[0]
    exact = next((language for language in LANGUAGES if language.tag.lower() == wanted), None)
    return exact or next((language for language in LANGUAGES if language.tag.partition("-")[0] == base), None)


__all__ = ["ENGLISH", "LANGUAGES", "Labels", "Phrases", "Tones", "Triple", "phrases_for"]
