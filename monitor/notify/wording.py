"""What people and machines are told of alert events."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenkeel.stores.monitor_state import AlertEvent


def payload(event: AlertEvent) -> dict[str, Any]:
    """What is posted to the webhook.

    Returns: all fields of the event (`id`, `at` in Unix seconds, `kind` "raised" or "resolved",
    `route`, `model`, `perturbation`, `offset`, `trials`, `excess` or null, `summary`, `what`,
    `direction`), `source` "evenkeel", and `text`, the line for people that Slack and compatible
    receivers show. An event may arrive more than once, always with the same `id`.
    """
    return {**asdict(event), "source": "evenkeel", "text": line(event)}


def line(event: AlertEvent) -> str:
    """The event as one line for people."""
    return f"[evenkeel] ALERT {event.kind}: {event.summary}"
