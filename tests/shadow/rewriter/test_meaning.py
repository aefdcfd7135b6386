"""The judge of equal meaning: what it is asked, what its ratings mean, what it costs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evenkeel.core.budget import Spend
from evenkeel.core.verdict import Failure
from evenkeel.metrics.judge.reply import Reply, Ruling
from evenkeel.shadow.rewriter import JudgedMeaning

if TYPE_CHECKING:
    from evenkeel.metrics.judge.prompts import Question

ORIGINAL = "Please do not close the window before the rain stops."
REWRITTEN = "Kindly leave the window open until it no longer rains."


class Fixed:
    """A judge that always replies the same."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> Reply:
        self.asked.append(question)
        return self.reply


class Account:
    """A budget that notes what is reserved and settled."""

    def __init__(self, *, full: bool = True) -> None:
        self.full = full
        self.reserved: list[Spend] = []
        self.settled: list[tuple[Spend, Spend]] = []

    def reserve(self, estimate: Spend) -> bool:
        self.reserved.append(estimate)
        return self.full

    def settle(self, estimate: Spend, spent: Spend) -> None:
        self.settled.append((estimate, spent))


@pytest.mark.parametrize(
    ("outcome", "same"),
    [
        (Ruling(3, ""), True),
        (Ruling(2, ""), False),
        (Ruling(1, ""), False),
        (Failure("equal_meaning", 1, "timeout"), None),
    ],
)
def test_only_the_highest_rating_is_the_same(outcome, same) -> None:
    """A judge that fails could not tell; whatever it says is paid for as it reports."""
    judge, budget = Fixed(Reply(outcome, 400, 20, 0.25)), Account()
    assert asyncio.run(JudgedMeaning(judge, budget)(ORIGINAL, REWRITTEN)) is same
    (estimate,) = budget.reserved
    assert budget.settled == [(estimate, Spend(420, 0.25))]
    assert ORIGINAL in judge.asked[0].messages[-1].content
    assert REWRITTEN in judge.asked[0].messages[-1].content


def test_without_a_budget_the_judge_is_not_asked() -> None:
    """Then nobody can tell, and nothing is booked."""
    judge, budget = Fixed(Reply(Ruling(3, ""))), Account(full=False)
    assert asyncio.run(JudgedMeaning(judge, budget)(ORIGINAL, REWRITTEN)) is None
    assert judge.asked == budget.settled == []
