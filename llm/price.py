"""What calls cost, and who says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Price = Callable[[str, int, int], float]
"""US dollars for (model, prompt tokens, completion tokens)."""


class Expense(NamedTuple):
    """Tokens, prompt and completion together, and US dollars."""

    tokens: int
    usd: float

    def plus(self, other: Expense) -> Expense:
        """The sum of both."""
        return Expense(self.tokens + other.tokens, self.usd + other.usd)


NO_EXPENSE = Expense(0, 0.0)


def free(model: str, prompt_tokens: int, completion_tokens: int) -> float:  # noqa: ARG001 - a Price
    """The default price: nothing."""
    return 0.0
