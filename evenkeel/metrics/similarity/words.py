"""Words of a text, its content words, and word stems."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(
    # A Chinese or Japanese character is a token of its own; in other scripts a run of letters or digits is
    # one. "_" separates words, as in the rouge-score package.
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)

_SPOKEN = "abcdefghijklmnopqrstuvwxyz0123456789"
# Translates ASCII punctuation to spaces: splitting at spaces is several times as fast as the pattern above.
_PLAIN = dict.fromkeys(set(range(128)).difference(map(ord, _SPOKEN + _SPOKEN.upper())), " ")
# Quotes, dashes, dots and bullets: often the only characters of an English text that are not ASCII.
_TYPOGRAPHY = "\u2019\u2018\u201c\u201d\u2013\u2014\u2026\u2022"

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
"""English function words, which carry no content."""


def words(text: str) -> list[str]:
    """Return the lower-case words in order. Equal to the rouge-score package's tokens on ASCII text.

    Cached, because every metric reads the same answers. The caller may change the returned list.
    """
    # Short texts are split as fast as they are looked up, and would evict the answers from the cache.
    return list(_kept(text)) if _SHORTEST_KEPT <= len(text) <= _LONGEST_KEPT_TEXT else _words(text)


def _words(text: str) -> list[str]:
    plain = text
    if not plain.isascii():
        for mark in _TYPOGRAPHY:
            plain = plain.replace(mark, " ")
    return plain.translate(_PLAIN).lower().split() if plain.isascii() else _WORD.findall(text.lower())


def content_words(text: str) -> frozenset[str]:
    """Return the distinct lower-case words that are not function words.

    A text of nothing but function words keeps them, so that "yes" and "no, it is" differ.
    """
    every = frozenset(words(text))
    return every - GLUE or every


_SHORTEST_KEPT, _LONGEST_KEPT_TEXT = 200, 20_000


@lru_cache(maxsize=128)
def _kept(text: str) -> tuple[str, ...]:
    return tuple(_words(text))


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


# Shorter stems would make one of many words ("as", "is").
_STEM_MIN_LENGTH = 3
# Most letters of a word whose stem is cached. Longer strings are not real words and would fill memory.
_LONGEST_KEPT = 40
# Cached, because answers repeat the same words.
_kept_stem = lru_cache(maxsize=4096)(_stem)
