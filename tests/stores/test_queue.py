"""The contract of `ExchangeQueue`; every backend runs it. Below, what each does besides."""

import base64
import random
import subprocess
import sys

import pytest
import redis

from evenkeel.core.exchange import Lag, QueueBounds
from evenkeel.stores.redis.queue import RedisExchangeQueue
from tests.redis_server import RedisServer, a_store
from tests.stores.examples import exchange, ids


@pytest.fixture
def clock(backend):
    return backend.clock


@pytest.fixture
def build(backend):
    return backend.queue


@pytest.fixture
def queue(build):
    return build(bounds=QueueBounds(50))


def test_an_exchange_comes_out_as_it_went_in(queue):
    """Every field survives storage, bytes that are not text included."""
    queue.put([exchange(1, prompt_version="v7", session="s")])
    (lease,) = queue.reserve(10, 60)
    assert lease.exchange == exchange(1, prompt_version="v7", session="s")
    assert lease.attempt == 1


def test_a_known_id_is_ignored(queue):
    assert queue.put([exchange(1), exchange(2)]) == 2
    assert queue.put([exchange(2), exchange(3)]) == 1
    assert queue.lag().waiting == 3


def test_a_lease_ends_unless_it_is_extended(queue, clock):
    """A heartbeat holds an exchange past its first lease; what a dead worker held comes again, counted."""
    queue.put([exchange(1)])
    queue.reserve(1, 60)
    clock.now += 50
    queue.extend([exchange(1).id], 60)
    clock.now += 59
    assert queue.reserve(1, 60) == []
    clock.now += 1
    (lease,) = queue.reserve(1, 60)
    assert lease.attempt == 2


def test_an_acknowledged_exchange_is_gone(queue, clock):
    """Finished work is not delivered again; unknown ids do no harm."""
    queue.put([exchange(1)])
    queue.reserve(1, 60)
    queue.acknowledge([exchange(1).id, "unknown"])
    clock.now += 100
    assert queue.reserve(1, 60) == []
    assert queue.lag().waiting == 0


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
    assert queue.put([exchange(number) for number in range(60)]) == 50
    assert queue.lag().waiting == 50


def test_the_queue_is_bounded_in_bytes_too(build):
    """Large bodies fill it long before there are many of them; what does not fit is refused."""
    queue = build(bounds=QueueBounds(bytes=250_000))
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


def test_workers_share_the_queue_oldest_first(build):
    """Others neither get nor lose what one worker holds; what is given back is free at once."""
    worker, other = build(), build()
    worker.put([exchange(number) for number in (3, 1, 2)])
    assert ids(worker.reserve(2, 60)) == [exchange(3).id, exchange(1).id]
    assert ids(other.reserve(2, 60)) == [exchange(2).id]
    other.acknowledge([exchange(3).id])
    worker.release([exchange(1).id])
    (lease,) = other.reserve(2, 60)
    assert (lease.exchange.id, lease.attempt) == (exchange(1).id, 1)
    assert worker.reserve(2, 60) == []


def test_leases_of_a_killed_process_are_recovered(backend, queue, clock):
    """A real process killed with -9 while holding leases loses nothing."""
    queue.put([exchange(number) for number in range(4)])
    script = (
        f"import os, signal\n{backend.queue_elsewhere()}"
        "assert len(queue.reserve(4, 60)) == 4\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert queue.reserve(10, 60) == []
    clock.now += 61
    assert [lease.attempt for lease in queue.reserve(10, 60)] == [2] * 4


def test_dead_letters_leave_the_queue(queue, clock):
    """Listed newest first with reason and time, at most as many as asked for; never delivered again."""
    queue.put([exchange(number) for number in range(3)])
    queue.reserve(3, 60)
    for number, reason in enumerate(("damaged", "too_many_attempts", "expired")):
        queue.bury(exchange(number).id, reason)
    letters = queue.dead_letters(2)
    assert [(letter.exchange_id, letter.reason, letter.at) for letter in letters] == [
        (exchange(2).id, "expired", 1000.0),
        (exchange(1).id, "too_many_attempts", 1000.0),
    ]
    clock.now += 100
    assert queue.reserve(1, 60) == []
    assert (queue.lag().dead, queue.lag().leased) == (3, 0)


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
    """The bodies are gone; that it was there, and why it was not scored, stays."""
    queue = queue_on(store)
    queue.put([exchange(1), exchange(2)])
    store.client.delete(store.key("main", f"payload:{exchange(1).id}"))
    assert ids(queue.reserve(10, 60)) == [exchange(2).id]
    (letter,) = queue.dead_letters(10)
    assert (letter.exchange_id, letter.reason, letter.at) == (exchange(1).id, "expired", 1000.0)
    assert queue.lag() == Lag(0, 1, 1, 0.0)


def test_bodies_have_a_time_to_live(store):
    """The server forgets them itself; those of a dead letter go at once."""
    queue = queue_on(store, bounds=QueueBounds(kept_s=100))
    queue.put([exchange(1), exchange(2)])
    queue.bury(exchange(2).id, "not_json")
    assert 0 < store.client.pttl(store.key("main", f"payload:{exchange(1).id}")) <= 100_000
    assert not store.client.exists(store.key("main", f"payload:{exchange(2).id}"))


def test_dead_letters_are_bounded_and_counted(store):
    """The oldest go first."""
    queue = queue_on(store, dead_kept=3)
    queue.put([exchange(number) for number in range(5)])
    for number in range(5):
        queue.bury(exchange(number).id, f"reason_{number}")
    assert [letter.reason for letter in queue.dead_letters(10)] == ["reason_4", "reason_3", "reason_2"]
    assert queue.figures()["dead_dropped"] == 2


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
    """Workers are forgotten once their leases are taken over."""
    one, other = queue_on(store, consumer="one"), queue_on(store, consumer="other")
    one.put([exchange(1), exchange(2)])
    one.reserve(1, 60)
    other.acknowledge(ids(other.reserve(1, 60)))
    monkeypatch.setattr("evenkeel.stores.redis.queue._IDLE_CONSUMER_MS", -1)
    assert other.forget_workers() == 1
    left = store.client.xinfo_consumers(store.key("main", "exchanges"), "workers")
    assert [worker["name"] for worker in left] == [b"one"]


@pytest.mark.service("redis-server")
def test_an_absence_of_redis_loses_nothing_unless_it_is_long(tmp_path):
    """The hand-off's thread tries again for as long as it was told; then it is an error, which it counts."""
    server = RedisServer(tmp_path)
    store = a_store(server)
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
    waited = []
    queue = queue_on(store, patience_s=2.0, pause=waited.append, timer=lambda: float(len(waited)))
    with pytest.raises(redis.ConnectionError):
        queue.put([exchange(1)])
    assert len(waited) == 2
    store.close()


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
