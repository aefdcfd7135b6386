"""Sketches of prompts: a few hashes of their words, of which prompts share as many as they share words."""

from __future__ import annotations

import re
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt import PromptView

_WORD: Final = re.compile(r"\w+")
# 48 bits, which every store and JSON reader keeps exactly.
_HASH_BYTES: Final = 6
# Enough to tell questions apart, and small enough to be kept for each of them.
_HASHES: Final = 64
# Characters read of the beginning and of the end of what is sketched.
_SKETCHED: Final = 8_000


def sketch_of(view: PromptView) -> tuple[int, ...]:
    """Return a hash of a prompt's text, and the smallest hashes of its words and pairs of words.

    Words are those of users and documents; those of the application's template count only where there are no
    others. Source: Broder 1997, for the smallest hashes.
    """
    texts = []
    for segment in view.segments:
        if segment.kind == "input":
            texts.append(segment.text)
    text = "\n".join(texts) or view.text
    if len(text) > 2 * _SKETCHED:
        text = f"{text[:_SKETCHED]}\n{text[-_SKETCHED:]}"
    words = _WORD.findall(text.casefold())
    grams = {*words, *map(" ".join, pairwise(words))}
    return _hash(view.text), *sorted(map(_hash, grams))[:_HASHES]


def alike(first: Sequence[int], other: Sequence[int]) -> float:
    """Return about what share of their words and pairs of words two prompts have in common, in [0, 1].

    It is 1 for equal prompts only.
    """
    if first[:1] == other[:1]:
        return 1.0
    smallest = sorted({*first[1:], *other[1:]})[:_HASHES]
    shared = set(first[1:]).intersection(other[1:], smallest)
    # Two prompts without a word are no more alike than any others.
    return min(len(shared) / max(1, len(smallest)), 0.99)


def _hash(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "big")
