"""What rewriting costs: set aside, booked, and never more than the budget by more than a call."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pytest

from evenkeel.core.budget import Budget, RouteBudget
from evenkeel.shadow.perturbations.protocol import RewriteTask
from evenkeel.shadow.rewriter import Rejection
from evenkeel.stores.sqlite.budget import SqliteCostTracker
from evenkeel.stores.sqlite.database import Database
from tests.shadow.rewriter.scripted_rewriter import GOOD, TASK, TEXT, CountedBudget, Scene, play, said

if TYPE_CHECKING:
    from tests.llm.scripted import Canned


def test_an_empty_budget_does_not_speak_for_another() -> None:
    """Who shares a task with a caller without a budget still gets the text for his own."""

    async def act(scene: Scene) -> list[Any]:
        return await asyncio.gather(
            scene.rewriter.rewrite(TASK, CountedBudget(0)), scene.rewriter.rewrite(TASK, scene.budget)
        )

    outcomes, _ = play([said(GOOD)], act=act)
    assert outcomes[0].reason == "budget"
    assert outcomes[1] == GOOD


def test_without_a_budget_nothing_is_called() -> None:
    """A used-up budget is a rejection of its own."""
    outcome, scene = play([said(GOOD)], limit=100)
    assert outcome.reason == "budget"
    assert scene.model.asked == []
    assert scene.counts == {"rejected_budget": 1}


@pytest.mark.parametrize("limit", [4_000, 10_000, 60_000])
def test_the_budget_is_never_passed_by_more_than_one_call(limit) -> None:
    """Sixty different tasks at once, half of them failing the gate: what is spent stays in the budget."""

    def script(request: dict[str, Any]) -> Canned:
        text = re.search(r"Case (\w+) is", request["messages"][-1]["content"])
        assert text is not None
        worse = len(text[1]) % 2 == 0
        return said(f"Case {text[1]} is one where the printer upstairs does not work." if not worse else "")

    async def act(scene: Scene) -> list[Any]:
        names = ["x" * (2 + number % 17) + "abcdefgh"[number % 8] + "yz"[number % 2] for number in range(60)]
        tasks = [
            RewriteTask("paraphrase", f"Case {name} is that the printer upstairs is broken.")
            for name in names
        ]
        return await asyncio.gather(*(scene.rewriter.rewrite(task, scene.budget) for task in tasks))

    outcomes, scene = play(script, act=act, limit=limit, concurrency=16)
    assert scene.budget.spent <= limit + scene.budget.largest
    assert scene.budget.overrun == 0
    assert scene.budget.spent == 330 * len(scene.model.asked)
    assert scene.model.most_under_way > 1 or limit < 10_000
    if limit < 60_000:
        assert any(isinstance(one, Rejection) and one.reason == "budget" for one in outcomes)


def test_the_budget_holds_with_a_model_that_costs_more_than_was_set_aside() -> None:
    """A model that ignores the limit passes the budget by its last calls only, then nothing is called."""
    greedy = said(GOOD)
    greedy.body["usage"] = {"prompt_tokens": 300, "completion_tokens": 9_000, "total_tokens": 9_300}
    tasks = [RewriteTask("paraphrase", f"{TEXT} {'Please. ' * number}") for number in range(8)]

    async def act(scene: Scene) -> list[Any]:
        return [await scene.rewriter.rewrite(task, scene.budget) for task in tasks]

    outcomes, scene = play([greedy], act=act, limit=12_000)
    assert scene.budget.spent <= 12_000 + 9_300
    assert outcomes[-1].reason == "budget"


def test_spending_is_booked_for_the_route(tmp_path) -> None:
    """Tokens and dollars of every attempt stand in the route's account, under the rewriter."""
    database = Database(tmp_path / "store.db")
    costs = SqliteCostTracker(database, Budget(tokens_per_day=100_000), lambda: 0.0)

    async def act(scene: Scene) -> Any:
        return await scene.rewriter.rewrite(TASK, RouteBudget(costs, "support", "rewriter"))

    outcome, _ = play([said(TEXT), said(GOOD)], act=act, price=lambda _, prompt, *_more: prompt * 1e-6)
    assert outcome == GOOD
    assert costs.today("support").tokens == 660
    assert costs.today("support").usd == pytest.approx(600e-6)
    database.close()
