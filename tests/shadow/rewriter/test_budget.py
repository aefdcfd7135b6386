"""Rewriting sets its cost aside, books it, and stops at an empty budget."""

from __future__ import annotations

import asyncio

import pytest

from evenkeel.core.budget import Budget, RouteBudget
from evenkeel.stores.sqlite.budget import SqliteCostTracker
from evenkeel.stores.sqlite.database import Database
from tests.shadow.rewriter.scripted_rewriter import GOOD, TASK, TEXT, CountedBudget, play, said


def test_an_empty_budget_does_not_speak_for_another():
    """A caller who shares a task with one without a budget still gets the text."""

    async def act(scene):
        return await asyncio.gather(
            scene.rewriter.rewrite(TASK, CountedBudget(0)), scene.rewriter.rewrite(TASK, scene.budget)
        )

    outcomes, _ = play([said(GOOD)], act=act)
    assert outcomes[0].reason == "budget"
    assert outcomes[1] == GOOD


def test_without_a_budget_nothing_is_called():
    """A used-up budget is a rejection of its own."""
    outcome, scene = play([said(GOOD)], limit=100)
    assert outcome.reason == "budget"
    assert scene.model.asked == []
    assert scene.counts == {"rejected_budget": 1}


def test_spending_is_booked_for_the_route(tmp_path):
    """Tokens and dollars of every attempt stand in the route's account, under the rewriter."""
    database = Database(tmp_path / "store.db")
    costs = SqliteCostTracker(database, Budget(tokens_per_day=100_000), lambda: 0.0)

    async def act(scene):
        return await scene.rewriter.rewrite(TASK, RouteBudget(costs, "support", "rewriter"))

    outcome, _ = play([said(TEXT), said(GOOD)], act=act, price=lambda _, prompt, *_more: prompt * 1e-6)
    assert outcome == GOOD
    assert costs.today("support").tokens == 660
    assert costs.today("support").usd == pytest.approx(600e-6)
    database.close()
