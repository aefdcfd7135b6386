"""Incidents, a store and a sink for tests of notifications."""

from dataclasses import replace

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.incidents import Incident
from evenkeel.stores.monitor_state import AlertEvent

SWAP = (ChangeMark("model", "helpdesk-1", "helpdesk-2", 990.0, 5),)
SPELLING = AlertEvent(
    id="e1",
    at=1000.0,
    kind="raised",
    route="support",
    model="helpdesk-2",
    perturbation="general.spelling",
    offset=7,
    trials=64,
    excess=0.31,
    run_trials=20,
    measure="content",
    limit=0.1,
    limit_source="default",
    value=0.42,
    change="cafe",
    incident="cafe",
    marks=SWAP,
)
TONE = replace(SPELLING, id="e2", at=1010.0, perturbation="general.tone", value=0.25)
WORSE = replace(TONE, id="e3", measure="quality", value=0.2)
FOUND = replace(
    SPELLING,
    id="e4",
    at=1020.0,
    perturbation="",
    what="change",
    measure="references",
    value=0.3,
    limit=0.02,
    since=950.0,
)
BILLING = replace(SPELLING, id="b1", route="billing", change="beef", incident="beef", marks=())


def over(event, at=2000.0, reason="reversed"):
    """The end of an alert."""
    return replace(event, id=f"{event.id}-over", at=at, kind="resolved", reason=reason, marks=())


def decided(kind, at=1500.0, reason="", incident="cafe"):
    """A decision of ana's about an incident."""
    bare = replace(SPELLING, id=f"d-{kind}{at}", at=at, kind=kind, what="incident", incident=incident)
    return replace(bare, perturbation="", measure="", value=None, note="Known.", by="ana", reason=reason)


def incidents_of(events):
    """The incidents after these events, the one that was opened last first."""
    incidents = {}
    for event in events:
        opened = Incident(event.incident, event.at, event.offset, event.change, event.marks)
        incidents.setdefault(event.incident, opened).take(event)
    return sorted(incidents.values(), key=lambda incident: (-incident.opened_at, incident.id))


class Store:
    """Events, and what was sent, in memory."""

    def __init__(self, *events):
        self.all = []
        self.notices = {}
        self.add(*events)

    def add(self, *events):
        """Add events, each at a later place in the log."""
        for event in events:
            self.all.append(replace(event, offset=7 + len(self.all)))

    def events(self, limit):
        """The newest, newest first."""
        return self.all[::-1][:limit]

    def incidents(self):
        """The records of the incidents that they tell of."""
        return [incident.to_bytes() for incident in incidents_of(self.all)]

    def sent(self, incident, channel):
        """The notice that a channel has sent."""
        return self.notices.get((incident, channel))

    def put_sent(self, incident, channel, sent):
        """Remember it."""
        self.notices[incident, channel] = sent


class Clock:
    """A clock that is moved by hand."""

    now = 50.0

    def __call__(self):
        """The time it was set to."""
        return self.now


class Sink:
    """Keeps what it is given; fails as often as it is told."""

    problem = ""

    def __init__(self, failures=0, name="CHAT_URL"):
        self.name = name
        self.failures = failures
        self.attempts = 0
        self.sent = []
        self.shown = []
        self.messages = []

    def send(self, notice, receipt):
        """Take the notice, unless it is to fail."""
        del receipt
        self.attempts += 1
        if self.failures:
            self.failures -= 1
            return None
        self.sent.append(notice)
        return ""

    def show(self, notice, receipt):
        """Take where the incident stands."""
        del receipt
        self.shown.append(notice.incident.state)
        return True

    def tell(self, message):
        """Take the message."""
        self.messages.append(message)
        return True
