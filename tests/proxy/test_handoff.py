import threading

import pytest

from evenkeel.proxy.counters import Counters
from evenkeel.proxy.handoff import HandOff
from tests.stores.examples import exchange as a_stored


def exchange(number, size=10, route="r"):
    return a_stored(number, route=route, request_body=b"q" * size, response_body=b"")


class Passed:
    """An exchange that has passed."""

    def __init__(self, exchange):
        self.exchange, self.route, self.size_bytes = exchange, exchange.route, exchange.size_bytes

    def exchanges(self, names):
        return [self.exchange]


def offer(handoff, exchange):
    return handoff.offer(Passed(exchange))


def test_everything_offered_before_the_close_is_put_once(queue):
    """Order is kept, batches are bounded, and the buffer is empty afterwards."""
    handoff = HandOff(queue, Counters(), max_bytes=10_000, max_batch=7)
    handoff.start()
    assert all(offer(handoff, exchange(number)) for number in range(100))
    handoff.close(240)
    assert [exchange.id for exchange in queue.exchanges] == [f"{number:016x}" for number in range(100)]
    assert max(queue.batches) <= 7
    assert handoff.size_bytes == 0
    assert handoff.counters.of("r").queued == 100


def test_full_buffer_refuses_and_counts_by_route(queue):
    """The bound counts the batch in the queue's hands too; room comes back when it is put."""
    queue.gate.clear()
    handoff = HandOff(queue, Counters(), max_bytes=30)
    handoff.start()
    assert [offer(handoff, exchange(number)) for number in range(4)] == [True, True, True, False]
    assert queue.entered.wait(240)
    assert not offer(handoff, exchange(5, route="s"))
    assert handoff.size_bytes == 30
    queue.gate.set()
    handoff.close(240)
    assert handoff.counters.of("r").skipped == {"queue_full": 1}
    assert handoff.counters.of("s").skipped == {"queue_full": 1}
    assert len(queue.exchanges) == 3
    assert handoff.size_bytes == 0


def test_failing_queue_loses_its_batch_and_nothing_else(queue):
    """A fault is counted, the room is given back, and the next batch is tried."""
    failed = threading.Event()

    class Flaky:
        def put(self, exchanges):
            if not failed.is_set():
                failed.set()
                raise RuntimeError("no")
            return queue.put(exchanges)

    handoff = HandOff(Flaky(), Counters(), max_bytes=20)
    handoff.start()
    offer(handoff, exchange(1))
    assert failed.wait(240)
    while handoff.size_bytes:
        threading.Event().wait(0.001)
    assert offer(handoff, exchange(2, size=20))
    handoff.close(240)
    assert handoff.counters.of("r").skipped == {"store_error": 1}
    assert [exchange.id for exchange in queue.exchanges] == [f"{2:016x}"]


def test_exchanges_that_the_queue_has_no_room_for_are_skipped(queue):
    """A queue takes two of a batch: two are counted as queued and the rest as skipped."""

    class Bounded:
        def put(self, exchanges):
            return queue.put(exchanges[: max(0, 2 - len(queue.exchanges))])

    handoff = HandOff(Bounded(), Counters(), max_bytes=1000)
    for number in range(5):
        offer(handoff, exchange(number))
    handoff.start()
    handoff.close(240)
    assert [exchange.id for exchange in queue.exchanges] == [f"{number:016x}" for number in range(2)]
    assert handoff.counters.of("r").queued == 2
    assert handoff.counters.of("r").skipped == {"store_full": 3}


def test_close_does_not_wait_for_a_stuck_queue_for_ever(queue):
    """The timeout bounds a shutdown, and nothing is taken after it."""
    queue.gate.clear()
    handoff = HandOff(queue, Counters(), max_bytes=100)
    handoff.start()
    offer(handoff, exchange(1))
    assert queue.entered.wait(240)
    handoff.close(0.01)
    assert not offer(handoff, exchange(2))
    queue.gate.set()


def test_a_client_gets_no_more_than_its_quota_an_hour(queue):
    """Two of the flood are queued in each hour; others, and those without a name, are not touched."""
    handoff = HandOff(queue, Counters(), max_bytes=1 << 20)
    handoff.client_quota = 2
    flood = [a_stored(number, client="flood", received_at=float(number)) for number in range(10)]
    others = [a_stored(10, client="other", received_at=1.0), a_stored(11, received_at=1.0)]
    later = [a_stored(number, client="flood", received_at=3600.0) for number in (12, 13, 14)]
    for sent in (*flood, *others, *later):
        assert offer(handoff, sent)
    handoff.start()
    handoff.close(60)
    assert [exchange.id for exchange in queue.exchanges] == [
        f"{number:016x}" for number in (0, 1, 10, 11, 12, 13)
    ]
    assert handoff.counters.of("default").skipped == {"client_quota": 9}


@pytest.mark.parametrize("sizes", [(20, 30), (10,)], ids=["half of the room", "closed"])
def test_a_batch_does_not_always_gather(queue, monkeypatch, sizes):
    """A batch goes at once with half of the room taken, and at a close, however long one may gather."""
    monkeypatch.setattr("evenkeel.proxy.handoff._GATHER_S", 3600.0)
    handoff = HandOff(queue, Counters(), max_bytes=100)
    handoff.start()
    for number, size in enumerate(sizes):
        offer(handoff, exchange(number, size))
    assert len(sizes) == 1 or queue.entered.wait(240)
    handoff.close(60)
    assert len(queue.exchanges) == len(sizes)
