"""Delivers what the store has not delivered yet, to the log, a webhook and channels."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from evenkeel.monitor.notify.webhook import Webhook, WebhookRecipient
from evenkeel.monitor.notify.wording import line

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from evenkeel.stores.monitor_state import AlertEvent, MonitorStore

_LIMIT = 1000


class Recipient(Protocol):
    """Someone who gets alert events."""

    def take(self, events: Sequence[AlertEvent]) -> set[str]:
        """Take what can be taken now; returns the ids of the events that are settled.

        Called again and again, with all events that are not settled yet, oldest first.
        """
        ...


class Notifier:
    """Delivers events from the store, each at least once, in order.

    An event is marked as delivered only after the webhook and every channel have settled it, so
    none is lost by a restart; after one, a recipient that had it may get it again. A recipient that
    fails is tried again by later calls and does not hold up the others. Runs apart from the
    monitor, which never waits for it.
    """

    def __init__(
        self,
        store: MonitorStore,
        announce: Callable[[str], None],
        webhook: Webhook | None = None,
        channels: Sequence[Recipient] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wire the recipients.

        Args:
            store: holds the events.
            announce: gets each event as a line, once.
            webhook: gets each event as JSON.
            channels: get messages.
            clock: seconds from any time on.
        """
        self._store = store
        self._announce = announce
        first = (WebhookRecipient(webhook, announce, clock),) if webhook else ()
        self._recipients: tuple[Recipient, ...] = (*first, *channels)
        self._settled: list[set[str]] = [set() for _ in self._recipients]
        """By recipient: events that others still have to settle."""
        self._announced: set[str] = set()

    def deliver(self) -> int:
        """Announce what is new and hand out what is due; returns how many events were delivered."""
        waiting = self._store.undelivered(_LIMIT)
        for event in waiting:
            if event.id not in self._announced:
                self._announce(line(event))
                self._announced.add(event.id)
        for recipient, settled in zip(self._recipients, self._settled, strict=True):
            settled.update(recipient.take([event for event in waiting if event.id not in settled]))
        delivered = 0
        for event in waiting:
            if all(event.id in settled for settled in self._settled):
                self._store.mark_delivered(event.id)
                self._announced.discard(event.id)
                for settled in self._settled:
                    settled.discard(event.id)
                delivered += 1
        return delivered

    def run(self, stop: threading.Event, poll_s: float = 1.0) -> None:
        """Deliver every `poll_s` seconds until `stop` is set; a failing store is tried again."""
        reported = ""
        while not stop.is_set():
            try:
                self.deliver()
                reported = ""
            except Exception as error:  # noqa: BLE001 - the boundary of this thread: it must live on
                if repr(error) != reported:
                    reported = repr(error)
                    self._announce(f"[evenkeel] alerts cannot be delivered: {error!r}; trying again")
            stop.wait(poll_s)
