"""What was given up can be listed and read, and what was spent be told by purpose, wherever both are kept."""

from __future__ import annotations

import pytest

from evenkeel.core.budget import Budget, Spend
from evenkeel.core.exchange import Exchange
from evenkeel.stores.redis.budget import RedisCostTracker
from evenkeel.stores.redis.queue import RedisExchangeQueue
from evenkeel.stores.sqlite.budget import SqliteCostTracker
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from tests.redis_server import a_store


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.service("redis-server"))])
def kept(request, tmp_path):
    """A queue and a ledger on a file, or on a Redis."""
    if request.param == "sqlite":
        place = Database(tmp_path / "evenkeel.db")
        yield SqliteExchangeQueue(place, lambda: 1000.0), SqliteCostTracker(place, Budget(), lambda: 1000.0)
    else:
        place = a_store(request.getfixturevalue("redis_server"))
        yield RedisExchangeQueue(place, lambda: 1000.0), RedisCostTracker(place, Budget(), lambda: 1000.0)
    place.close()


def _exchange(number):
    body = f'{{"number": {number}}}'.encode()
    return Exchange(
        f"{number:016x}", "shop", 990.0, 0.5, "POST", "/v1/chat/completions", 200, (), body, (), b"\xff"
    )


def test_dead_letters_are_listed_newest_first_and_keep_their_bodies(kept):
    """With reason and time; at most as many as asked for."""
    queue, _ = kept
    queue.put([_exchange(number) for number in range(3)])
    queue.reserve(3, 60)
    for number, reason in enumerate(("damaged", "too_many_attempts", "expired")):
        queue.bury(f"{number:016x}", reason)
    letters = queue.dead_letters(2)
    assert [(letter.exchange_id[-1], letter.reason, letter.at) for letter in letters] == [
        ("2", "expired", 1000.0),
        ("1", "too_many_attempts", 1000.0),
    ]
    assert queue.dead_exchange(letters[1].exchange_id) == _exchange(1)
    assert queue.dead_exchange("nothing of this id") is None


def test_spend_is_told_by_purpose(kept):
    """Of all routes together; a purpose that cost nothing is nothing."""
    _, ledger = kept
    ledger.settle(Spend(0, 0.0), "a", {"replay": Spend(40, 0.25), "judge": Spend(10, 0.5)})
    ledger.settle(Spend(0, 0.0), "b", {"replay": Spend(2, 0.25)})
    assert ledger.of_kind("replay") == Spend(42, 0.5)
    assert ledger.of_kind("judge") == Spend(10, 0.5)
    assert ledger.of_kind("rewriter") == Spend(0, 0.0)
