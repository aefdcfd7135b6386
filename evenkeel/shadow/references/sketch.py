"""Sketches of prompts: small vectors whose cosine grows with what two prompts have in common."""

from __future__ import annotations

import math
import re
from collections import Counter
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenkeel.shadow.prompt import PromptView

_WORD: Final = re.compile(r"\w+")
_HASH_BYTES: Final = 8
# Enough to tell questions apart, and small enough to be kept for each of them.
_DIMENSIONS: Final = 32
# About the length of a sketch: its numbers are small.
_LENGTH: Final = 40
_GRAM: Final = 4
# Characters read of the beginning and of the end of what is sketched.
_SKETCHED: Final = 8_000
# Weight of what the user said, the square of which is its part in the likeness of two prompts.
_INPUT_WEIGHT: Final = 0.9


def sketch_of(view: PromptView) -> tuple[int, ...]:
    """Return a sketch of a prompt: the cosine of two grows with the words and letters that the prompts share.

    What users and documents say weighs four times what the application's template does.
    """
    texts = [segment.text for segment in view.segments if segment.kind == "input"]
    rest = [segment.text for segment in view.segments if segment.kind != "input"]
    both = _INPUT_WEIGHT * _projected(texts) + math.sqrt(1 - _INPUT_WEIGHT**2) * _projected(rest)
    length = float(np.linalg.norm(both))
    if not length:
        return (0,) * _DIMENSIONS
    return tuple(int(number) for number in np.rint(both * (_LENGTH / length)))


def _projected(texts: Iterable[str]) -> NDArray[np.float64]:
    """Return the signed sums of a text's grams, scaled to length one; zeros for an empty text."""
    text = "\n".join(texts)
    if len(text) > 2 * _SKETCHED:
        text = f"{text[:_SKETCHED]}\n{text[-_SKETCHED:]}"
    words = _WORD.findall(text.casefold())
    counts = Counter(_grams(words))
    if not counts:
        return np.zeros(_DIMENSIONS)
    hashes = np.array([_hash(gram) for gram in counts], dtype=np.uint64)
    weights = np.sqrt(np.array(list(counts.values()), dtype=np.float64))
    signs = (hashes[:, None] >> np.arange(_DIMENSIONS, dtype=np.uint64)) & np.uint64(1)
    summed: NDArray[np.float64] = weights @ (2.0 * signs - 1.0)
    length = float(np.linalg.norm(summed))
    return summed / length if length else summed


def _grams(words: Sequence[str]) -> Iterable[str]:
    """Yield words, pieces of words, and pairs of words."""
    for word in words:
        yield word
        marked = f"<{word}>"
        for start in range(len(marked) - _GRAM + 1):
            yield marked[start : start + _GRAM]
    for word, other in pairwise(words):
        yield f"{word} {other}"


def _hash(word: str) -> int:
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "big")
