"""The cost trackers: budgets of the day, of a route, and of the hour; prices of models."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from evenkeel.core.budget import Budget, RouteBudget, Spend
from evenkeel.llm.price import ModelPrice, Prices
from evenkeel.stores.budget import SharedCostTracker
from tests.cases import cases

CASES = cases(__file__)

NOON = 43_200.0


@pytest.fixture
def open_tracker(backend):
    return partial(SharedCostTracker, backend.documents())


KINDS = {"begun": {"paced": False}, "urgent": {"urgent": True}}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_may_be_reserved(open_tracker, case):
    """Each refusal says which part of the budget is used up."""
    own = {route: Budget(**limits) for route, limits in case.get("own", {}).items()}
    now = case.get("now", NOON)
    costs = open_tracker(Budget(**case["day"]), lambda: now, own)
    for tokens, route, kinds, refused in case["calls"]:
        kind = {name: value for word in kinds.split() for name, value in KINDS[word].items()}
        assert costs.reserve(Spend(tokens, 0.0), route, **kind) == refused, (tokens, route, kinds)


def test_a_free_call_needs_no_dollars(open_tracker):
    """Whoever sets the price of a model to 0 is measured at once, whatever its assumed price has used up."""
    costs = open_tracker(Budget(1000, 1.0), lambda: NOON, {"a": Budget(usd_per_day=0.5)})
    costs.settle(Spend(0, 0.0), "a", {"replay": Spend(100, 2.0)})
    assert costs.reserve(Spend(10, 0.01), "a") == "budget"
    assert costs.reserve(Spend(10, 0.0), "a") is None
    assert costs.reserve(Spend(901, 0.0), "a") == "budget"


def test_reservations_and_bookings_count_against_the_day(open_tracker):
    """60 reserved and 20 booked of them leave 80 of 100, until midnight (UTC)."""
    now = [NOON]
    costs = open_tracker(Budget(tokens_per_day=100), lambda: now[0])
    rewriter = RouteBudget(costs, "a", "rewriter")
    assert rewriter.reserve(Spend(60, 0.0))
    assert not rewriter.reserve(Spend(41, 0.0))
    rewriter.settle(Spend(60, 0.0), Spend(20, 0.01))
    assert costs.today() == Spend(20, 0.01)
    assert costs.reserve(Spend(81, 0.0), "b") == "budget"
    now[0] += 86_400
    assert costs.reserve(Spend(100, 0.0), "b") is None


def test_spend_is_split_by_route_and_kind(open_tracker):
    """Routes may be called anything; only what cost something today."""
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
    assert costs.today() == Spend(15, 0.75)
    now[0] += 86_400
    assert costs.by_route_and_kind() == {}


def test_processes_share_what_is_left(open_tracker):
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


def test_what_a_dead_process_has_set_aside_is_booked(open_tracker):
    """Nobody knows whether its calls were made: it counts, and 15 minutes later it has been spent."""
    now = [NOON]
    one, other = (open_tracker(Budget(tokens_per_day=100), lambda: now[0]) for _ in range(2))
    assert one.reserve(Spend(60, 0.5), "a") is None
    assert one.reserve(Spend(30, 0.0), "b") is None
    now[0] += 800
    assert other.reserve(Spend(11, 0.0), "a") == "budget"
    assert other.today() == Spend(0, 0.0)
    now[0] += 901
    assert other.reserve(Spend(11, 0.0), "a") == "budget"
    assert other.reserve(Spend(10, 0.0), "a") is None
    assert other.by_route_and_kind() == {("a", "lost"): Spend(60, 0.5), ("b", "lost"): Spend(30, 0.0)}


def test_what_was_set_aside_days_ago_is_forgotten(open_tracker):
    """The amount was spent on no day that counts."""
    now = [NOON]
    one, other = (open_tracker(Budget(tokens_per_day=100), lambda: now[0]) for _ in range(2))
    assert one.reserve(Spend(60, 0.5), "a") is None
    now[0] += 3 * 86_400
    assert other.reserve(Spend(100, 0.0), "a") is None
    assert other.today() == Spend(0, 0.0)


def test_a_clock_that_ran_ahead_has_spent_of_that_day_alone(open_tracker):
    """70 spent while it was called tomorrow: today has its whole budget, tomorrow the 30 that are left."""
    now = [NOON + 86_400]
    costs = open_tracker(Budget(tokens_per_day=100), lambda: now[0])
    costs.settle(Spend(0, 0.0), "a", {"replay": Spend(70, 0.0)})
    now[0] = NOON
    assert costs.reserve(Spend(100, 0.0), "a") is None
    costs.settle(Spend(100, 0.0), "a", {"replay": Spend(90, 0.0)})
    assert costs.today() == Spend(90, 0.0)
    now[0] += 86_400
    assert costs.today() == Spend(70, 0.0)
    assert costs.reserve(Spend(31, 0.0), "a") == "budget"
    assert costs.reserve(Spend(30, 0.0), "a") is None


def test_dollars_alone_stay_set_aside(open_tracker):
    """Settling all tokens of a route leaves the dollars that another call set aside."""
    costs = open_tracker(Budget(usd_per_day=1.0), lambda: NOON)
    assert costs.reserve(Spend(10, 0.25), "a") is None
    assert costs.reserve(Spend(0, 0.5), "a") is None
    costs.settle(Spend(10, 0.25), "a", {})
    assert costs.reserve(Spend(0, 0.75), "a") == "budget"
    assert costs.reserve(Spend(0, 0.5), "a") is None


def test_many_reservations_at_once_keep_to_the_budget(open_tracker):
    """Of 80 requests of 10 tokens in eight threads, ten find room in 100."""
    trackers = [open_tracker(Budget(tokens_per_day=100), lambda: NOON) for _ in range(4)]

    def work(place):
        return sum(trackers[place % 4].reserve(Spend(10, 0.0), "a") is None for _ in range(10))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 10


def test_configured_prices_win_over_the_public_list():
    """2 dollars for a million tokens in and 8 out: 1,000 in and 500 out cost 0.002 + 0.004."""
    prices = Prices({"own": ModelPrice(2.0, 8.0), "gpt-4o": ModelPrice(0.0, 0.0)})
    assert prices.usd("own", 1000, 500) == pytest.approx(0.006)
    assert prices.usd("gpt-4o", 1000, 500) == 0.0
    assert Prices().usd("gpt-4o", 1000, 500) > 0.0
    assert prices.usd("a-model-nobody-knows", 1000, 500) == 0.0
