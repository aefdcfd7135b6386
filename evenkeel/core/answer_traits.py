"""Traits of an answer, measured without knowing what it should say: names, units, scales.

A trait is written as a multiple of 0.02 in [0, 5.1]. Hashed traits (opening words, vocabulary) have no
unit of their own: they are reported together, under the name of their group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

VERSION: Final = 1
"""Version of the traits. Vectors of different versions cannot be compared."""
STEP: Final = 0.02
"""Step to which traits are rounded."""
MOST: Final = 255 * STEP

Scale = Literal["share", "rate", "number", "logarithm"]
"""Scale of a trait: the square root of a share, the square root of a rate per 1,000 characters, a small
number divided by `each`, or the logarithm of a count."""

_RATE: Final = 4.0
"""Square root of the rate, per 1,000 characters, that becomes a trait of 1: 16 per 1,000 characters."""
_LOGARITHM: Final = 3.0
"""Natural logarithm that becomes a trait of 1. The largest trait, 5.1, stands for four million characters."""


@dataclass(frozen=True, slots=True)
class Trait:
    """A number measured on an answer."""

    name: str
    """Name in snake case."""
    said: str
    """Name of the trait for people."""
    unit: str
    """Unit of the value, in the plural; "%" for a share."""
    scale: Scale
    each: float = 1.0
    """Value that becomes a trait of 1 on the scale "number"."""
    hashed: str = ""
    """Name of the hashed group the trait belongs to; "" for a trait that stands alone."""

    def scaled(self, value: float) -> float:
        """Return the trait of a value; 0 for negative values and NaN."""
        if not value > 0:
            return 0.0
        if self.scale == "share":
            found = math.sqrt(min(value, 1.0))
        elif self.scale == "rate":
            found = math.sqrt(value) / _RATE
        elif self.scale == "number":
            found = value / self.each
        else:
            found = math.log1p(value) / _LOGARITHM
        return round(round(min(found, MOST) / STEP) * STEP, 2)

    def value(self, scaled: float) -> float:
        """Return the value of a trait in its unit; a share is returned in percent."""
        if self.scale == "share":
            return 100 * scaled * scaled
        if self.scale == "rate":
            return (scaled * _RATE) ** 2
        if self.scale == "number":
            return scaled * self.each
        return math.expm1(scaled * _LOGARITHM)


def _hashed(name: str, said: str, count: int) -> tuple[Trait, ...]:
    return tuple(Trait(f"{name}_{number}", said, "%", "share", hashed=name) for number in range(count))


LANGUAGES: Final = _hashed("language", "language", 3)
OPENING_WORD: Final = _hashed("opening_word", "opening words", 8)
OPENING_PHRASE: Final = _hashed("opening_phrase", "opening words", 4)
CLOSING_WORD: Final = _hashed("closing_word", "closing words", 4)
VOCABULARY: Final = _hashed("vocabulary", "vocabulary", 16)

PLAIN: Final = (
    Trait("characters", "length of answers", "characters", "logarithm"),
    Trait("words", "words in an answer", "words", "logarithm"),
    Trait("lines", "lines in an answer", "lines", "logarithm"),
    Trait("words_a_sentence", "length of sentences", "words", "logarithm"),
    Trait("characters_a_word", "length of words", "characters", "number", 3.0),
    Trait("characters_a_token", "characters a token", "characters", "number", 2.0),
    Trait("long_words", "words of more than six letters", "%", "share"),
    Trait("refusal", "refusals", "%", "share"),
    Trait("apology", "answers that apologise or speak of an AI", "%", "share"),
    Trait("cut_off", "answers that were cut off", "%", "share"),
    Trait("odd_end", "answers that end by another finish reason than stop", "%", "share"),
    Trait("tool_calls", "tool calls in an answer", "calls", "number", 2.0),
    Trait("arguments", "length of tool arguments", "characters", "logarithm"),
    Trait("headings", "lines that are headings", "%", "share"),
    Trait("bullets", "lines that are bullet points", "%", "share"),
    Trait("numbered", "lines that are numbered", "%", "share"),
    Trait("tables", "lines of tables", "%", "share"),
    Trait("bold", "bold passages in an answer", "passages", "number", 4.0),
    Trait("code_blocks", "code blocks in an answer", "blocks", "number", 2.0),
    Trait("inline_code", "pieces of code within lines", "pieces", "number", 4.0),
    Trait("formulas", "formulas in an answer", "formulas", "number", 5.0),
    Trait("links", "links in an answer", "links", "number", 2.0),
    Trait("paragraphs", "lines that end a paragraph", "%", "share"),
    Trait("begins_object", "answers that begin with a brace or bracket", "%", "share"),
    Trait("begins_parenthesis", "answers that begin with a parenthesis", "%", "share"),
    Trait("begins_small", "answers that begin with a small letter", "%", "share"),
    Trait("ends_sentence", "answers that end with a full stop", "%", "share"),
    Trait("ends_bracket", "answers that end with a bracket", "%", "share"),
    Trait("ends_blank", "answers that end with white space", "%", "share"),
    Trait("begins_blank", "answers that begin with white space", "%", "share"),
    Trait("commas", "commas", "in 1,000 characters", "rate"),
    Trait("colons", "colons", "in 1,000 characters", "rate"),
    Trait("semicolons", "semicolons", "in 1,000 characters", "rate"),
    Trait("parentheses", "parentheses", "in 1,000 characters", "rate"),
    Trait("exclamations", "exclamation marks", "in 1,000 characters", "rate"),
    Trait("questions", "question marks", "in 1,000 characters", "rate"),
    Trait("quotes", "quotation marks", "in 1,000 characters", "rate"),
    Trait("apostrophes", "apostrophes", "in 1,000 characters", "rate"),
    Trait("hyphens", "hyphens", "in 1,000 characters", "rate"),
    Trait("dashes", "dashes", "in 1,000 characters", "rate"),
    Trait("equals", "equals signs", "in 1,000 characters", "rate"),
    Trait("digits", "characters that are digits", "%", "share"),
    Trait("capitals", "characters that are capital letters", "%", "share"),
    Trait("beyond_ascii", "characters beyond ASCII", "%", "share"),
    Trait("emoji", "emoji in an answer", "emoji", "number", 3.0),
    Trait("unlikeliness", "mean negative log-probability of a token", "nats", "number"),
)
"""Traits that stand for themselves."""

TRAITS: Final = (*PLAIN, *LANGUAGES, *OPENING_WORD, *OPENING_PHRASE, *CLOSING_WORD, *VOCABULARY)
"""All traits, in the order of a vector."""
