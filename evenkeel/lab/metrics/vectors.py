"""Vectors of texts: pooled from the pieces of long texts, and compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]


def pieces(text: str, most_words: int) -> list[str]:
    """Split a text into pieces of so many words; a short text is kept as written, line breaks included."""
    tokens = text.split()
    if len(tokens) <= most_words:
        return [text]
    pieces = []
    for start in range(0, len(tokens), most_words):
        pieces.append(" ".join(tokens[start : start + most_words]))
    return pieces


def pool(parts: Sequence[str], vectors: Sequence[Vector]) -> tuple[float, ...]:
    """Return one unit vector of a text: its pieces' unit vectors, weighted by their number of words."""
    units = [unit(vector) for vector in vectors]
    if len(units) == 1:
        return units[0]
    weighted = []
    for part, vector in zip(parts, units, strict=True):
        weight = max(1, len(part.split()))
        weighted.append([weight * x for x in vector])
    return unit(list(map(math.fsum, zip(*weighted, strict=True))))


def unit(vector: Vector) -> tuple[float, ...]:
    """Return the vector scaled to length 1; a vector of zeros stays one.

    Raises:
        ValueError: A number is not finite, or all together are beyond what a float holds.
    """
    norm = math.hypot(*vector)
    if not math.isfinite(norm):
        raise ValueError("a vector is not finite")
    return tuple(float(x) / norm for x in vector) if norm else tuple(map(float, vector))


def cosine(left: Vector, right: Vector) -> float:
    """Return the cosine of two unit vectors, negative values cut to 0.

    Raises:
        ValueError: They have different lengths.
    """
    return min(1.0, max(0.0, math.fsum(a * b for a, b in zip(left, right, strict=True))))
