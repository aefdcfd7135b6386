"""Stock phrases of each language that the simulated model writes and recognises."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, NamedTuple


class Triple(NamedTuple):
    """Three clauses of an incident report, without final punctuation."""

    problem: str
    event: str
    fix: str


class Labels(NamedTuple):
    """Labels before the identifiers in an answer."""

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
    """Opening sentence of a message in each tone."""

    formal: str
    casual: str
    urgent: str
    frustrated: str
    polite: str


@dataclass(frozen=True, slots=True)
class Phrases:
    """Stock phrases of one language. They contain no digits: every number comes from a prompt.

    The simulation can't translate. So the clauses don't describe the incident; they quote its topic as a
    proper noun.
    """

    tag: str
    """BCP 47 tag."""
    names: tuple[str, ...]
    """Lower-case names by which a prompt may ask for the language."""
    quote: str
    """Template that puts quotation marks around `{}`."""
    labels: Labels
    good: Triple | None
    """Texts whose `problem` contains `{topic}`; None = the catalogue's, which are in this language."""
    different: Triple | None
    worse: Triple
    """Texts whose `problem` contains `{topic}`, and whose `event` contains `{devices}` and `{minutes}`."""
    stock: tuple[str, ...]
    """Filler sentences for a simulated translation, without final punctuation."""
    function_words: frozenset[str]
    """Frequent lower-case words that identify the language."""
    rephrased: str
    """Opening of a paraphrase that could replace no word."""
    swaps: tuple[tuple[str, str], ...]
    """Pairs of synonyms; a paraphrase replaces the first with the second."""
    tones: Tones
    spaced: bool = True
    """True if words are written with spaces between them."""
    stop: str = "."
    """Punctuation mark that ends a sentence."""


def _phrases(tag: str, table: dict[str, Any]) -> Phrases:
    """Return the phrases of a language from its table in `phrases.toml`."""
    lists = {}
    for name in ("names", "stock"):
        lists[name] = tuple(table[name])
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
"""Phrases of all languages; English first."""
ENGLISH: Final = LANGUAGES[0]


def phrases_for(tag: str) -> Phrases | None:
    """Return the phrases for a BCP 47 tag, else for its base language; None if there are none."""
    wanted = tag.strip().lower().replace("_", "-")
    base = wanted.partition("-")[0]
    # Regional forms first: Canadian French is not French where both are spoken.
    for language in LANGUAGES:
        if language.tag.lower() == wanted:
            return language
    for language in LANGUAGES:
        if language.tag.partition("-")[0] == base:
            return language
    return None
