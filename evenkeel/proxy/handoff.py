"""Hand-off of sampled exchanges from the event loop to the queue, in batches.

This is where the data plane ends. No fault behind it reaches a user: a slow or blocked queue
fills the buffer, a full buffer drops and counts, an exception drops its batch and counts.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.exchange import Exchange, ExchangeSink
    from evenkeel.proxy.clients import ClientNames
    from evenkeel.proxy.counters import Counters

# Most bytes in a batch. Packing and storing copy the batch, so this limit bounds the copy.
_BATCH_BYTES = 4 << 20
_SECONDS_PER_HOUR = 3600.0
# Time to gather a batch. Storing one can delay a request that arrives meanwhile. A few large batches a second
# delay fewer than one request in a hundred; fifty small ones would delay more.
_GATHER_S = 0.25


class Offer(Protocol):
    """Item that the event loop hands over: references to bytes that have passed."""

    @property
    def route(self) -> str:
        """Name of the route."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes that it holds in memory."""
        ...

    def exchanges(self, names: ClientNames | None) -> list[Exchange]:
        """Return the exchanges that it completes; work for the hand-off's thread."""
        ...


class HandOff:
    """A buffer bounded in bytes, and a daemon thread that empties it into the queue.

    The offered bytes are written by the event loop only and the drained bytes by the thread only;
    their difference is the buffer's size, without a lock.
    """

    def __init__(
        self,
        queue: ExchangeSink,
        counters: Counters,
        *,
        max_bytes: int,
        max_batch: int = 64,
        names: ClientNames | None = None,
    ) -> None:
        """Prepare; `start` begins.

        Args:
            queue: Queue for the exchanges. Its `put` may block, fail or be slow.
            counters: Counters of queued and skipped exchanges.
            max_bytes: Bytes that may wait in memory, bodies and heads together.
            max_batch: Exchanges in one `put` at most.
            names: Name the clients; None = they have no names.
        """
        self.counters = counters
        self._queue = queue
        self._max_bytes = max_bytes
        self._max_batch = max_batch
        self._names = names
        self.client_quota: int | None = None
        """Maximum number of exchanges of one client that are queued in a clock hour; None = no limit."""
        self._hour = -1.0
        # Exchanges queued in the current hour, by client.
        self._taken: dict[str, int] = {}
        self._waiting: deque[Offer] = deque()
        self._offered_bytes = 0
        self._drained_bytes = 0
        # Bytes in memory at which the thread stops gathering and stores the batch.
        self._gathered_bytes = min(_BATCH_BYTES, max_bytes // 2)
        self._wake = threading.Event()
        self._enough = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="evenkeel-handoff", daemon=True)

    @property
    def size_bytes(self) -> int:
        """Bytes that wait in memory, including the batch that is being stored."""
        return self._offered_bytes - self._drained_bytes

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def offer(self, exchange: Offer) -> bool:
        """Take something without waiting. Returns False, and counts it, if there is no room."""
        size = exchange.size_bytes
        if self._offered_bytes - self._drained_bytes + size > self._max_bytes or self._stop.is_set():
            self.counters.of(exchange.route).skip("queue_full")
            return False
        self._offered_bytes += size
        self._waiting.append(exchange)
        if not self._wake.is_set():
            self._wake.set()
        if self._offered_bytes - self._drained_bytes >= self._gathered_bytes:
            self._enough.set()
        return True

    def _within_quota(self, exchanges: list[Exchange]) -> list[Exchange]:
        """Return the exchanges of clients within their hourly quota; count the others as skipped."""
        most = self.client_quota
        if most is None:
            return exchanges
        within = []
        for exchange in exchanges:
            hour = exchange.received_at // _SECONDS_PER_HOUR
            # Exchanges arrive a little out of order: one of the hour before must not begin the counts anew.
            if hour not in (self._hour, self._hour - 1):
                self._hour, self._taken = hour, {}
            taken = self._taken.get(exchange.client, 0)
            if exchange.client and taken >= most:
                self.counters.of(exchange.route).skip("client_quota")
                continue
            self._taken[exchange.client] = taken + 1
            within.append(exchange)
        return within

    def close(self, timeout_s: float) -> None:
        """Refuse new exchanges, put what waits, and stop; give up after the timeout."""
        self._stop.set()
        self._wake.set()
        self._enough.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._enough.wait(_GATHER_S)
            self._wake.clear()
            self._enough.clear()
            self._drain()
        self._drain()

    def _drain(self) -> None:
        while self._waiting:
            batch: list[Offer] = []
            size = 0
            while self._waiting and len(batch) < self._max_batch and size < _BATCH_BYTES:
                batch.append(self._waiting.popleft())
                size += batch[-1].size_bytes
            left: Sequence[Offer | Exchange] = batch
            try:
                offered: list[Exchange] = []
                for offer in batch:
                    offered += offer.exchanges(self._names)
                left = exchanges = self._within_quota(offered)
                taken = self._queue.put(exchanges) if exchanges else 0
            except Exception:  # noqa: BLE001 - the boundary where faults of storage end, counted
                for item in left:
                    self.counters.of(item.route).skip("store_error")
            else:
                # A full queue does not say which exchanges it refused; it takes the first ones.
                for item in left[:taken]:
                    self.counters.of(item.route).queued += 1
                for item in left[taken:]:
                    self.counters.of(item.route).skip("store_full")
            finally:
                self._drained_bytes += size
