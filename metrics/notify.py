"""Tells people about alerts: one line to print, and a webhook if there is one."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import httpx2

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from metrics.stores.protocols import AlertEvent, MonitorStore

_LIMIT = 100
_TIMEOUT_S = 5.0
_FIRST_BACKOFF_S = 1.0
_LONGEST_BACKOFF_S = 300.0

Outcome = Literal["delivered", "refused", "unreachable"]


def payload(event: AlertEvent) -> dict[str, Any]:
    """What is posted to the webhook.

    Returns: all fields of the event (`id`, `at` in Unix seconds, `kind` "raised" or "resolved",
    `route`, `model`, `perturbation`, `offset`, `trials`, `excess` or null, `summary`), `source`
    "evenkeel", and `text`, the line for people that Slack and compatible receivers show. An event
    may arrive more than once, always with the same `id`.
    """
    return {**asdict(event), "source": "evenkeel", "text": line(event)}


def line(event: AlertEvent) -> str:
    """The event as one line for people."""
    return f"[evenkeel] ALERT {event.kind}: {event.summary}"


class Webhook:
    """Posts JSON to a URL. The URL is a secret (Slack's are) and is never shown, only its host."""

    def __init__(self, url: str, client: httpx2.Client | None = None) -> None:
        self._url = url
        self._client = client or httpx2.Client(timeout=_TIMEOUT_S)
        self.host = urlsplit(url).hostname or "?"
        self.problem = ""
        """Why the last post failed, "" if it did not."""

    def post(self, body: dict[str, Any]) -> Outcome:
        """Post once. Redirects and errors are failures, with the reason in `problem`."""
        try:
            response = self._client.post(self._url, json=body)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            self.problem = type(error).__name__
            return "unreachable"
        if response.is_success:
            self.problem = ""
            return "delivered"
        self.problem = f"status {response.status_code}"
        return "refused"

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


class Notifier:
    """Delivers events from the store, each at least once, in order.

    An event is marked as delivered only after the webhook took it. A webhook that fails is tried
    again by later calls, after 1 s, 2 s, 4 s … up to 5 min; an event that it refuses does not hold
    up the ones behind it. Runs apart from the monitor, which never waits for it.
    """

    def __init__(
        self,
        store: MonitorStore,
        announce: Callable[[str], None],
        webhook: Webhook | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._announce = announce
        self._webhook = webhook
        self._clock = clock
        self._announced: set[str] = set()
        self._backoff_s = _FIRST_BACKOFF_S
        self._next_try = clock()

    def deliver(self) -> int:
        """Announce what is new and post what is due; returns how many events were delivered."""
        waiting = self._store.undelivered(_LIMIT)
        for event in waiting:
            if event.id not in self._announced:
                self._announce(line(event))
                self._announced.add(event.id)
        if not waiting or self._clock() < self._next_try:
            return 0
        delivered, failed = 0, False
        for event in waiting:
            outcome = self._webhook.post(payload(event)) if self._webhook else "delivered"
            if outcome == "delivered":
                self._store.mark_delivered(event.id)
                self._announced.discard(event.id)
                delivered += 1
                continue
            failed = True
            if outcome == "unreachable":
                break
        self._pace(failed=failed)
        return delivered

    def _pace(self, *, failed: bool) -> None:
        if not failed:
            self._backoff_s = _FIRST_BACKOFF_S
            return
        assert self._webhook is not None
        self._announce(
            f"[evenkeel] the alert webhook at {self._webhook.host} failed ({self._webhook.problem}); "
            f"trying again in {self._backoff_s:.0f} s"
        )
        self._next_try = self._clock() + self._backoff_s
        self._backoff_s = min(2 * self._backoff_s, _LONGEST_BACKOFF_S)

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
