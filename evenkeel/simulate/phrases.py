"""Stock phrases of the languages that the simulation writes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, NamedTuple


class Triple(NamedTuple):
    """Three clauses without a final mark, as an answer tells them."""

    problem: str
    event: str
    fix: str


class Labels(NamedTuple):
    """Words before an identifier where an answer lists it."""

    ticket: str
    host: str
    version: str
    code: str
    people: str
    opened: str
    time: str
    article: str
    change: str
    closed: str


class Tones(NamedTuple):
    """Openings of a sender of each tone."""

    formal: str
    casual: str
    urgent: str
    frustrated: str
    polite: str


@dataclass(frozen=True, slots=True)
class Phrases:
    """The stock phrases of one language. They hold no digits: every number comes from a prompt.

    The clauses name no incident, only its topic in quotation marks, as a proper noun: the simulation
    can't translate, and doesn't pretend to.
    """

    tag: str
    """BCP 47 tag."""
    names: tuple[str, ...]
    """Names of the language in a prompt that asks for it, in lower case."""
    quote: str
    """A template with `{}` that puts a name in quotation marks."""
    labels: Labels
    good: Triple | None
    """`problem` has the place `{topic}`. None = the catalogue's clauses are in this language."""
    different: Triple | None
    worse: Triple
    """`problem` has the place `{topic}`, `event` the places `{devices}` and `{minutes}`."""
    stock: tuple[str, ...]
    """Sentences without a final mark that a simulated translation is filled with."""
    function_words: frozenset[str]
    """Frequent words that tell the language, in lower case."""
    rephrased: str
    """Opens a paraphrase in which no word could be replaced."""
    swaps: tuple[tuple[str, str], ...]
    """Words of equal meaning: a paraphrase puts the second where the first stands."""
    tones: Tones
    spaced: bool = True
    """True if words are written with spaces between them."""
    stop: str = "."
    """The mark that ends a sentence."""


def _phrases(tag: str, table: dict[str, Any]) -> Phrases:
    """The phrases of a language as `phrases.toml` has them."""
    lists = {name: tuple(table[name]) for name in ("names", "stock")}
    triples = {}
    for name in ("good", "different", "worse"):
        triples[name] = Triple(*table[name]) if name in table else None
    own = {
        "swaps": tuple(table["swaps"].items()),
        "labels": Labels(**table["labels"]),
        "tones": Tones(**table["tones"]),
        "function_words": frozenset(table["function_words"].split()),
    }
    return Phrases(tag=tag, **{**table, **lists, **triples, **own})


_TABLES: Final = tomllib.loads(files(__package__).joinpath("phrases.toml").read_text("utf-8"))
LANGUAGES: Final = tuple(_phrases(tag, table) for tag, table in _TABLES.items())
"""All of them; English first."""
ENGLISH: Final = LANGUAGES[0]


def phrases_for(tag: str) -> Phrases | None:
    """The phrases of a BCP 47 tag: of the very tag, else of its language; None if there are none."""
    wanted = tag.strip().lower().replace("_", "-")
    base = wanted.partition("-")[0]
    exact = next((language for language in LANGUAGES if language.tag.lower() == wanted), None)
    return exact or next((language for language in LANGUAGES if language.tag.partition("-")[0] == base), None)
