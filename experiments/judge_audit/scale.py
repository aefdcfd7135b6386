"""A rating scale of whole numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WRITTEN = re.compile(r"\A\s*\[?\s*(-?\d{1,4})\s*(?:\.\.|,|;|to|[-\u2013])\s*(-?\d{1,4})\s*\]?\s*\Z")
_MOST_STEPS = 101
"""0–100; structured output lists every rating that is allowed."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Every whole number from `low` (worst) to `high` (best)."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not self.low < self.high < self.low + _MOST_STEPS:
            raise ValueError(f"a scale goes from a lower to a higher number, at most 100 apart, not {self}")

    def __str__(self) -> str:
        return f"{self.low}\u2013{self.high}"

    @property
    def steps(self) -> tuple[int, ...]:
        """All ratings, ascending."""
        return tuple(range(self.low, self.high + 1))

    @classmethod
    def parse(cls, text: str) -> Scale:
        """Read "1-5", "1–5", "1..5", "1 to 5" or "[1, 5]"; ValueError says what is wrong."""
        written = _WRITTEN.match(text)
        if not written:
            raise ValueError(f'"{text}" is not a scale; write it like 1-5')
        return cls(int(written[1]), int(written[2]))
