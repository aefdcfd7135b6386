"""Amounts, and how one call is booked; the daily budgets themselves are tested over every store."""

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.budget import NOTHING, Spend, booked


@given(st.integers(0, 10**7), st.floats(0, 100), st.integers(1, 20))
def test_parts_add_up(tokens, usd, count):
    """Tokens add up exactly, and dollars to the last bit that a float has."""
    parts = Spend(tokens, usd).parts(count)
    assert len(parts) == count
    assert sum(part.tokens for part in parts) == tokens
    assert sum(part.usd for part in parts) == pytest.approx(usd, rel=1e-12, abs=1e-15)
    assert max(part.tokens for part in parts) - min(part.tokens for part in parts) <= 1


class Noted:
    """A budget that takes its time."""

    def __init__(self):
        self.spent = []
        self.held = threading.Event()
        self.goes_on = threading.Event()

    def reserve(self, estimate):
        self.held.set()
        return self.goes_on.wait(240)

    def settle(self, estimate, spent):
        self.spent.append(spent)


ESTIMATE = Spend(5, 1.0)


async def never():
    raise AssertionError("nothing is sent")


def test_who_is_cancelled_while_a_budget_is_asked_gives_back():
    async def scene():
        budget = Noted()
        asking = asyncio.create_task(booked(budget, ESTIMATE, never, lambda _: NOTHING))
        await asyncio.to_thread(budget.held.wait, 240)
        asking.cancel()
        await asyncio.sleep(0)
        budget.goes_on.set()
        await asyncio.gather(asking, return_exceptions=True)
        return asking.cancelled(), budget.spent

    assert asyncio.run(scene()) == (True, [NOTHING])
