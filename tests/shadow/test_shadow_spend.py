"""The ledger: budgets of the day, of a route, and of the hour; prices of models."""

from __future__ import annotations

import pytest

from metrics.stores.sqlite import Database
from shadow.spend import Budget, ModelPrice, Prices, RewriterPurse, Spend, SpendLedger

NOON = 43_200.0


@pytest.fixture
def database(tmp_path):
    made = Database(tmp_path / "evenkeel.db")
    yield made
    made.close()


def test_reservations_and_bookings_count_against_the_day(database) -> None:
    """40 booked and 50 reserved leave 10 of 100."""
    ledger = SpendLedger(database, Budget(tokens_per_day=100), lambda: NOON)
    assert ledger.reserve(Spend(40, 0.0), "a") is None
    ledger.settle(Spend(40, 0.0), "a", {"replay": Spend(40, 0.0)})
    assert ledger.reserve(Spend(50, 0.0), "a") is None
    assert ledger.reserve(Spend(11, 0.0), "b") == "budget"
    assert ledger.reserve(Spend(10, 0.0), "b") is None
    assert ledger.today() == Spend(40, 0.0)


def test_a_route_has_a_budget_of_its_own(database) -> None:
    """One route at its limit does not stop the other; both together stop at the common one."""
    ledger = SpendLedger(database, Budget(usd_per_day=1.0), lambda: NOON, {"small": Budget(usd_per_day=0.1)})
    assert ledger.reserve(Spend(0, 0.08), "small") is None
    assert ledger.reserve(Spend(0, 0.03), "small") == "budget"
    assert ledger.reserve(Spend(0, 0.9), "large") is None
    assert ledger.reserve(Spend(0, 0.03), "large") == "budget"
    ledger.settle(Spend(0, 0.9), "large", {"judge": Spend(5, 0.5)})
    assert ledger.today("large") == Spend(5, 0.5)
    assert ledger.today("small") == Spend(0, 0.0)


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
def test_a_spread_budget_lasts_the_day(database, now, spent, refused) -> None:
    """What is held back for the night is told apart from what is spent."""
    ledger = SpendLedger(database, Budget(tokens_per_day=1000, spread=True), lambda: now)
    assert ledger.reserve(Spend(spent, 0.0), "a") == refused


def test_a_new_day_begins_at_nothing(database) -> None:
    """The budget is that of the UTC day."""
    now = [NOON]
    ledger = SpendLedger(database, Budget(tokens_per_day=10), lambda: now[0])
    ledger.settle(Spend(0, 0.0), "a", {"replay": Spend(10, 0.0)})
    assert ledger.reserve(Spend(1, 0.0), "a") == "budget"
    now[0] += 86_400
    assert ledger.reserve(Spend(1, 0.0), "a") is None


def test_the_rewriter_spends_from_the_same_purse(database) -> None:
    """Its calls are reserved before and booked after, under their own kind."""
    ledger = SpendLedger(database, Budget(tokens_per_day=100), lambda: NOON)
    purse = RewriterPurse(ledger, "a")
    assert purse.reserve(Spend(60, 0.0))
    assert not purse.reserve(Spend(60, 0.0))
    purse.settle(Spend(60, 0.0), Spend(20, 0.01))
    assert ledger.today() == Spend(20, 0.01)
    (kind,) = database.connection().execute("SELECT kind FROM spend").fetchone()
    assert kind == "rewriter"


def test_configured_prices_win_over_the_public_list() -> None:
    """2 dollars for a million tokens in and 8 out: 1,000 in and 500 out cost 0.002 + 0.004."""
    prices = Prices({"own": ModelPrice(2.0, 8.0), "gpt-4o": ModelPrice(0.0, 0.0)})
    assert prices.usd("own", 1000, 500) == pytest.approx(0.006)
    assert prices.usd("gpt-4o", 1000, 500) == 0.0
    assert Prices().usd("gpt-4o", 1000, 500) > 0.0
    assert prices.usd("a-model-nobody-knows", 1000, 500) == 0.0
