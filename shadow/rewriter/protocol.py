"""What the rewriter gives back, and what it needs from outside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from evenkeel.core.budget import CostTracker, Spend

Fault = Literal[
    "chatter",
    "unchanged",
    "wrong_language",
    "lost_protected",
    "invented_number",
    "structure",
    "length",
    "meaning",
]
"""What can be wrong with a rewritten text."""

Trouble = Literal[
    "timeout",
    "rate_limited",
    "server_error",
    "connection",
    "unauthorized",
    "bad_request",
    "bad_schema",
    "empty",
    "truncated",
    "refused",
    "circuit_open",
    "budget",
]
"""Why there is no text at all."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """No usable text. Counted by reason; the variant that needed it is not made."""

    reason: Fault | Trouble
    """Of the last attempt."""
    detail: str = ""
    """One sentence for people. Holds no credentials; may quote the text."""


class CallBudget(Protocol):
    """The money for one caller's calls. Its methods may block; they are called in a thread."""

    def reserve(self, estimate: Spend) -> bool:
        """Set aside what one call may cost; False, setting nothing aside, if that is too much."""
        ...

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """Release what was set aside and book what was spent."""
        ...


class RewriterBudget:
    """What the rewriter may spend for one route, out of the daily budgets. Calls block on storage."""

    def __init__(
        self, costs: CostTracker, route: str, booked: Callable[[Spend], None] = lambda _: None
    ) -> None:
        """Open the budget.

        Args:
            costs: Tracks the daily budgets.
            route: Whose budget is used.
            booked: Called with each amount that is booked.
        """
        self._costs = costs
        self._route = route
        self._booked = booked

    def reserve(self, estimate: Spend) -> bool:
        """Set an estimate aside; False, setting nothing aside, if a budget forbids it."""
        return self._costs.reserve(estimate, self._route) is None

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """Release a reservation and book what was really spent."""
        self._costs.settle(estimate, self._route, {"rewriter": spent})
        self._booked(spent)


class RewriteCache(Protocol):
    """Accepted texts by content. Its methods may block; they are called in a thread."""

    def get(self, key: str) -> str | None:
        """The text kept under the key; None if there is none."""
        ...

    def put(self, key: str, text: str) -> None:
        """Keep a text; the oldest goes when there are too many."""
        ...


EqualMeaning = Callable[[str, str], Awaitable[bool | None]]
"""(original, rewritten) → whether both say the same; None if that could not be told."""

Count = Callable[[str], None]
"""Told each outcome: "accepted", "cached", "shared", "rejected_<reason>"; and on the way there
"retried_<reason>", "stronger", "meaning_unknown"."""
