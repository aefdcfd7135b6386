"""The contract of `ExchangeQueue`; every implementation runs it."""

from __future__ import annotations

import base64
import dataclasses
import random
import subprocess
import sys
import textwrap

import pytest

from evenkeel.core.exchange import Exchange
from evenkeel.stores.redis.queue import RedisExchangeQueue
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from tests.redis_server import a_store


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class ServerClock(Clock):
    """For a Redis, whose own clock leases run by: instead of that, leases grow older."""

    def __init__(self, store):
        self._store = store
        self._now = 1000.0

    @property
    def now(self):
        return self._now

    @now.setter
    def now(self, value):
        grown_ms = round((value - self._now) * 1000)
        self._now = value
        stream, client = self._store.key("main", "exchanges"), self._store.client
        if not client.exists(stream) or not client.xinfo_groups(stream):
            return  # nobody holds anything yet
        for held in client.xpending_range(stream, "workers", "-", "+", 1000):
            client.xclaim(
                stream,
                "workers",
                held["consumer"],
                0,
                [held["message_id"]],
                idle=held["time_since_delivered"] + grown_ms,
                justid=True,
            )


def exchange(number, **changes):
    given = Exchange(
        id=f"{number:016x}",
        route="default",
        received_at=1000.0,
        duration_s=0.5,
        method="POST",
        path="/v1/chat/completions",
        status=200,
        request_headers=(("content-type", "application/json"),),
        request_body=b'{"messages": []}\xff',
        response_headers=(("content-encoding", "gzip"),),
        response_body=bytes(range(256)) * 4,
        task="case_summary",
    )
    return dataclasses.replace(given, **changes)


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.service("redis-server"))])
def place(request, tmp_path):
    """Where queues are: a file, or a Redis."""
    if request.param == "sqlite":
        place = Database(tmp_path / "evenkeel.db")
    else:
        place = a_store(request.getfixturevalue("redis_server"))
    yield place
    place.close()


@pytest.fixture
def clock(place):
    return Clock() if isinstance(place, Database) else ServerClock(place)


@pytest.fixture
def build(place, clock):
    """Opens the queue, as often as asked for."""
    made = SqliteExchangeQueue if isinstance(place, Database) else RedisExchangeQueue
    return lambda **bounds: made(place, clock, **bounds)


@pytest.fixture
def queue(build):
    return build(max_waiting=50)


def ids(leases):
    return [lease.exchange.id for lease in leases]


def test_an_exchange_comes_out_as_it_went_in(queue):
    """Every field survives storage, bytes that are not text included."""
    queue.put([exchange(1, prompt_version="v7", session="s")])
    (lease,) = queue.reserve(10, 60)
    assert lease.exchange == exchange(1, prompt_version="v7", session="s")
    assert lease.attempt == 1


def test_exchanges_are_leased_oldest_first_and_once(queue):
    """Two reservations never hold the same exchange."""
    queue.put([exchange(number) for number in (3, 1, 2)])
    assert ids(queue.reserve(2, 60)) == [exchange(3).id, exchange(1).id]
    assert ids(queue.reserve(2, 60)) == [exchange(2).id]
    assert queue.reserve(2, 60) == []


def test_a_known_id_is_ignored(queue):
    """Putting an exchange twice queues it once."""
    assert queue.put([exchange(1), exchange(2)]) == 2
    assert queue.put([exchange(2), exchange(3)]) == 1
    assert queue.lag().waiting == 3


def test_an_expired_lease_is_given_to_another_worker(queue, clock):
    """What a dead worker held is delivered again, counted as another attempt."""
    queue.put([exchange(1)])
    queue.reserve(1, 60)
    clock.now += 59
    assert queue.reserve(1, 60) == []
    clock.now += 1
    (lease,) = queue.reserve(1, 60)
    assert lease.attempt == 2


def test_an_extended_lease_is_kept(queue, clock):
    """A heartbeat holds an exchange past the first lease."""
    queue.put([exchange(1)])
    queue.reserve(1, 60)
    clock.now += 50
    queue.extend([exchange(1).id], 60)
    clock.now += 50
    assert queue.reserve(1, 60) == []


def test_an_acknowledged_exchange_is_gone(queue, clock):
    """Finished work is not delivered again; unknown ids do no harm."""
    queue.put([exchange(1)])
    queue.reserve(1, 60)
    queue.acknowledge([exchange(1).id, "unknown"])
    clock.now += 100
    assert queue.reserve(1, 60) == []
    assert queue.lag().waiting == 0


def test_a_released_lease_is_free_at_once_and_not_counted(queue):
    """A shutdown gives work back without using up an attempt."""
    queue.put([exchange(1)])
    queue.reserve(1, 60)
    queue.release([exchange(1).id])
    (lease,) = queue.reserve(1, 60)
    assert lease.attempt == 1


def test_a_buried_exchange_is_counted_and_not_delivered(queue, clock):
    """Dead letters leave the queue."""
    queue.put([exchange(1)])
    queue.reserve(1, 60)
    queue.bury(exchange(1).id, "not_json")
    clock.now += 100
    assert queue.reserve(1, 60) == []
    assert (queue.lag().dead, queue.lag().leased) == (1, 0)


def test_lag_tells_what_waits_and_how_long(queue, clock):
    """Waiting and leased are told apart; the age is the oldest of both."""
    assert queue.lag().oldest_s == 0
    queue.put([exchange(1)])
    clock.now += 7
    queue.put([exchange(2)])
    queue.reserve(1, 60)
    lag = queue.lag()
    assert (lag.waiting, lag.leased, lag.oldest_s) == (1, 1, 7)


def test_a_full_queue_takes_no_more(queue):
    """The queue is bounded: `put` says how many it took."""
    assert queue.put([exchange(number) for number in range(60)]) == 50
    assert queue.lag().waiting == 50


def test_the_queue_is_bounded_in_bytes_too(build):
    """Large bodies fill it long before there are many of them; what does not fit is refused."""
    queue = build(max_bytes=250_000)
    noise = random.Random(1).randbytes(100_000)
    assert queue.put([exchange(number, request_body=noise) for number in range(10)]) == 3
    assert queue.put([exchange(11)]) == 0
    queue.acknowledge([exchange(0).id])
    assert queue.put([exchange(11)]) == 1


@pytest.mark.parametrize(
    "body", [b"text " * 50_000, base64.b64encode(random.Random(2).randbytes(300_000)), b""]
)
def test_large_bodies_survive_whether_they_shrink_or_not(queue, body):
    """Text is packed, pictures are stored as they are; both come out as they went in."""
    queue.put([exchange(1, request_body=body)])
    (lease,) = queue.reserve(1, 60)
    assert lease.exchange.request_body == body


def test_two_workers_share_the_queue(build):
    """What one of them holds the other neither gets nor loses."""
    one, other = build(), build()
    one.put([exchange(number) for number in range(3)])
    assert ids(one.reserve(2, 60)) == [exchange(0).id, exchange(1).id]
    assert ids(other.reserve(2, 60)) == [exchange(2).id]
    other.acknowledge([exchange(0).id])
    one.release([exchange(1).id])
    assert ids(other.reserve(2, 60)) == [exchange(1).id]


def test_leases_of_a_killed_process_are_recovered(place, build, clock):
    """A real process killed with -9 while holding leases loses nothing."""
    queue = build()
    queue.put([exchange(number) for number in range(4)])
    if isinstance(place, Database):
        opened = f"SqliteExchangeQueue(Database(Path({str(place.path)!r})), lambda: 1000.0)"
    else:
        opened = f"RedisExchangeQueue(RedisStore({place.place!r}), lambda: 1000.0)"
    script = textwrap.dedent(f"""
        import os, signal
        from pathlib import Path
        from evenkeel.stores.redis.connection import RedisPlace, RedisStore
        from evenkeel.stores.sqlite.database import Database
        from evenkeel.stores.redis.queue import RedisExchangeQueue
        from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
        queue = {opened}
        assert len(queue.reserve(4, 60)) == 4
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert queue.reserve(10, 60) == []
    clock.now += 61
    assert [lease.attempt for lease in queue.reserve(10, 60)] == [2] * 4
