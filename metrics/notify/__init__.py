"""Tells people about alerts: a line to print, a webhook, and channels with grouped messages.

The `Notifier` hands what the store holds to its recipients: a `Webhook` gets every event at once, as
JSON; a `Channel` gathers events by route (`Groups`), holds them back while they mean nothing, and
gives messages to a sender such as `AppriseSender`.
"""

from metrics.notify.apprise_sender import AppriseSender, UnknownServiceError
from metrics.notify.channel import Channel, Grouping, Sender
from metrics.notify.groups import Batch, Groups, Message
from metrics.notify.notifier import Notifier, Recipient
from metrics.notify.webhook import Outcome, Webhook
from metrics.notify.wording import line, payload

__all__ = [
    "AppriseSender",
    "Batch",
    "Channel",
    "Grouping",
    "Groups",
    "Message",
    "Notifier",
    "Outcome",
    "Recipient",
    "Sender",
    "UnknownServiceError",
    "Webhook",
    "line",
    "payload",
]
