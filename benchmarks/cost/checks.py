"""Whether the benchmark draws, books and compares as it says: numbers that were worked out by hand."""

from __future__ import annotations

from math import isclose

from benchmarks.cost.bill import Bill, Length, Tariff
from benchmarks.cost.compare import Outcome
from benchmarks.cost.plans import ADAPTIVE, UNIFORM, Worker, affected_cells, drawn_answer
from benchmarks.cost.tables import ratios
from benchmarks.cost.world import FALLS, KINDS, ROUTES, VERSIONS, Exchange, Fall, exchange
from evenkeel.core.verdict import BASELINE
from tests.kit.records import altered

QUIET_PROMPT = VERSIONS[0]._replace(floor=0.0)
HELD = Exchange(0, ROUTES[0], QUIET_PROMPT, "", frozenset(), frozenset(), 1)
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
"""Dollars per token that can be added by hand."""


def _rewordings_move_an_answer_if_any_of_them_does() -> None:
    """An answer that one rewording moves is moved by every group that holds it, and by no other."""
    one = altered(HELD, moving=frozenset({"general.tone"}))
    assert one.moved({"general.tone"}, "a")
    assert one.moved({"general.tone", "general.casing"}, "b")
    assert not one.moved({"general.casing"}, "c")
    assert not one.moved((), "resend")


def _two_rewordings_can_move_an_answer_only_together() -> None:
    """A planted pair moves the answer where both are applied, and neither does alone."""
    one = altered(HELD, pair=frozenset({"general.tone", "general.casing"}))
    assert one.moved({"general.tone", "general.casing", "general.spelling"}, "a")
    assert not one.moved({"general.tone"}, "b")


def _a_fall_reaches_the_stated_share_of_one_route() -> None:
    """A fall by 15 points adds 15 % of the route's exchanges to those that move, and none elsewhere."""
    fall = Fall("all", {"format.json": 0.15})
    pairs = [(exchange(1, n), exchange(1, n, fall, fallen=ROUTES[0])) for n in range(6_000)]
    assert all(before.moving == after.moving for before, after in pairs if before.route != ROUTES[0])
    added = [len(after.moving) - len(before.moving) for before, after in pairs if before.route == ROUTES[0]]
    # Most of the 0.15; those that moved already can't move again.
    assert isclose(sum(added) / len(added), 0.14, abs_tol=0.03)


def _the_plans_are_carried_out_by_the_workers_stages() -> None:
    """While nothing is known, both plans make an identical resend and two rewordings of an exchange."""
    for plan in (UNIFORM, ADAPTIVE):
        made = Worker(plan, drawn_answer).make(exchange(1, 0))
        names = [one.verdict.perturbation for one in made]
        assert names[0] == BASELINE
        assert names[1:] == list(dict.fromkeys(names[1:]))
        assert len(names[1:]) == plan.trials
        assert set(names[1:]) <= set(KINDS)


def _a_group_is_affected_with_any_of_its_rewordings() -> None:
    """The cells that are right to alert are those of the rewordings and of every group that holds one."""
    assert affected_cells(frozenset({"general.tone"})) == {"general.tone", "together.3_general_1"}
    assert affected_cells(frozenset({"format.json"})) == {"format.json"}


def _a_bill_is_paid_in_three_ways() -> None:
    """Tokens cost what the tariff says: pairs judged one by one or together, and in cheaper tiers."""
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
    """A bill counts replays and their tokens, in the tier that they can have."""
    bill = Bill()
    made = [one._replace(can_wait=False) for one in Worker(UNIFORM, drawn_answer).make(exchange(1, 0))]
    bill.book(Length(2_000, 10), made)
    assert (bill.exchanges, bill.replays, bill.prompt, bill.answer) == (1, 3, 6_000, 30)
    # The whole prompt of the resend, and 60 % of those of the other two.
    assert bill.cacheable == 2_000 + 2 * 1_200
    bill.book(Length(2_000, 10), [one._replace(can_wait=True) for one in made])
    assert (bill.waiting_prompt, bill.waiting_answer, bill.prompt) == (6_000, 30, 6_000)
    assert (bill.waiting_cacheable, bill.replays) == (4_400, 6)
    assert bill.grouped_prompt <= bill.judge_prompt


def _ratios_are_of_sums_over_the_plays() -> None:
    """One plan's dollars are divided by the other's over all plays of a change, and so are requests."""

    def outcome(plan: str, requests: float, prompt: int) -> Outcome:
        return Outcome(plan, FALLS[0].name, 1, True, requests, Bill(prompt=prompt), Bill(), 0, 0)

    uniform = [outcome("uniform", 100, 300), outcome("uniform", 300, 500)]
    adaptive = [outcome("adaptive", 100, 100), outcome("adaptive", 200, 100)]
    (found,) = ratios(uniform, adaptive, CENTS)
    assert isclose(found.plain, 200 / 800)
    assert isclose(found.requests, 0.75)


def verify() -> None:
    """Check all of it.

    Raises: AssertionError if something is not as stated.
    """
    _rewordings_move_an_answer_if_any_of_them_does()
    _two_rewordings_can_move_an_answer_only_together()
    _a_fall_reaches_the_stated_share_of_one_route()
    _the_plans_are_carried_out_by_the_workers_stages()
    _a_group_is_affected_with_any_of_its_rewordings()
    _a_bill_is_paid_in_three_ways()
    _every_trial_of_an_exchange_is_booked()
    _ratios_are_of_sums_over_the_plays()
