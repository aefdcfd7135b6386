"""The cost trackers: budgets of the day, of a route, and of the hour; prices of models."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from evenkeel.core.budget import Budget, RouteBudget, Spend, total
from evenkeel.llm.price import ModelPrice, Prices
from evenkeel.stores.redis.budget import RedisCostTracker

NOON = 43_200.0


def spent_on(costs, kind):
    """What all routes have spent on one kind of call today."""
    return total(spent for (_, of), spent in costs.by_route_and_kind().items() if of == kind)


@pytest.fixture
def open_tracker(backend):
    """Opens a cost tracker, as often as asked for."""
    return partial(backend.Costs, backend.place)


def test_reservations_and_bookings_count_against_the_day(open_tracker) -> None:
    """40 booked and 50 reserved leave 10 of 100."""
    costs = open_tracker(Budget(tokens_per_day=100), lambda: NOON)
    assert costs.reserve(Spend(40, 0.0), "a") is None
    costs.settle(Spend(40, 0.0), "a", {"replay": Spend(40, 0.0)})
    assert costs.reserve(Spend(50, 0.0), "a") is None
    assert costs.reserve(Spend(11, 0.0), "b") == "budget"
    assert costs.reserve(Spend(10, 0.0), "b") is None
    assert costs.today() == Spend(40, 0.0)


def test_spend_is_told_by_purpose(open_tracker) -> None:
    """Of all routes together; a purpose that cost nothing is nothing."""
    costs = open_tracker(Budget(), lambda: NOON)
    costs.settle(Spend(0, 0.0), "a", {"replay": Spend(40, 0.25), "judge": Spend(10, 0.5)})
    costs.settle(Spend(0, 0.0), "b", {"replay": Spend(2, 0.25)})
    assert spent_on(costs, "replay") == Spend(42, 0.5)
    assert spent_on(costs, "judge") == Spend(10, 0.5)
    assert spent_on(costs, "rewriter") == Spend(0, 0.0)


def test_a_route_has_a_budget_of_its_own(open_tracker) -> None:
    """One route at its limit does not stop the other; both together stop at the common one."""
    costs = open_tracker(Budget(usd_per_day=1.0), lambda: NOON, {"small": Budget(usd_per_day=0.1)})
    assert costs.reserve(Spend(0, 0.08), "small") is None
    assert costs.reserve(Spend(0, 0.03), "small") == "budget"
    assert costs.reserve(Spend(0, 0.9), "large") is None
    assert costs.reserve(Spend(0, 0.03), "large") == "budget"
    costs.settle(Spend(0, 0.9), "large", {"judge": Spend(5, 0.5)})
    assert costs.today("large") == Spend(5, 0.5)
    assert costs.today("small") == Spend(0, 0.0)


@pytest.mark.parametrize(
    ("now", "spent", "refused"),
    [
        (0.0, 250, None),  # a quarter at once
        (0.0, 251, "budget_pace"),
        (NOON, 625, None),  # and half of the rest by noon: 250 + 375
        (NOON, 626, "budget_pace"),
        (86_399.999, 999, None),
        (NOON, 1001, "budget"),
    ],
)
def test_a_spread_budget_lasts_the_day(open_tracker, now, spent, refused) -> None:
    """What is held back for the night is told apart from what is spent."""
    costs = open_tracker(Budget(tokens_per_day=1000, spread=True), lambda: now)
    assert costs.reserve(Spend(spent, 0.0), "a") == refused


def test_reference_prompts_have_a_share_that_nothing_else_may_spend(open_tracker) -> None:
    """Of 1,000 tokens, 300 are for references, 200 more for urgent calls; at midnight 125 of 500 are free."""
    budget = Budget(tokens_per_day=1000, spread=True, reserve=0.2, watch=0.3)
    costs = open_tracker(budget, lambda: 0.0)
    assert costs.reserve(Spend(126, 0.0), "a") == "budget_pace"
    assert costs.reserve(Spend(501, 0.0), "a", paced=False) == "budget_reserve"
    assert costs.reserve(Spend(700, 0.0), "a", urgent=True, paced=False) is None
    assert costs.reserve(Spend(1, 0.0), "a", urgent=True, paced=False) == "budget_reserve"
    assert costs.reserve(Spend(300, 0.0), "a", watch=True) is None
    assert costs.reserve(Spend(1, 0.0), "a", watch=True) == "budget"


def test_a_new_day_begins_at_nothing(open_tracker) -> None:
    """The budget is that of the UTC day."""
    now = [NOON]
    costs = open_tracker(Budget(tokens_per_day=10), lambda: now[0])
    costs.settle(Spend(0, 0.0), "a", {"replay": Spend(10, 0.0)})
    assert costs.reserve(Spend(1, 0.0), "a") == "budget"
    now[0] += 86_400
    assert costs.reserve(Spend(1, 0.0), "a") is None


def test_the_rewriter_spends_from_the_same_budget(open_tracker) -> None:
    """Its calls are reserved before and booked after, under their own kind."""
    costs = open_tracker(Budget(tokens_per_day=100), lambda: NOON)
    budget = RouteBudget(costs, "a", "rewriter")
    assert budget.reserve(Spend(60, 0.0))
    assert not budget.reserve(Spend(60, 0.0))
    budget.settle(Spend(60, 0.0), Spend(20, 0.01))
    assert costs.today() == Spend(20, 0.01)


def test_spend_is_split_by_route_and_kind(open_tracker) -> None:
    """Whatever a route is called; only what there is, and only of today."""
    now = [NOON]
    costs = open_tracker(Budget(), lambda: now[0])
    odd = "a on judge of b"
    costs.settle(Spend(0, 0.0), odd, {"replay": Spend(1, 0.25), "judge": Spend(2, 0.0)})
    costs.settle(Spend(0, 0.0), odd, {"replay": Spend(4, 0.5)})
    costs.settle(Spend(0, 0.0), "a", {"golden": Spend(8, 0.0), "judge": Spend(0, 0.0)})
    assert costs.by_route_and_kind() == {
        ("a", "golden"): Spend(8, 0.0),
        (odd, "judge"): Spend(2, 0.0),
        (odd, "replay"): Spend(5, 0.75),
    }
    assert (costs.today(), costs.today(odd)) == (Spend(15, 0.75), Spend(7, 0.75))
    now[0] += 86_400
    assert costs.by_route_and_kind() == {}


@pytest.mark.service("redis-server")
def test_what_cost_nothing_is_not_booked(on_sqlite) -> None:
    """The table has a row for each purpose that cost something."""
    costs = on_sqlite.Costs(on_sqlite.place, Budget(), lambda: NOON)
    RouteBudget(costs, "a", "rewriter").settle(Spend(60, 0.0), Spend(20, 0.01))
    costs.settle(Spend(0, 0.0), "a", {"replay": Spend(1, 0.0), "judge": Spend(0, 0.0)})
    rows = on_sqlite.place.connection().execute("SELECT kind FROM spend ORDER BY kind").fetchall()
    assert rows == [("replay",), ("rewriter",)]
    assert spent_on(costs, "rewriter") == Spend(20, 0.01)


def test_processes_share_what_is_left(open_tracker) -> None:
    """What one has set aside another cannot, until it is settled."""
    one, other = (
        open_tracker(Budget(tokens_per_day=100), lambda: NOON, {"b": Budget(tokens_per_day=20)})
        for _ in range(2)
    )
    assert one.reserve(Spend(60, 0.5), "a") is None
    assert other.reserve(Spend(60, 0.5), "a") == "budget"
    assert other.reserve(Spend(20, 0.0), "b") is None
    assert one.reserve(Spend(1, 0.0), "b") == "budget"
    one.settle(Spend(60, 0.5), "a", {"replay": Spend(10, 0.1)})
    assert other.reserve(Spend(60, 0.5), "a") is None
    assert one.reserve(Spend(11, 0.0), "a") == "budget"


def _silent_for(costs, seconds, now):
    """Let a tracker have been silent for so long; a Redis goes by its own clock."""
    if isinstance(costs, RedisCostTracker):
        client, workers = costs._store.client, costs._store.key("spend", "workers")
        client.zadd(workers, {costs._worker: client.time()[0] - seconds})
    now[0] += seconds


def test_what_a_dead_process_has_set_aside_is_booked(open_tracker) -> None:
    """Nobody knows whether its calls were made: it counts, and 15 minutes later it has been spent."""
    now = [NOON]
    one, other = (open_tracker(Budget(tokens_per_day=100), lambda: now[0]) for _ in range(2))
    assert one.reserve(Spend(60, 0.5), "a") is None
    assert one.reserve(Spend(30, 0.0), "b") is None
    _silent_for(one, 800, now)
    assert other.reserve(Spend(11, 0.0), "a") == "budget"
    assert other.today() == Spend(0, 0.0)
    _silent_for(one, 901, now)
    assert other.reserve(Spend(11, 0.0), "a") == "budget"
    assert other.reserve(Spend(10, 0.0), "a") is None
    assert other.by_route_and_kind() == {("a", "lost"): Spend(60, 0.5), ("b", "lost"): Spend(30, 0.0)}


def test_what_was_set_aside_days_ago_is_forgotten(open_tracker) -> None:
    """It was spent on no day that counts."""
    now = [NOON]
    one, other = (open_tracker(Budget(tokens_per_day=100), lambda: now[0]) for _ in range(2))
    assert one.reserve(Spend(60, 0.5), "a") is None
    _silent_for(one, 3 * 86_400, now)
    assert other.reserve(Spend(100, 0.0), "a") is None
    assert other.today() == Spend(0, 0.0)


def test_a_clock_that_is_set_back_opens_no_new_budget(open_tracker) -> None:
    """70 of the day that was called tomorrow leave 30; what is booked since counts when it is tomorrow."""
    now = [NOON + 86_400]
    costs = open_tracker(Budget(tokens_per_day=100), lambda: now[0], {"b": Budget(tokens_per_day=75)})
    costs.settle(Spend(0, 0.0), "b", {"replay": Spend(70, 0.0)})
    now[0] = NOON
    assert costs.reserve(Spend(6, 0.0), "b") == "budget"
    assert costs.reserve(Spend(31, 0.0), "a") == "budget"
    assert costs.reserve(Spend(30, 0.0), "a") is None
    costs.settle(Spend(30, 0.0), "a", {"replay": Spend(20, 0.0)})
    now[0] += 86_400
    assert costs.today() == Spend(90, 0.0)


def test_what_has_been_begun_need_not_fit_in_the_pace(open_tracker) -> None:
    """At midnight a quarter of 100 is free, and all of it for calls that follow from others."""
    costs = open_tracker(Budget(tokens_per_day=100, spread=True), lambda: 0.0)
    assert costs.reserve(Spend(25, 0.0), "a") is None
    assert costs.reserve(Spend(1, 0.0), "a") == "budget_pace"
    assert costs.reserve(Spend(75, 0.0), "a", paced=False) is None
    assert costs.reserve(Spend(1, 0.0), "a", paced=False) == "budget"


def test_the_reserve_is_for_urgent_calls(open_tracker) -> None:
    """Of 100, 80 are for everybody and the rest for what is urgent, begun or not; the ceiling is for all."""
    costs = open_tracker(Budget(tokens_per_day=100, reserve=0.2), lambda: NOON)
    assert costs.reserve(Spend(80, 0.0), "a") is None
    assert costs.reserve(Spend(1, 0.0), "a") == "budget_reserve"
    assert costs.reserve(Spend(1, 0.0), "a", paced=False) == "budget_reserve"
    assert costs.reserve(Spend(20, 0.0), "b", urgent=True) is None
    assert costs.reserve(Spend(1, 0.0), "b", urgent=True) == "budget"
    assert costs.reserve(Spend(1, 0.0), "a", urgent=True, paced=False) == "budget"


def test_urgent_calls_have_the_reserve_on_top_of_the_pace(open_tracker) -> None:
    """At noon 5 of 8 parts of the ordinary 80 are free, 50; what is urgent may take 20 more."""
    costs = open_tracker(Budget(tokens_per_day=100, spread=True, reserve=0.2), lambda: NOON)
    assert costs.reserve(Spend(50, 0.0), "a") is None
    assert costs.reserve(Spend(1, 0.0), "a") == "budget_pace"
    assert costs.reserve(Spend(20, 0.0), "a", urgent=True) is None
    assert costs.reserve(Spend(1, 0.0), "a", urgent=True) == "budget_pace"


def test_a_late_change_gets_its_trials(open_tracker) -> None:
    """At 23:50 a route at the limit of its own for ordinary trials still has what is kept for changes."""
    late = 86_400.0 - 600
    own = {"a": Budget(usd_per_day=1.0, spread=True, reserve=0.2)}
    costs = open_tracker(Budget(usd_per_day=10.0, spread=True, reserve=0.2), lambda: late, own)
    assert costs.reserve(Spend(0, 0.79), "a") is None
    assert costs.reserve(Spend(0, 0.02), "a") in {"budget_pace", "budget_reserve"}
    assert costs.reserve(Spend(0, 0.2), "a", urgent=True) is None


def test_a_busy_route_leaves_the_others_half_of_what_they_have_not_used(open_tracker) -> None:
    """Of 120 each of three has 40; of 80 not used by two, the third leaves 30, a quarter of all."""
    costs = open_tracker(Budget(tokens_per_day=120), lambda: NOON, {}, ("busy", "quiet", "idle"))
    assert costs.reserve(Spend(90, 0.0), "busy") is None
    assert costs.reserve(Spend(1, 0.0), "busy") == "budget_share"
    assert costs.reserve(Spend(1, 0.0), "busy", urgent=True) is None
    assert costs.reserve(Spend(20, 0.0), "quiet") is None
    assert costs.reserve(Spend(9, 0.0), "idle") is None
    assert costs.reserve(Spend(1, 0.0), "idle") == "budget"


def test_a_route_within_its_share_is_not_kept_from_it(open_tracker) -> None:
    """Of 100 each of two has 50; once the other has used 40, only half of its last 10 is left to it."""
    costs = open_tracker(Budget(tokens_per_day=100), lambda: NOON, {}, ("a", "b"))
    costs.settle(Spend(0, 0.0), "b", {"replay": Spend(40, 0.0)})
    assert costs.reserve(Spend(50, 0.0), "a") is None
    assert costs.reserve(Spend(5, 0.0), "a") is None
    assert costs.reserve(Spend(1, 0.0), "a") == "budget_share"
    assert costs.reserve(Spend(5, 0.0), "b") is None


def test_who_has_a_limit_of_its_own_takes_no_part_in_the_shares(open_tracker) -> None:
    """It may take all that its own limit allows, and what is on no route as well."""
    costs = open_tracker(Budget(tokens_per_day=100), lambda: NOON, {"own": Budget(90)}, ("a", "b"))
    assert costs.reserve(Spend(90, 0.0), "own") is None
    assert costs.reserve(Spend(10, 0.0), "") is None


def test_a_day_that_is_over_is_told(open_tracker) -> None:
    """What was booked yesterday is yesterday's."""
    now = [NOON]
    costs = open_tracker(Budget(), lambda: now[0])
    costs.settle(Spend(0, 0.0), "a", {"replay": Spend(40, 0.25)})
    now[0] += 86_400
    assert costs.by_route_and_kind() == {}
    assert costs.by_route_and_kind(-1) == {("a", "replay"): Spend(40, 0.25)}


def test_dollars_alone_stay_set_aside(open_tracker) -> None:
    """Settling all tokens of a route leaves the dollars that another call set aside."""
    costs = open_tracker(Budget(usd_per_day=1.0), lambda: NOON)
    assert costs.reserve(Spend(10, 0.25), "a") is None
    assert costs.reserve(Spend(0, 0.5), "a") is None
    costs.settle(Spend(10, 0.25), "a", {})
    assert costs.reserve(Spend(0, 0.75), "a") == "budget"
    assert costs.reserve(Spend(0, 0.5), "a") is None


def test_many_reservations_at_once_keep_to_the_budget(open_tracker) -> None:
    """Of 80 requests of 10 tokens in eight threads, ten find room in 100."""
    trackers = [open_tracker(Budget(tokens_per_day=100), lambda: NOON) for _ in range(4)]

    def work(place: int) -> int:
        return sum(trackers[place % 4].reserve(Spend(10, 0.0), "a") is None for _ in range(10))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 10


def test_configured_prices_win_over_the_public_list() -> None:
    """2 dollars for a million tokens in and 8 out: 1,000 in and 500 out cost 0.002 + 0.004."""
    prices = Prices({"own": ModelPrice(2.0, 8.0), "gpt-4o": ModelPrice(0.0, 0.0)})
    assert prices.usd("own", 1000, 500) == pytest.approx(0.006)
    assert prices.usd("gpt-4o", 1000, 500) == 0.0
    assert Prices().usd("gpt-4o", 1000, 500) > 0.0
    assert prices.usd("a-model-nobody-knows", 1000, 500) == 0.0
