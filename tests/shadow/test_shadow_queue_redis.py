"""The queue on Redis where it differs from a table: its stream can be trimmed, its server can go away."""

from __future__ import annotations

import pytest
import redis

from evenkeel.core.exchange import Lag
from evenkeel.stores.redis.queue import RedisExchangeQueue
from tests.redis_server import RedisServer, a_store
from tests.shadow.test_shadow_queue import exchange, ids

pytestmark = pytest.mark.service("redis-server")


@pytest.fixture
def store(redis_server):
    made = a_store(redis_server)
    yield made
    made.close()


def queue_on(store, **options):
    return RedisExchangeQueue(store, lambda: 1000.0, **options)


def test_what_somebody_trimmed_is_queued_again(store):
    """Both what waited and what was held; it is counted, and delivered once."""
    queue = queue_on(store)
    queue.put([exchange(number) for number in range(4)])
    queue.reserve(2, 60)
    store.client.xtrim(store.key("main", "exchanges"), maxlen=1, approximate=False)
    assert sorted(ids(queue.reserve(10, 60))) == [exchange(number).id for number in range(4)]
    assert queue.reserve(10, 60) == []
    assert queue.figures()["requeued"] == 3
    queue.acknowledge([exchange(number).id for number in range(4)])
    assert queue.lag() == Lag(0, 0, 0, 0.0)


def test_an_exchange_whose_time_is_over_is_a_dead_letter(store):
    """Its bodies are gone; that it was there, and why it was not scored, stays."""
    queue = queue_on(store)
    queue.put([exchange(1), exchange(2)])
    store.client.delete(store.key("main", f"payload:{exchange(1).id}"))
    assert ids(queue.reserve(10, 60)) == [exchange(2).id]
    (letter,) = queue.dead_letters(10)
    assert (letter.exchange_id, letter.reason, letter.at) == (exchange(1).id, "expired", 1000.0)
    assert queue.lag() == Lag(0, 1, 1, 0.0)


def test_bodies_have_a_time_to_live(store):
    """The server forgets them itself, those of dead letters too."""
    queue = queue_on(store, kept_s=100)
    queue.put([exchange(1), exchange(2)])
    queue.bury(exchange(2).id, "not_json")
    for name in (f"payload:{exchange(1).id}", f"dead-payload:{exchange(2).id}"):
        assert 0 < store.client.pttl(store.key("main", name)) <= 100_000


def test_dead_letters_are_bounded_and_counted(store):
    """The oldest go first, with their bodies."""
    queue = queue_on(store, dead_kept=3)
    queue.put([exchange(number) for number in range(5)])
    for number in range(5):
        queue.bury(exchange(number).id, f"reason_{number}")
    assert [letter.reason for letter in queue.dead_letters(10)] == ["reason_4", "reason_3", "reason_2"]
    assert queue.figures()["dead_dropped"] == 2
    assert len(list(store.client.scan_iter(store.key("main", "dead-payload:*")))) == 3


def test_a_heartbeat_of_a_worker_that_lost_its_lease_takes_nothing_back(store):
    """Neither does it give back what another one holds."""
    one, other = queue_on(store), queue_on(store)
    one.put([exchange(1)])
    assert len(one.reserve(1, 0.0)) == 1
    (lease,) = other.reserve(1, 0.0)
    assert lease.attempt == 2
    one.extend([exchange(1).id], 60)
    one.release([exchange(1).id])
    (holder,) = store.client.xpending_range(store.key("main", "exchanges"), "workers", "-", "+", 10)
    assert holder["consumer"].decode() == other._consumer
    assert holder["times_delivered"] == 2


def test_a_redis_that_lost_everything_is_used_again(store):
    """A server without persistence that restarted has neither stream nor group."""
    queue = queue_on(store)
    queue.put([exchange(1)])
    queue.reserve(1, 60)
    store.client.delete(*store.client.scan_iter(store.key("main", "*")))
    assert queue.lag() == Lag(0, 0, 0, 0.0)
    assert queue.put([exchange(2)]) == 1
    assert ids(queue.reserve(10, 60)) == [exchange(2).id]


def test_workers_that_are_gone_are_forgotten(store, monkeypatch):
    """Not before their leases are taken over."""
    one, other = queue_on(store, consumer="one"), queue_on(store, consumer="other")
    one.put([exchange(1), exchange(2)])
    one.reserve(1, 60)
    other.acknowledge(ids(other.reserve(1, 60)))
    monkeypatch.setattr("evenkeel.stores.redis.queue._IDLE_CONSUMER_MS", -1)
    assert other.forget_workers() == 1
    left = store.client.xinfo_consumers(store.key("main", "exchanges"), "workers")
    assert [worker["name"] for worker in left] == [b"one"]


def test_a_short_absence_of_redis_loses_nothing(tmp_path):
    """The hand-off's thread waits and tries again; afterwards everything is there once."""
    server = RedisServer(tmp_path)
    store = a_store(server, timeout_s=0.3)
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 2:
            server.start()

    queue = queue_on(store, pause=pause, timer=lambda: float(len(pauses)))
    queue.put([exchange(1)])
    server.stop()
    assert queue.put([exchange(2), exchange(3)]) == 2
    assert pauses == [0.1, 0.2]
    assert ids(queue.reserve(10, 60)) == [exchange(2).id, exchange(3).id]
    server.stop()
    store.close()


def test_a_long_absence_is_an_error(tmp_path):
    """Which the hand-off counts; it tries for as long as it was told and no longer."""
    server = RedisServer(tmp_path)
    store = a_store(server, timeout_s=0.3)
    server.stop()
    pauses = []
    queue = queue_on(store, patience_s=2.0, pause=pauses.append, timer=lambda: float(len(pauses)))
    with pytest.raises(redis.ConnectionError):
        queue.put([exchange(1)])
    assert len(pauses) == 2


def test_a_put_whose_answer_was_lost_counts_what_was_taken(store, monkeypatch):
    """The batch is in the queue although the first try ended in a timeout: once, and reported as taken."""
    queue = queue_on(store, pause=lambda _: None)
    run, lost = queue._run, []

    def cut(script, *arguments):
        answer = run(script, *arguments)
        if not lost:
            lost.append(answer)
            raise redis.TimeoutError("no answer")
        return answer

    monkeypatch.setattr(queue, "_run", cut)
    assert queue.put([exchange(1), exchange(2)]) == 2
    assert lost == [2]
    assert queue.lag().waiting == 2
