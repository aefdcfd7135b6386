"""A webhook that gets every event by itself, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import httpx2

from evenkeel.monitor.notify.backoff import Backoff
from evenkeel.monitor.notify.wording import payload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.stores.monitor_state import AlertEvent

_TIMEOUT_S = 5.0

Outcome = Literal["delivered", "refused", "unreachable"]


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


class WebhookRecipient:
    """Hands each event to the webhook, in order.

    An event that is refused does not hold up the ones behind it; while nothing answers, nothing
    else is tried.
    """

    def __init__(self, webhook: Webhook, announce: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._webhook = webhook
        self._announce = announce
        self._backoff = Backoff(clock)

    def take(self, events: Sequence[AlertEvent]) -> set[str]:
        """Post what is due; returns the ids of the events that were taken."""
        if not events or not self._backoff.due:
            return set()
        taken, failed = set(), False
        for event in events:
            outcome = self._webhook.post(payload(event))
            if outcome == "delivered":
                taken.add(event.id)
                continue
            failed = True
            if outcome == "unreachable":
                break
        self._pace(failed=failed)
        return taken

    def _pace(self, *, failed: bool) -> None:
        if not failed:
            self._backoff.succeed()
            return
        self._announce(
            f"[evenkeel] the alert webhook at {self._webhook.host} failed ({self._webhook.problem}); "
            f"trying again in {self._backoff.fail():.0f} s"
        )
