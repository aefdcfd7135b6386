"""Words of a text, which of them carry content, and when two spellings are the same word."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import OSA

if TYPE_CHECKING:
    from collections.abc import Collection

_WORD = re.compile(
    # Scripts written without spaces give one token a character; every other run of letters or
    # digits is one. "_" separates, as in the rouge-score package.
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)

NEGATIONS = frozenset(("no", "not", "never", "none", "neither", "nor", "without", "cannot", "nothing"))
"""Words that turn a statement around. "n't" counts as well, see `negation_count`."""

_GLUE = """
a about after all also although am an and any are as at be because been before being between both
but by can could d did do does doing done during each few for from had has have having he hence her
here hers him his how however i if in into is it its itself just ll m may me might more most must my
of off on once only or other our ours out over own per re s shall she should since so some such t
than that the their theirs them then there therefore these they this those though through thus to
too under until up upon us ve very via was we were what when where which while who whom why will
with within would you your yours
"""
GLUE = frozenset(_GLUE.split())
"""English function words: they hold sentences together and say nothing about the case."""

_TYPO_MIN_LENGTH = 4
"""Below it one edit makes another word too easily (cat, car)."""
_TWO_TYPOS_MIN_LENGTH = 8


def words(text: str) -> list[str]:
    """Lower-case words in order. Equal to the rouge-score package's tokens on ASCII text."""
    return _WORD.findall(text.lower())


def content_words(text: str) -> frozenset[str]:
    """Distinct lower-case words that are not glue.

    Texts of glue alone keep all their words, so that "yes" and "no, it is" can be told apart.
    """
    every = frozenset(words(text))
    return every - GLUE or every


def stem(word: str) -> str:
    """The word without its commonest English endings; the same for "restart", "restarted", "restarts".

    Crude on purpose: it only has to bring forms of a word together, not to give a real word.
    """
    if not word.isalpha():
        return word
    return _kept_stem(word) if len(word) <= _LONGEST_KEPT else _stem(word)


def _stem(word: str) -> str:
    for ending, rest in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("ly", "")):
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_MIN_LENGTH and not word.endswith("ss"):
            word = word[: -len(ending)] + rest
            break
    return word[:-1] if word.endswith("e") and len(word) > _STEM_MIN_LENGTH else word


_STEM_MIN_LENGTH = 3
_LONGEST_KEPT = 40
"""Longer words are no words, and would fill memory."""
_kept_stem = lru_cache(maxsize=16_384)(_stem)
"""The same words come in every answer."""


def negation_count(text: str) -> int:
    """How often a text negates: the words of `NEGATIONS` and contractions in n't."""
    lowered = text.lower().replace("\u2019", "'")
    return sum(word in NEGATIONS for word in words(lowered)) + lowered.count("n't")


def same_word(word: str, other: str) -> bool:
    """Whether two lower-case words are one word, a typo aside.

    Alphabetic words of four letters and more may differ by one edit (insertion, deletion,
    substitution, swap of neighbours), of eight and more by two. Words with digits must be equal.
    """
    return word == other or OSA.distance(word, other, score_cutoff=_typos(word, other)) <= _typos(word, other)


def find_word(word: str, others: Collection[str]) -> str | None:
    """The word of `others` that is the same word as `word`, a typo aside; None if there is none."""
    if word in others:
        return word
    return _nearest(word, _with_typos(others)) if _typos(word, word) else None


def matched_count(some: Collection[str], others: Collection[str]) -> int:
    """How many words of `some` occur in `others` in any form, typos aside."""
    stems = {stem(other) for other in others}
    # Sorted out once: most words of an answer to another question come as far as being searched for.
    misspelled = _with_typos(others)
    return sum(stem(word) in stems or _nearest(word, misspelled) is not None for word in some)


def _with_typos(others: Collection[str]) -> list[str]:
    """The words that a typo may be forgiven in."""
    return [other for other in others if len(other) >= _TYPO_MIN_LENGTH and other.isalpha()]


def _nearest(word: str, others: list[str]) -> str | None:
    """The nearest of words that may have typos, if it is the same word."""
    allowed = _typos(word, word)
    if not allowed:
        return None
    found = process.extractOne(word, others, scorer=OSA.distance, score_cutoff=allowed)
    return found[0] if found and same_word(word, found[0]) else None


def _typos(word: str, other: str) -> int:
    """Edits that two words may differ by and still be one."""
    length = min(len(word), len(other))
    if length < _TYPO_MIN_LENGTH or not (word.isalpha() and other.isalpha()):
        return 0
    return 1 if length < _TWO_TYPOS_MIN_LENGTH else 2
