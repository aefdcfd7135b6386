"""Notifications of incidents to people and machines: at most three messages an incident on every channel.

The `Notifier` hands all incidents to its channels. A `Channel` compares each with what it has sent: it says
once that an incident was opened, once that it became graver and once that it is over (`notices`). While the
judge is down it holds incidents on robustness back. Each channel has a sink, one of `services`. A failed
delivery is tried again after 1 s, 2 s, 4 s … 5 min.
"""

from evenkeel.monitor.notify.alerts import event_json, incident_json, summary
from evenkeel.monitor.notify.channel import Channel, Notifier, Sink
from evenkeel.monitor.notify.notices import Contact, Notice, NoticeMessage, Writer

__all__ = [
    "Channel",
    "Contact",
    "Notice",
    "NoticeMessage",
    "Notifier",
    "Sink",
    "Writer",
    "event_json",
    "incident_json",
    "summary",
]
