"""Vectors of texts: pooled from the pieces of long texts, cached, and compared."""

from __future__ import annotations

import hashlib
import math
import threading
from array import array
from collections import OrderedDict
from collections.abc import Sequence

Vector = Sequence[float]


class VectorCache:
    """Cache of vectors by model and text; the least recently used are dropped. Safe to share by threads."""

    def __init__(self, max_texts: int = 2048) -> None:
        """Keep at most `max_texts` vectors: of 384 numbers each, 2,048 take 6.5 MB."""
        self._max_texts = max_texts
        self._kept: OrderedDict[bytes, array[float]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, model: str, text: str) -> Vector | None:
        """Return the vector of a text by a model; None if it is not kept."""
        key = vector_key(model, text)
        with self._lock:
            vector = self._kept.get(key)
            if vector is not None:
                self._kept.move_to_end(key)
            return vector

    def put(self, model: str, text: str, vector: Vector) -> None:
        """Keep the vector of a text."""
        with self._lock:
            self._kept[vector_key(model, text)] = array("d", vector)
            while len(self._kept) > self._max_texts:
                self._kept.popitem(last=False)


def vector_key(model: str, text: str) -> bytes:
    """Return the cache key of a text's vector by a model: sixteen bytes."""
    return hashlib.blake2b(f"{model}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def pieces(text: str, most_words: int) -> list[str]:
    """Split a text into pieces of so many words; a short text is kept as written, line breaks included."""
    tokens = text.split()
    if len(tokens) <= most_words:
        return [text]
    return [" ".join(tokens[start : start + most_words]) for start in range(0, len(tokens), most_words)]


def pool(parts: Sequence[str], vectors: Sequence[Vector]) -> tuple[float, ...]:
    """Return one unit vector of a text: its pieces' unit vectors, weighted by their number of words."""
    units = [unit(vector) for vector in vectors]
    if len(units) == 1:
        return units[0]
    weights = [max(1, len(part.split())) for part in parts]
    weighted = ([weight * x for x in vector] for weight, vector in zip(weights, units, strict=True))
    return unit([math.fsum(column) for column in zip(*weighted, strict=True)])


def unit(vector: Vector) -> tuple[float, ...]:
    """Return the vector scaled to length 1; a vector of zeros stays one.

    Raises:
        ValueError: A number is not finite, or all together are beyond what a float holds.
    """
    norm = math.hypot(*vector)
    if not math.isfinite(norm):
        raise ValueError("a vector is not finite")
    return tuple(float(x) / norm for x in vector) if norm else tuple(float(x) for x in vector)


def cosine(left: Vector, right: Vector) -> float:
    """Return the cosine of two unit vectors, negative values cut to 0.

    Raises:
        ValueError: They have different lengths.
    """
    return min(1.0, max(0.0, math.fsum(a * b for a, b in zip(left, right, strict=True))))
