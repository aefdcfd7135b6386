"""What the queue does with bodies that are encrypted, damaged, or older than they may be."""

from __future__ import annotations

import asyncio
import base64
import dataclasses

import pytest

from evenkeel.core.exchange import Exchange
from evenkeel.shadow.worker import Worker
from evenkeel.stores.counters import Tally
from evenkeel.stores.redis.queue import RedisExchangeQueue
from evenkeel.stores.sealing import KEY_VARIABLE, SealError, seal_of
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.redis_server import a_store

WORD = b"periwinkle"
EXCHANGE = Exchange(
    *("00000000000000ab", "main", 1000.0, 0.5, "POST", "/v1/chat/completions", 200, (), WORD, (), WORD * 900)
)
KEYS = [base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2)]


class Clock:
    """A clock that stands until it is told to go on."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.service("redis-server"))])
def queue_with(request, tmp_path, clock):
    """Opens one and the same queue with other keys."""
    opened = []
    redis = a_store(request.getfixturevalue("redis_server")) if request.param == "redis" else None

    def open_queue(*keys, **bounds):
        seal = seal_of({KEY_VARIABLE: ",".join(keys)})
        if redis is not None:
            opened.append(type(redis)(redis.place, seal=seal))
            return RedisExchangeQueue(opened[-1], clock, **bounds)
        opened.append(Database(tmp_path / "evenkeel.db", seal=seal))
        return SqliteExchangeQueue(opened[-1], clock, **bounds)

    yield open_queue
    for one in [*opened, redis]:
        if one is not None:
            one.close()


def payload_on(queue):
    """What is stored of the one exchange."""
    if isinstance(queue, SqliteExchangeQueue):
        return queue._database.connection().execute("SELECT payload FROM exchanges").fetchone()[0]
    return queue._store.client.get(f"{queue._prefixes[0]}{EXCHANGE.id}")


def test_an_exchange_is_compressed_and_then_encrypted(queue_with):
    """Its words are not to be found in the store, and it takes less room than it did on the wire."""
    queue = queue_with(KEYS[0])
    assert queue.put([EXCHANGE]) == 1
    assert WORD not in payload_on(queue)
    assert len(payload_on(queue)) < EXCHANGE.size_bytes / 10
    queue.check_readable()
    (lease,) = queue_with(KEYS[1], KEYS[0]).reserve(5, 10.0)
    assert lease.exchange == EXCHANGE
    assert not lease.fault


def test_a_worker_without_the_key_is_told_before_it_starts(queue_with):
    """Looking at the newest exchange is enough, and nothing is taken from the queue."""
    queue_with(KEYS[0]).put([EXCHANGE])
    other = queue_with(KEYS[1])
    with pytest.raises(SealError, match=f"not in {KEY_VARIABLE}; put that key there"):
        other.check_readable()
    assert other.lag().waiting == 1


def test_an_empty_queue_is_readable_with_any_keys(queue_with):
    """There is nothing that could be lost."""
    queue_with(KEYS[0]).check_readable()


def worked_through(queue, tmp_path):
    """What the worker counts and logs when it finds nothing but what cannot be read."""
    tally = Tally()
    log = SqliteVerdictLog(Database(tmp_path / "log.db"))
    asyncio.run(Worker(queue, log, None, None, tally=tally).drain())
    return tally


def test_what_cannot_be_decrypted_ends_among_the_dead_letters(queue_with, tmp_path):
    """With its reason, counted, and with its encrypted body, which the right key still opens."""
    readable = dataclasses.replace(EXCHANGE, id="00000000000000cd")
    queue_with(KEYS[0]).put([EXCHANGE])
    queue_with(KEYS[1]).put([readable])
    queue = queue_with(KEYS[1])
    first, second = queue.reserve(5, 10.0)
    assert (first.exchange.id, first.fault) == (EXCHANGE.id, "undecryptable")
    assert first.exchange.size_bytes == 0
    assert (second.exchange, second.fault) == (readable, "")
    queue.acknowledge([readable.id])
    queue.release([EXCHANGE.id])
    tally = worked_through(queue, tmp_path)
    assert tally.value("exchanges_dead", reason="undecryptable") == 1
    assert queue.lag().dead == 1
    assert queue.lag().waiting == queue.lag().leased == 0


def test_a_damaged_body_does_not_hold_up_the_others(queue_with, tmp_path):
    """It becomes a dead letter of its own; what was reserved with it is worked on."""
    queue = queue_with()
    queue.put([EXCHANGE])
    if isinstance(queue, SqliteExchangeQueue):
        with queue._database.write() as connection:
            connection.execute("UPDATE exchanges SET payload = x'7a00'")
    else:
        queue._store.client.set(f"{queue._prefixes[0]}{EXCHANGE.id}", b"z\x00")
    assert worked_through(queue, tmp_path).value("exchanges_dead", reason="damaged") == 1
    assert queue.lag().dead == 1


def sqlite_queue(tmp_path, clock, **bounds):
    return SqliteExchangeQueue(Database(tmp_path / "evenkeel.db"), clock, **bounds)


def test_bodies_in_the_file_are_forgotten_in_time(tmp_path, clock):
    """Those that wait for too long become dead letters, as "expired"; their room is free again."""
    queue = sqlite_queue(tmp_path, clock, kept_s=3600.0, max_bytes=300)
    queue.put([EXCHANGE])
    clock.now += 3540.0
    later = dataclasses.replace(EXCHANGE, id="00000000000000cd", request_body=b"", response_body=b"")
    queue.put([later])
    assert len(payload_on(queue)) > 0
    clock.now += 60.0
    assert queue.put([dataclasses.replace(later, id="00000000000000ef")]) == 1
    assert payload_on(queue) == b""
    first, *others = queue.reserve(5, 10.0)
    assert (first.exchange.id, first.fault) == (EXCHANGE.id, "expired")
    assert [lease.fault for lease in others] == ["", ""]
    queue.release([lease.exchange.id for lease in (first, *others)])
    queue.acknowledge([lease.exchange.id for lease in others])
    assert worked_through(queue, tmp_path).value("exchanges_dead", reason="expired") == 1


def test_dead_letters_in_the_file_lose_their_bodies_in_time(tmp_path, clock):
    """What is left is the id and the reason."""
    queue = sqlite_queue(tmp_path, clock, kept_s=3600.0)
    queue.put([EXCHANGE])
    queue.bury(EXCHANGE.id, "not_json")
    rows = "SELECT id, reason, length(payload) > 0 FROM dead_exchanges"
    clock.now += 3599.0
    queue.reserve(5, 10.0)
    connection = queue._database.connection()
    assert connection.execute(rows).fetchall() == [(EXCHANGE.id, "not_json", 1)]
    clock.now += 61.0
    queue.reserve(5, 10.0)
    assert connection.execute(rows).fetchall() == [(EXCHANGE.id, "not_json", 0)]
