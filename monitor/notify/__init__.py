"""Tells people about alerts: a line to print, a webhook, and channels with grouped messages.

The `Notifier` hands what the store holds to its recipients: a `Webhook` gets every event at once, as
JSON; a `Channel` gathers events by route (`Groups`), holds them back while they mean nothing, and
gives messages to a sender such as `AppriseSender`.
"""

from evenkeel.monitor.notify.apprise_sender import AppriseSender, UnknownServiceError
from evenkeel.monitor.notify.channel import Channel, Grouping, Sender
from evenkeel.monitor.notify.groups import Batch, Groups, Message
from evenkeel.monitor.notify.notifier import Notifier, Recipient
from evenkeel.monitor.notify.webhook import Outcome, Webhook
from evenkeel.monitor.notify.wording import line, payload

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
