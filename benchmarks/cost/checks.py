"""Checks of the benchmark's draws, bills and comparisons against numbers worked out by hand."""

from __future__ import annotations

from math import isclose

from benchmarks.cost.bill import Bill, Length, Tariff
from benchmarks.cost.compare import ChangeOutcome
from benchmarks.cost.plans import ADAPTIVE, UNIFORM, SimulatedWorker, affected_cells
from benchmarks.cost.tables import ratios
from benchmarks.cost.world import (
    REGRESSIONS,
    REWORDINGS,
    ROUTES,
    VERSIONS,
    DrawnExchange,
    Regression,
    draw_exchange,
)
from evenkeel.core.verdict import BASELINE
from tests.kit.records import altered

QUIET_PROMPT = VERSIONS[0]._replace(floor=0.0)
UNMOVED = DrawnExchange(0, ROUTES[0], QUIET_PROMPT, frozenset(), frozenset(), 1)
# Dollars per token that are easy to add by hand.
CENTS = Tariff(
    "cents",
    prompt=0.01,
    cached=0.001,
    answer=0.02,
    waiting_prompt=0.005,
    waiting_cached=0.0005,
    waiting_answer=0.01,
    judge_prompt=0.003,
    judge_cached=0.0003,
    judge_answer=0.004,
    waiting_judge_prompt=0.0015,
    waiting_judge_cached=0.00015,
    waiting_judge_answer=0.002,
)


def _rewordings_move_an_answer_if_any_of_them_does() -> None:
    """Check that a rewording moves the answer by itself and in every group that holds it."""
    exchange = altered(UNMOVED, moving=frozenset({"general.tone"}))
    assert exchange.moved({"general.tone"}, "a")
    assert exchange.moved({"general.tone", "general.casing"}, "b")
    assert not exchange.moved({"general.casing"}, "c")
    assert not exchange.moved((), "resend")


def _two_rewordings_can_move_an_answer_only_together() -> None:
    """Check that a planted pair moves the answer if both are applied, and neither does alone."""
    exchange = altered(UNMOVED, pair=frozenset({"general.tone", "general.casing"}))
    assert exchange.moved({"general.tone", "general.casing", "general.spelling"}, "a")
    assert not exchange.moved({"general.tone"}, "b")


def _a_regression_reaches_the_stated_share_of_one_route() -> None:
    """Check that a regression by 15 points moves 15 % more of its route's exchanges, and none elsewhere."""
    regression = Regression("all", {"format.json": 0.15})
    added = 0
    for number in range(6_000):
        before = draw_exchange(1, number)
        after = draw_exchange(1, number, regression, ROUTES[0])
        if before.route == ROUTES[0]:
            added += len(after.moving) - len(before.moving)
        else:
            assert before.moving == after.moving
    # A third of the exchanges are the route's. A few of the 15 % had moved already.
    assert isclose(added / 2_000, 0.14, abs_tol=0.03)


def _the_plans_are_carried_out_by_the_workers_stages() -> None:
    """Check that both plans begin with a resend and two rewordings of an exchange."""
    for plan in (UNIFORM, ADAPTIVE):
        names = []
        for trial in SimulatedWorker(plan).make(draw_exchange(1, 0)):
            names.append(trial.verdict.perturbation)
        assert names[0] == BASELINE
        assert len(names[1:]) == len(set(names[1:])) == plan.trials
        assert set(names[1:]) <= set(REWORDINGS)


def _a_group_is_affected_with_any_of_its_rewordings() -> None:
    """Check that rewordings affect their own cells and those of every group that holds one of them."""
    assert affected_cells(frozenset({"general.tone"})) == {"general.tone", "together.3_general_1"}
    assert affected_cells(frozenset({"format.json"})) == {"format.json"}


def _a_bill_is_paid_in_three_ways() -> None:
    """Check the prices of pairs judged one by one, of pairs judged together, and of cheaper tiers."""
    bill = Bill(prompt=100, cacheable=40, answer=10, waiting_prompt=200, waiting_cacheable=80,
                waiting_answer=20, judge_prompt=50, grouped_prompt=30, judge_answer=5,
                judge_cacheable=10, waiting_judge_prompt=20, waiting_judge_cacheable=8,
                waiting_judge_answer=2)  # fmt: skip
    # Replays 300 · 0.01 + 30 · 0.02 = 3.6; judge 50 · 0.003 + 5 · 0.004 = 0.17.
    assert isclose(bill.plain_usd(CENTS), 3.77)
    assert isclose(bill.grouped_usd(CENTS), 3.71)
    # At once 60 · 0.01 + 40 · 0.001 + 10 · 0.02 = 0.84, later 120 · 0.005 + 80 · 0.0005 + 20 · 0.01 = 0.84;
    # judge 8 · 0.003 + 2 · 0.0003 + 3 · 0.004 + 12 · 0.0015 + 8 · 0.00015 + 2 · 0.002 = 0.0598.
    assert isclose(bill.lean_usd(CENTS), 1.7398)


def _every_trial_of_an_exchange_is_booked() -> None:
    """Check that a bill counts replays and their tokens, in the tier that they can have."""
    bill = Bill()
    trials = SimulatedWorker(UNIFORM).make(draw_exchange(1, 0))
    bill.book(Length(2_000, 10), [trial._replace(can_wait=False) for trial in trials])
    assert (bill.exchanges, bill.replays, bill.prompt, bill.answer) == (1, 3, 6_000, 30)
    # The whole prompt of the resend, and 60 % of those of the other two.
    assert bill.cacheable == 2_000 + 2 * 1_200
    bill.book(Length(2_000, 10), [trial._replace(can_wait=True) for trial in trials])
    assert (bill.waiting_prompt, bill.waiting_answer, bill.prompt) == (6_000, 30, 6_000)
    assert (bill.waiting_cacheable, bill.replays) == (4_400, 6)
    assert bill.grouped_prompt <= bill.judge_prompt


def _ratios_are_of_sums_over_the_plays() -> None:
    """Check that dollars and requests are summed over all plays of a change before they are divided."""

    def outcome(plan: str, requests: float, prompt: int) -> ChangeOutcome:
        return ChangeOutcome(plan, REGRESSIONS[0].name, 1, True, requests, Bill(prompt=prompt), Bill(), 0, 0)

    uniform = [outcome("uniform", 100, 300), outcome("uniform", 300, 500)]
    adaptive = [outcome("adaptive", 100, 100), outcome("adaptive", 200, 100)]
    (ratio,) = ratios(uniform, adaptive, CENTS)
    assert isclose(ratio.plain, 200 / 800)
    assert isclose(ratio.requests, 0.75)


def verify() -> None:
    """Run all checks.

    Raises: AssertionError if a check fails.
    """
    _rewordings_move_an_answer_if_any_of_them_does()
    _two_rewordings_can_move_an_answer_only_together()
    _a_regression_reaches_the_stated_share_of_one_route()
    _the_plans_are_carried_out_by_the_workers_stages()
    _a_group_is_affected_with_any_of_its_rewordings()
    _a_bill_is_paid_in_three_ways()
    _every_trial_of_an_exchange_is_booked()
    _ratios_are_of_sums_over_the_plays()
