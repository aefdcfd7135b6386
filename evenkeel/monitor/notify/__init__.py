"""Notifications of incidents to people and machines: at most three messages an incident on every channel.

The `Notifier` hands the events that the store holds to its channels. A `Channel` waits for a moment, so that
what belongs together is one message, says once that an incident was opened, once that it became graver and
once that it is over (`notices`), and holds incidents on robustness back while the judge or the pipeline is
broken. Each channel has a sink: a `Webhook`, Slack, Teams, PagerDuty, or whatever apprise knows. A failed
delivery is tried again after 1 s, 2 s, 4 s … up to 5 min.
"""

from evenkeel.monitor.notify.alerts import event_json, incident_json, summary
from evenkeel.monitor.notify.channel import Channel, Sink
from evenkeel.monitor.notify.notices import Contact, Notice, NoticeMessage, Writer
from evenkeel.monitor.notify.notifier import Notifier
from evenkeel.monitor.notify.services import (
    AppriseSink,
    PagerDuty,
    Slack,
    Teams,
    UnknownServiceError,
    Webhook,
)

__all__ = [
    "AppriseSink",
    "Channel",
    "Contact",
    "Notice",
    "NoticeMessage",
    "Notifier",
    "PagerDuty",
    "Sink",
    "Slack",
    "Teams",
    "UnknownServiceError",
    "Webhook",
    "Writer",
    "event_json",
    "incident_json",
    "summary",
]
