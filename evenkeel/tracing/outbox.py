"""Bounded queue before a service that may be slow or away."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from evenkeel.stores.counters import Tally

Item = TypeVar("Item")

log = logging.getLogger("evenkeel.traces")

# Seconds to wait at shutdown if the last batch failed; a service that is back needs no longer.
_LAST_CHANCE_S: Final = 0.3


class Outbox(Generic[Item]):
    """Queue whose items a thread of its own sends in batches, and which nothing ever waits for. Thread-safe.

    An item that finds it full is dropped, so memory stays bounded while the service is away. Every item is
    counted once: as sent, or as dropped with a reason.
    """

    def __init__(
        self,
        name: str,
        tally: Tally,
        counters: tuple[str, str],
        room: int,
        batch: int = 1,
        delay_s: float | None = None,
    ) -> None:
        """Start the thread.

        `counters` are the names of the counters of sent and of dropped items. `room` includes the items that
        are being sent. A batch is sent when it is full, or after `delay_s` seconds; None = only when full.
        """
        self._name = name
        self._tally = tally
        self._sent, self._dropped = counters
        self._room = room
        self._batch = min(batch, room)
        self._delay_s = delay_s
        self._changed = threading.Condition()
        self._items: deque[Item] = deque()
        # Items that wait or are being sent.
        self._unsent = 0
        self._ending = False
        self._failing = False
        # A daemon: a service that never answers cannot hold up the end of the process.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def send(self, batch: list[Item]) -> str:
        """Send some items. Return why they were not taken, "" if they were. May raise anything."""
        raise NotImplementedError

    def ended(self) -> None:
        """Close the connections, after the last batch."""

    def put(self, item: Item) -> None:
        """Queue an item, or drop and count it."""
        with self._changed:
            full = self._unsent >= self._room
            if not full and not self._ending:
                self._items.append(item)
                self._unsent += 1
                if len(self._items) >= self._batch:
                    self._changed.notify()
                return
        self._tally.add(self._dropped, reason="shutdown" if self._ending else "queue_full")

    def close(self, timeout_s: float) -> None:
        """Send the queued items for at most `timeout_s` seconds, then count the rest as dropped."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        self._thread.join(min(timeout_s, _LAST_CHANCE_S) if self._failing else timeout_s)
        with self._changed:
            # The thread may still be sending. With nothing unsent, it does not count that batch again.
            left, self._unsent = self._unsent, 0
        if left:
            self._tally.add(self._dropped, left, reason="shutdown")

    def _run(self) -> None:
        while batch := self._next():
            try:
                reason = self.send(batch)
            except Exception:  # noqa: BLE001 - named boundary: any exporter, any transport; counted
                reason = "export_failed"
            with self._changed:
                # After `close` has given up waiting, it has counted this batch as dropped.
                in_time = self._unsent > 0
                self._unsent -= len(batch) if in_time else 0
            if not in_time:
                break
            self._count(len(batch), reason)
        self.ended()

    def _next(self) -> list[Item]:
        """Wait for a batch and return it; [] at the end."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._ending or len(self._items) >= self._batch, self._delay_s)
                if self._items or self._ending:
                    count = min(self._batch, len(self._items))
                    return [self._items.popleft() for _ in range(count)]

    def _count(self, number: int, reason: str) -> None:
        """Count a batch. Log the first failure, and the first success after it."""
        if reason:
            self._tally.add(self._dropped, number, reason=reason)
        else:
            self._tally.add(self._sent, number)
        if reason and not self._failing:
            counter = f"evenkeel_{self._dropped}_total"
            log.warning("%s cannot be sent (%s); losses are counted in %s", self._name, reason, counter)
        elif self._failing and not reason:
            log.warning("%s are sent again", self._name)
        self._failing = bool(reason)
