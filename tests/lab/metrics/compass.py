"""An encoder whose vectors anybody can work out: texts are sums of the directions of their words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

AXES = {"north": (0.0, 1.0), "east": (1.0, 0.0), "south": (0.0, -1.0)}


def direction(text: str) -> list[float]:
    return [sum(AXES.get(word, (0.0, 0.0))[axis] for word in text.split()) for axis in range(2)]


def pair(reference: str, candidate: str) -> Pair:
    return Pair(Answer(reference), Answer(candidate), "")


def reason(outcome: float | Failure) -> str:
    assert isinstance(outcome, Failure)
    return outcome.reason


def by_mark(text: str) -> str | None:
    """Tells two languages by one word each."""
    return "en" if "north" in text else "de" if "nord" in text else None


class Compass:
    """A local encoder that remembers its batches and trips over "broken"."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        self.batches.append(list(texts))
        if "broken" in texts:
            raise ValueError("cannot encode")
        return [direction(text) for text in texts]
