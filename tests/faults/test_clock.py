"""Clocks that are set while evenkeel runs: no exchange waits for hours, and none is tried twice at once."""

import asyncio
import threading
from types import SimpleNamespace

import pytest

from evenkeel.core.exchange import Lease
from evenkeel.shadow.observer import NOBODY
from evenkeel.shadow.original import UnreadableExchange
from evenkeel.shadow.worker import Worker
from evenkeel.stores.counters import Tally
from tests.stores.examples import exchange, ids

LEASE_S = 15.0


@pytest.fixture
def clock(on_sqlite):
    return on_sqlite.clock


@pytest.fixture
def queue(on_sqlite):
    return on_sqlite.queue()


def test_a_lease_given_while_the_clock_was_ahead_is_taken_again(queue, clock):
    """The worker may be dead; the exchange does not wait until the time that the lease names."""
    queue.put([exchange(1)])
    clock.now += 7200
    assert ids(queue.reserve(1, LEASE_S)) == [exchange(1).id]
    clock.now -= 7200
    (lease,) = queue.reserve(1, LEASE_S)
    assert (lease.exchange.id, lease.attempt) == (exchange(1).id, 2)


def test_a_small_step_back_ends_no_lease(queue, clock):
    """A clock that is put right by seconds takes nothing from a worker that is at work."""
    queue.put([exchange(1)])
    queue.reserve(1, LEASE_S)
    clock.now -= LEASE_S
    assert queue.reserve(1, LEASE_S) == []
    clock.now += 2 * LEASE_S
    assert ids(queue.reserve(1, LEASE_S)) == [exchange(1).id]


class Delivering:
    """A queue whose lease runs out at once: it delivers the same exchange again."""

    def __init__(self, times, done):
        self.deliveries = 0
        self.done = done
        self.times = times
        self.all_delivered = threading.Event()
        self.acknowledged = []

    def reserve(self, limit, lease_s):
        if self.deliveries == self.times:
            self.all_delivered.set()
            return []
        self.deliveries += 1
        return [Lease(exchange(1), self.deliveries)]

    def acknowledge(self, ids):
        self.acknowledged += ids
        self.done()

    def release(self, ids):
        assert ids == []


class Reading:
    """Reads for as long as deliveries go on."""

    def __init__(self, queue):
        self.queue = queue
        self.count = 0

    def read(self, exchange):
        self.count += 1
        assert self.queue.all_delivered.wait(240)
        return UnreadableExchange("not_supported", dead=False)


def test_a_worker_does_not_begin_again_what_it_holds():
    """An exchange that comes again while it is worked on, as after a jump of the clock, counts once."""

    async def work():
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        queue = Delivering(3, lambda: loop.call_soon_threadsafe(stop.set))
        reader, tally = Reading(queue), Tally()
        await Worker(queue, reader, SimpleNamespace(observer=NOBODY), tally=tally).run(stop)
        return queue, reader, tally

    queue, reader, tally = asyncio.run(work())
    assert (queue.deliveries, reader.count) == (3, 1)
    assert queue.acknowledged == [exchange(1).id]
    assert tally.value("exchanges_skipped") == 1
