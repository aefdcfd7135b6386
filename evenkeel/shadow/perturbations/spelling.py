"""Typing errors and common misspellings, as people make them in the language of the text.

`spelling.toml` has the keyboard of each language, its known misspellings, and the marks that people leave
out. A slip must not make another word of the language, as pyspellchecker lists them. In Japanese a slip is
another conversion of the same reading.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.languages import language_of
from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.places import (
    change_places,
    is_label,
    opens_a_sentence,
    prose_of,
    small_words,
)
from evenkeel.shadow.perturbations.protocol import GENERAL, PerturbationBase

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping

    from evenkeel.shadow.perturbations.protocol import NotApplicable
    from evenkeel.shadow.prompt import PromptView

# Latin, Greek and Cyrillic words outside contractions. Scripts without spaces are left out, since a lost
# character there is a lost word. The first letter comes first in the pattern, which makes the search fast.
_LETTER: Final = "A-Za-zÀ-ÖØ-öø-ɏͰ-ϿЀ-ԯ"
# Fewest letters of a word that gets a random slip. Shorter words are too close to other words, so they only
# get known slips.
_LEAST_LETTERS: Final = 4
# Fewest letters of a word that stays recognisable with one letter wrong or missing.
_UNMISTAKABLE: Final = 6
_TRIES: Final = 4
# Characters of prose that are enough to tell the language.
_LANGUAGE_SAMPLE: Final = 150
# Only this many characters of a text are searched for that sample.
_LONGEST_BEGINNING: Final = 4_000


# Shift of each row of letters to the right of the top one, in keys.
_STAGGER: Final = (0.0, 0.25, 0.75)
_NEVER: Final = re.compile(r"(?!)")
_ENGLISH: Final = "en"
# Fewest kana that are read back into kanji. Shorter stretches often occur inside other words.
_ENOUGH_KANA: Final = 4


@dataclass(frozen=True, slots=True)
class Slips:
    """Slips that people make in a language. All words are in lower case."""

    neighbours: Mapping[str, str]
    """Letter → letters on keys beside it."""
    misspelled: Mapping[str, str]
    """Word → how it is often misspelled, with the same first letter."""
    bare: Mapping[str, str] = field(default_factory=dict)
    """Letter with a mark → letter that people type when they leave the mark out."""
    dropped: re.Pattern[str] = _NEVER
    """Finds the letters whose mark can be left out without changing the word."""
    nouns: re.Pattern[str] = _NEVER
    """Common nouns with a capital, in a language that writes nouns with capitals."""
    kept_pairs: frozenset[str] = frozenset()
    """Neighbouring letters that are never swapped, because the result is too often another word."""
    elides: bool = False
    """True if an apostrophe joins a word to the one before ("l'ordine")."""

    @classmethod
    def of(cls, table: Mapping[str, Any], keyboards: Mapping[str, list[str]]) -> Slips:
        """Build the slips of a language from its table in `spelling.toml`."""
        return cls(
            neighbours=_neighbours(keyboards[table["keyboard"]]),
            misspelled=_pairs(table["misspelled"]),
            bare=table.get("bare", {}),
            dropped=re.compile(table["dropped"]) if "dropped" in table else _NEVER,
            nouns=re.compile(table["nouns"]) if "nouns" in table else _NEVER,
            kept_pairs=frozenset(table.get("kept_pairs", ())),
            elides=table.get("elides", False),
        )


# Words that negate, limit or count.
_LIMITS: Final = small_words("limits")


def _pairs(text: str) -> dict[str, str]:
    """Return a table from lines such as "receive recieve, until untill"."""
    words = text.replace(",", " ").split()
    return dict(zip(words[::2], words[1::2], strict=True))


def _neighbours(rows: list[str]) -> dict[str, str]:
    """Letter → the letters on keys that touch its key, from the three rows of a layout."""
    keys: list[tuple[str, int, float]] = []
    for row, (letters, shift) in enumerate(zip(rows, _STAGGER, strict=True)):
        for column, letter in enumerate(letters):
            keys.append((letter, row, shift + column))
    neighbours = dict.fromkeys("".join(rows), "")
    for letter, row, at in keys:
        for other, other_row, other_at in keys:
            distance = abs(other_at - at)
            is_beside = row == other_row and 0 < distance <= 1
            is_across = abs(row - other_row) == 1 and distance < 1
            if is_beside or is_across:
                neighbours[letter] += other
    return neighbours


def _conversions(table: Mapping[str, str]) -> dict[str, str]:
    """Return how each stretch of Japanese text is also written, from the table in `spelling.toml`."""
    both_ways = _pairs(table["both_ways"])
    back: dict[str, str] = {}
    for old, new in both_ways.items():
        if len(new) >= _ENOUGH_KANA:
            back[new] = old
    return {**back, **both_ways, **_pairs(table["one_way"])}


_TABLES: Final = tomllib.loads(files(__package__).joinpath("spelling.toml").read_text("utf-8"))

SLIPS: Final = {tag: Slips.of(table, _TABLES["keyboards"]) for tag, table in _TABLES["languages"].items()}
"""Slips by base tag of the language."""
# Stretch of Japanese text → how it is also written.
_JAPANESE: Final = _conversions(_TABLES["japanese"])
# Pattern that finds these stretches, the longest first.
_JAPANESE_PLACES: Final = re.compile("|".join(sorted(_JAPANESE, key=lambda word: (-len(word), word))))


def _slips_for(language: str | None) -> Slips:
    """Return the slips of a language; those of English if the language or its slips are unknown."""
    return SLIPS.get(language or _ENGLISH, SLIPS[_ENGLISH])


@cache
def real_words(language: str | None) -> frozenset[str]:
    """Return the words of a language in lower case; those of English if the language is unknown."""
    # Imported here: a list takes up to a second and tens of megabytes.
    from spellchecker import SpellChecker  # noqa: PLC0415

    tag = language if language in SLIPS else _ENGLISH
    return frozenset(SpellChecker(language=tag).word_frequency.words())


class Spelling(PerturbationBase):
    """Misspells words: a neighbouring key, two letters swapped, one left out or doubled, or a known slip.

    Keyboard, known slips and forgotten accents are those of the text's language (English, German,
    Spanish, French, Italian, Dutch, Portuguese; for others the English keyboard); in Japanese words get
    another conversion. First and last letters stay, the last because it carries number and tense; so do
    short words, names (capitals inside a sentence), acronyms, contractions and
    words that no list of the language has, and no slip makes another word of the language.
    """

    name: Final = "general.spelling"
    rewording: Final = Rewording(GENERAL, phrase="misspellings", order=20)
    version = 9
    graded = True

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with a share of its words misspelt, as `Perturbation.apply`."""
        languages: dict[str, str | None] = {}
        for segment in view.typed:
            # Code and data could pass for some language.
            prose = prose_of(segment.text[:_LONGEST_BEGINNING])
            languages[segment.text] = language_of(prose[:_LANGUAGE_SAMPLE])

        def find(text: str) -> Iterator[re.Match[str]]:
            if languages[text] == "ja":
                return _JAPANESE_PLACES.finditer(text)
            return _places(text, languages[text])

        def rewrite(match: re.Match[str], rng: random.Random) -> str | None:
            language = languages[match.string]
            if language == "ja":
                return _JAPANESE[match[0]]
            return _rewrite(match[0], _slips_for(language), real_words(language), rng)

        return change_places(view, severity, rng, find=find, rewrite=rewrite)


@cache
def _words(language: str | None) -> re.Pattern[str]:
    """Return a pattern for words that may be long enough for a slip, random or known."""
    slips = _slips_for(language)
    more = min((_LEAST_LETTERS, *map(len, slips.misspelled))) - 1
    # In some languages an apostrophe behind a letter joins two words.
    start = rf"(?<!\w.) (?<![^{_LETTER}]['’].)" if slips.elides else r"(?<![\w'’].)"
    return re.compile(rf"[{_LETTER}] {start} [{_LETTER}]{{{more},}}+ (?![\w'’])", re.VERBOSE)


def _places(text: str, language: str | None) -> Iterator[re.Match[str]]:
    slips = _slips_for(language)
    # Of other languages there is no list: every word may get a slip.
    known = real_words(language) if language is None or language in SLIPS else None
    for match in _words(language).finditer(text):
        word = match[0]
        if len(word) < _LEAST_LETTERS and word.lower() not in slips.misspelled:
            continue
        if is_label(match):
            continue
        # Unknown words, and joined ones such as "kali-linux", may be names or commands.
        joined = "-" in (text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1])
        if word.lower() in _LIMITS or joined or (known is not None and word.lower() not in known):
            continue
        if word.islower() or (
            word[1:].islower() and (slips.nouns.fullmatch(word) or opens_a_sentence(match))
        ):
            yield match


def _rewrite(word: str, slips: Slips, real: frozenset[str], rng: random.Random) -> str | None:
    misspelled = slips.misspelled.get(word.lower())
    if misspelled is not None and (len(word) < _LEAST_LETTERS or _below(2, rng)):
        return word[0] + misspelled[1:]
    marks = list(slips.dropped.finditer(word.lower())) if slips.bare and not word.isascii() else []
    if marks and _below(2, rng):
        mark = marks[_below(len(marks), rng)]
        typed = slips.bare[mark[0]]
        if word[mark.start()].isupper():
            typed = typed.capitalize()
        bare = word[: mark.start()] + typed + word[mark.end() :]
        if bare.lower() not in real:
            return bare
    for _ in range(_TRIES):
        slip = _slip(word, slips, rng)
        if slip != word and slip.lower() not in real:
            return slip
    return None


def _slip(word: str, slips: Slips, rng: random.Random) -> str:
    """Return the word with one slip between its first and last letter. It may come back unchanged."""
    at = 1 + _below(len(word) - 2, rng)
    # A short word with another letter, or without one, is too close to other words: "jokes" and "joes".
    is_short = len(word) < _UNMISTAKABLE
    match _below(4, rng):
        case 0:
            near = "" if is_short else slips.neighbours.get(word[at])
            return word[:at] + near[_below(len(near), rng)] + word[at + 1 :] if near else word
        case 1:
            at = min(at, len(word) - 3)
            if word[at : at + 2] in slips.kept_pairs:
                return word
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        case 2:
            return word if is_short else word[:at] + word[at + 1 :]
        case _:
            return word[:at] + word[at] + word[at:]


def _below(bound: int, rng: random.Random) -> int:
    """Draw like `randrange`, five times as fast; the bias is negligible for small bounds."""
    return int(rng.random() * bound)
