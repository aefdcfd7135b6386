"""Words of a text: those that carry content, and the spellings that count as one word."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist, extractOne

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


_WORD = re.compile(
    # Scripts written without spaces give one token a character; every other run of letters or
    # digits is one. "_" separates, as in the rouge-score package.
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)

_SPOKEN = "abcdefghijklmnopqrstuvwxyz0123456789"
_PLAIN = str.maketrans({mark: " " for mark in map(chr, range(128)) if mark.lower() not in _SPOKEN})
"""Translation of ASCII marks to spaces.

Cutting ASCII texts at spaces is several times as fast as a regular expression.
"""
_TYPOGRAPHY = "\u2019\u2018\u201c\u201d\u2013\u2014\u2026\u2022"
"""Quotes, dashes, dots and bullets, which are often all that keeps an English text from being ASCII."""

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
"""Least letters of a word that may hold a typo; in a shorter one an edit makes another word (cat, car)."""
_TWO_TYPOS_MIN_LENGTH = 8
_TYPO_MAX_LENGTH = 80
"""Most letters of a word that may hold a typo.

A longer run of letters is no word, and comparing two takes time in proportion to the product of their
lengths.
"""
_MOST_MISSPELT = 1_000
"""Most words of a side that are compared letter by letter.

The time grows with the product of both sides.
"""


def words(text: str) -> list[str]:
    """Return the lower-case words in order. Equal to the rouge-score package's tokens on ASCII text.

    Answers are kept after being read, as every metric reads the same; the list is the caller's own.
    """
    return list(_kept(text).in_order) if _is_kept(text) else _words(text)


def _words(text: str) -> list[str]:
    plain = text
    if not plain.isascii():
        for mark in _TYPOGRAPHY:
            plain = plain.replace(mark, " ")
    return plain.translate(_PLAIN).lower().split() if plain.isascii() else _WORD.findall(text.lower())


def content_words(text: str) -> frozenset[str]:
    """Return the distinct lower-case words that are not function words.

    Texts of glue alone keep all their words, so that "yes" and "no, it is" differ.
    """
    return _kept(text).content if _is_kept(text) else _content(_words(text))


def forget() -> None:
    """Forget the texts that were read, for measurements of what reading costs."""
    _kept.cache_clear()


def _is_kept(text: str) -> bool:
    # Single values are read as quickly as they are found, and would drive the answers out.
    return _SHORTEST_KEPT <= len(text) <= _LONGEST_KEPT_TEXT


_SHORTEST_KEPT, _LONGEST_KEPT_TEXT = 200, 20_000


class _Words(NamedTuple):
    """Text that was read."""

    in_order: tuple[str, ...]
    content: frozenset[str]


@lru_cache(maxsize=128)
def _kept(text: str) -> _Words:
    found = _words(text)
    return _Words(tuple(found), _content(found))


def _content(found: Iterable[str]) -> frozenset[str]:
    every = frozenset(found)
    return every - GLUE or every


def stem(word: str) -> str:
    """Return the word without its commonest English endings: "restarted" and "restarts" give the same stem.

    Crude on purpose: it only has to bring forms of a word together, not to give a real word.
    """
    return _kept_stem(word) if len(word) <= _LONGEST_KEPT else _stem(word)


def _stem(word: str) -> str:
    if not word.isalpha():
        return word
    for ending, rest in (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("ly", "")):
        if word.endswith(ending) and len(word) - len(ending) >= _STEM_MIN_LENGTH and not word.endswith("ss"):
            word = word[: -len(ending)] + rest
            break
    return word[:-1] if word.endswith("e") and len(word) > _STEM_MIN_LENGTH else word


_STEM_MIN_LENGTH = 3
_LONGEST_KEPT = 40
"""Most letters of a word whose stem is cached; longer words are no words, and would fill memory."""
_kept_stem = lru_cache(maxsize=4096)(_stem)
"""Cached stems: the same words come in every answer."""


def same_word(word: str, other: str) -> bool:
    """Return whether two lower-case words are the same, a typo aside.

    Alphabetic words of four letters and more may differ by one edit (insertion, deletion,
    substitution, swap of neighbours), of eight and more by two. Words with digits must be equal.
    """
    return word == other or OSA.distance(word, other, score_cutoff=_typos(word, other)) <= _typos(word, other)


def matched_count(some: Collection[str], others: Collection[str]) -> int:
    """Count the words of `some` that occur in `others` in any form, typos aside."""
    stems = set(map(stem, others))
    rest = [word for word in some if stem(word) not in stems]
    return len(some) - len(rest) + _near_count(rest, misspellable(others))


def misspellable(words: Iterable[str]) -> list[str]:
    """Return the words in which a typo may be forgiven, in order."""
    return [word for word in words if _TYPO_MIN_LENGTH <= len(word) <= _TYPO_MAX_LENGTH and word.isalpha()]


def nearest(word: str, others: Collection[str]) -> str | None:
    """Return the nearest of the `misspellable` words if it is the same word; None if none is."""
    allowed = _typos(word, word)
    if not allowed:
        return None
    found = extractOne(word, others, scorer=OSA.distance, score_cutoff=allowed)
    if found is None or same_word(word, found[0]):
        return found and found[0]
    # Two typos from a short word came before two typos from a long one, where they are forgiven.
    return next((other for other in others if same_word(word, other)), None)


def few(words: Sequence[str]) -> Sequence[str]:
    """Return the words, or the first of very many in an order that is the same in every process."""
    return words if len(words) <= _MOST_MISSPELT else sorted(words)[:_MOST_MISSPELT]


_CELLS = 1_000_000
"""Number of distances that are held at once."""


def _near_count(some: Iterable[str], others: Sequence[str]) -> int:
    """Count the words of `some` that have a near match among the `misspellable` words of `others`.

    All distances in one call: a tenth of the time of a search for each word, and other threads can run
    meanwhile.
    """
    sought, others = few(misspellable(some)), few(others)
    if not sought or not others:
        return 0
    long = np.array([len(other) >= _TWO_TYPOS_MIN_LENGTH for other in others])
    rows, count = max(1, _CELLS // len(others)), 0
    for start in range(0, len(sought), rows):
        part = sought[start : start + rows]
        edits = cdist(part, others, scorer=OSA.distance, score_cutoff=2, dtype=np.uint8)
        two = np.array([len(word) >= _TWO_TYPOS_MIN_LENGTH for word in part])[:, None] & long
        count += int(np.count_nonzero((edits <= 1 + two).any(axis=1)))
    return count


def _typos(word: str, other: str) -> int:
    """Return the number of edits by which two words may differ and still be the same."""
    length = min(len(word), len(other))
    if (
        length < _TYPO_MIN_LENGTH
        or max(len(word), len(other)) > _TYPO_MAX_LENGTH
        or not (word.isalpha() and other.isalpha())
    ):
        return 0
    return 1 if length < _TWO_TYPOS_MIN_LENGTH else 2
