"""What was asked for and not tried, and why: kinds with one reason share a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core import rewordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.stores.counters import Untried

_NAMED: Final = 3
"""So many kinds of a category are named on a line; more are counted."""

_REASONS: Final = {
    "no_rewriter": "needs a rewriter: set rewriter.model",
    "no_judge": "needs a judge, since answers in two languages are compared: set judge.model",
    "budget": "the day's budget is spent",
    "budget_pace": "held back so that the budget lasts the day",
    "no_input": "the prompt holds no text of a user",
    "nothing_to_change": "no place in the input can be changed in this way",
}


@dataclass(frozen=True, slots=True)
class UntriedLine:
    """Kinds of one category that were not tried on a route for one reason."""

    route: str
    kinds: str
    reason: str
    count: str
    """How often, "always" if they can't run as things are set."""


def untried_lines(untried: Sequence[Untried]) -> tuple[UntriedLine, ...]:
    """Group by route, category and reason; what can never run comes first, then the most frequent."""
    groups: dict[tuple[str, str, str, bool], list[Untried]] = {}
    for one in untried:
        key = (one.route, rewordings.category(one.perturbation).name, one.reason, one.count is None)
        groups.setdefault(key, []).append(one)
    ordered = sorted(groups.items(), key=lambda item: (not item[0][3], -_total(item[1]), item[0]))
    return tuple(
        UntriedLine(
            route,
            _kinds(category, found),
            reason_in_words(reason),
            "always" if always else f"{_total(found):,}",
        )
        for (route, category, reason, always), found in ordered
    )


def reason_in_words(reason: str) -> str:
    """A reason for people, with what to do where there is something to do."""
    return _REASONS.get(reason, reason.replace("_", " "))


def _total(found: Sequence[Untried]) -> int:
    return sum(one.count or 0 for one in found)


def _kinds(category: str, found: Sequence[Untried]) -> str:
    names = sorted({one.perturbation for one in found}, key=rewordings.position)
    return ", ".join(names) if len(names) <= _NAMED else f"{len(names)} kinds of {category}"
