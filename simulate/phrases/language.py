"""What the simulation can say in one language: stock phrases around topics and identifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Triple(NamedTuple):
    """Three clauses without a final mark, as an answer tells them."""

    problem: str
    event: str
    fix: str


class Labels(NamedTuple):
    """What stands before an identifier where an answer lists it."""

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
    """What a sender of each tone begins with."""

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
    """What the language is called in a prompt that asks for it, in lower case."""
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
    """Whether words are written with spaces between them."""
    stop: str = "."
    """The mark that ends a sentence."""


def words(text: str) -> frozenset[str]:
    """The words of a text that is nothing but words."""
    return frozenset(text.split())
