"""The judge of equal meaning: what it is asked, what its ratings mean, who pays."""

import asyncio

import pytest

from evenkeel.core.budget import Spend
from evenkeel.core.verdict import Failure
from evenkeel.metrics.judge.reply import Reply, Ruling
from evenkeel.shadow.rewriter import JudgedMeaning

ORIGINAL = "Please do not close the window before the rain stops."
REWRITTEN = "Kindly leave the window open until it no longer rains."


class Fixed:
    """A judge that always replies the same."""

    def __init__(self, reply):
        self.reply = reply
        self.asked = []

    async def ask(self, question, *, budget=None):
        assert budget is not None
        self.asked.append(question)
        self.budget = budget
        return self.reply


@pytest.mark.parametrize(
    ("outcome", "same"),
    [
        (Ruling(3, ""), True),
        (Ruling(2, ""), False),
        (Ruling(1, ""), False),
        (Failure("equal_meaning", 1, "timeout"), None),
    ],
)
def test_only_the_highest_rating_is_the_same(outcome, same):
    """A judge that fails could not tell; its calls are booked to the budget."""
    judge, budget = Fixed(Reply(outcome, Spend(420, 0.25))), object()
    assert asyncio.run(JudgedMeaning(judge, budget)(ORIGINAL, REWRITTEN)) is same
    assert judge.budget is budget
    assert ORIGINAL in judge.asked[0].messages[-1].content
    assert REWRITTEN in judge.asked[0].messages[-1].content
