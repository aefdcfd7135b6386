"""Text in other words by rule: English only, nothing in it lost."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from evenkeel.experiments.calibrate.degrade.phrases import (
    ENGLISH_ONLY,
    FOREIGN,
    FRAMES,
    OPENERS,
    PHRASES,
    SHARED,
)
from evenkeel.experiments.calibrate.degrade.workflow.phrases import ENGLISH, VERBS

if TYPE_CHECKING:
    import random

_KNOWN: Final = re.compile(
    r"(?<![\w'’-])(?:" + "|".join(sorted(map(re.escape, PHRASES), key=len, reverse=True)) + r")(?![\w'’-])",
    re.IGNORECASE,
)
_VERB: Final = re.compile(
    r"(?:" + "|".join(sorted(map(re.escape, VERBS), key=len, reverse=True)) + r")(?![\w'’-])", re.IGNORECASE
)
_VERB_WORDS: Final = frozenset(verb.split()[0] for verb in VERBS)
_KEPT: Final = re.compile(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|`[^`\n]*`|\$[^$\n]{0,400}\$|https?://\S+|\]\([^()\n]{0,400}\)"
)
"""Quotations, code, formulas, addresses: said as they are."""
_ARTICLE: Final = re.compile(r"\ban?\s$", re.IGNORECASE)
_LABEL: Final = re.compile(r"(?:\*\*[^*\n]{1,80}\*\*\s*[:–-]?|[^\s:][^:.!?\n]{0,40}:)\s+")
_WORDS: Final = re.compile(r"[^\W\d_]+")
_LEAST_WORDS = 4


def reworded(text: str, rng: random.Random, *, orders: bool = False) -> str | None:
    """A sentence, item or value in other words.

    Every phrase of the table is replaced, its first letter's case kept and the article before it in tune;
    without any, "in other words" or the like is put in front. A label such as "**Note:**" stays at the front.

    Args:
        text: One unit.
        rng: Chooses among words.
        orders: Whether the text may be an instruction, whose verb at the beginning is replaced too.

    Returns: the other words, None where there is no rule: too short, or not recognisably English.
    """
    if not is_english(text):
        return None
    kept = [match.span() for match in _KEPT.finditer(text)]
    label = _LABEL.match(text)
    start = label.end() if label else 0

    def replaced(match: re.Match[str]) -> str:
        at = match.start()
        if at < start or any(begin <= at < end for begin, end in kept):
            return match[0]
        said = rng.choice(PHRASES[match[0].lower()])
        before = _ARTICLE.search(text, max(0, at - 3), at)
        if before and (said[0] in "aeiou") != (match[0][0].lower() in "aeiou"):
            return match[0]
        return said[:1].upper() + said[1:] if match[0][:1].isupper() else said

    said = _KNOWN.sub(replaced, text)
    if orders and (verb := _VERB.match(said, start)):
        other = rng.choice(VERBS[verb[0].lower()])
        other = other[:1].upper() + other[1:] if verb[0][:1].isupper() else other
        said = said[:start] + other + said[verb.end() :]
    if said != text:
        return said
    rest = text[start:]
    if len(rest.split()) < _LEAST_WORDS or not rest[:1].isalpha():
        return None
    plain = uncapitalised(rest)
    return text[:start] + rng.choice(FRAMES) + (", " if plain[0].islower() else ": ") + plain


def is_english(text: str) -> bool:
    """Whether a text seems to be in English, by its commonest words against those of its neighbours."""
    words = Counter(_WORDS.findall(text.lower()))
    own = sum(words[word] for word in ENGLISH_ONLY)
    other = sum(words[word] for word in FOREIGN)
    return own > other or (own == other == 0 and any(words[word] for word in SHARED))


def uncapitalised(text: str) -> str:
    """A sentence without the capital it began with, unless its first word may be a name."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    plain = first.lower()
    is_word = first[1:] == first[1:].lower() and (
        plain in ENGLISH or plain in OPENERS or plain in _VERB_WORDS
    )
    return text[:1].lower() + text[1:] if is_word else text
