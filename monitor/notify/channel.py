"""One channel: gathers what belongs together, says each thing once, tries again what failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from evenkeel.monitor.notify.notices import Message, next_phase
from evenkeel.stores.monitor_state import Sent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.monitor.incidents import Incident
    from evenkeel.monitor.notify.notices import Notice, Writer
    from evenkeel.stores.monitor_state import AlertEvent, MonitorStore

_FIRST_S = 1.0
_LONGEST_S = 300.0


class Sink(Protocol):
    """A service that shows messages to people, or takes them for machines. May block for seconds."""

    name: str
    """For logs, and for what was sent; not a secret, and the same after a restart."""
    problem: str
    """Why the last delivery failed, "" if it did not."""

    def send(self, notice: Notice, receipt: str) -> str | None:
        """Deliver a notice.

        Args:
            notice: about an incident.
            receipt: what the service called the first message about it; "" if this is that one.

        Returns: what the service calls the first message, "" if it has no name; None if it was not taken.
        """
        ...

    def tell(self, message: Message) -> bool:
        """Deliver a message that is about no incident; whether it was taken."""
        ...


class Backoff:
    """The pace of attempts at one receiver."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start with an attempt allowed at once; `clock` counts seconds from any time on."""
        self._clock = clock
        self._next_s = _FIRST_S
        self._due = clock()

    @property
    def due(self) -> bool:
        """Whether an attempt may be made now."""
        return self._clock() >= self._due

    def succeed(self) -> None:
        """Start small again."""
        self._next_s = _FIRST_S

    def fail(self) -> float:
        """Wait longer than the last time; returns for how many seconds."""
        waited = self._next_s
        self._due = self._clock() + waited
        self._next_s = min(2 * waited, _LONGEST_S)
        return waited


@dataclass(frozen=True, slots=True)
class Pace:
    """When something is said."""

    window_s: float = 30.0
    """What becomes known of an incident within that time is one message."""
    trouble_after_s: float = 60.0
    """A trouble that lasts this long is reported; incidents wait from its first second."""


@dataclass(slots=True)
class _Waiting:
    """Events of one incident that have not been settled yet."""

    since: float
    events: set[str] = field(default_factory=set)


class Channel:
    """Hands notices to one sink.

    While there is a trouble, incidents on robustness wait; one message says so once it has lasted, and one
    that it is over. Changes that nobody announced are found without a judge, so they do not wait. What is
    over before anybody was notified is never sent.
    """

    def __init__(
        self,
        sink: Sink,
        store: MonitorStore,
        writer: Writer,
        announce: Callable[[str], None],
        clock: Callable[[], float],
        pace: Pace | None = None,
        troubles: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """Open the channel.

        Args:
            sink: delivers.
            store: remembers what was sent.
            writer: writes the notices.
            announce: gets a line when the sink fails.
            clock: seconds from any time on.
            pace: when something is said.
            troubles: what makes robustness alerts meaningless now, a sentence each.
        """
        self._sink = sink
        self._store = store
        self._writer = writer
        self._announce = announce
        self._clock = clock
        self._pace = pace or Pace()
        self._troubles = troubles
        self._backoff = Backoff(clock)
        self._waiting: dict[str, _Waiting] = {}
        self._trouble_since: float | None = None
        self._trouble_told = False

    def take(self, events: Sequence[AlertEvent], incidents: Mapping[str, Incident]) -> set[str]:
        """Send what is due; returns the ids of the events that are settled.

        Call it often, with everything that is not settled yet, also when there is nothing.

        Args:
            events: oldest first.
            incidents: by id, those of the events.
        """
        now = self._clock()
        for event in events:
            waiting = self._waiting.setdefault(event.incident or event.id, _Waiting(now))
            waiting.events.add(event.id)
        held = self._hold(now)
        settled: set[str] = set()
        due = [name for name, one in self._waiting.items() if now - one.since >= self._pace.window_s]
        for name in sorted(due, key=lambda one: self._waiting[one].since):
            incident = incidents.get(name)
            if incident is not None:
                if held and _needs_a_judge(incident):
                    continue
                if not self._say(incident):
                    break
            settled |= self._waiting.pop(name).events
        return settled

    def _say(self, incident: Incident) -> bool:
        """Send what there is to say about an incident; False if it has to be tried again."""
        sent = self._store.sent(incident.id, self._sink.name)
        phase = next_phase(incident, sent)
        if phase is None:
            return True
        number = 1 if sent is None else sent.messages + 1
        notice = self._writer.notice(incident, phase, number)
        if not self._backoff.due:
            return False
        receipt = self._sink.send(notice, sent.receipt if sent else "")
        self._paced(taken=receipt is not None)
        if receipt is None:
            return False
        first = sent.receipt if sent and sent.receipt else receipt
        said = Sent(number, phase, incident.effect, len(incident.routes), first)
        self._store.put_sent(incident.id, self._sink.name, said)
        return True

    def _hold(self, now: float) -> bool:
        """Whether incidents have to wait; tells people about it."""
        troubles = self._troubles()
        if troubles:
            if self._trouble_since is None:
                self._trouble_since = now
            lasting = now - self._trouble_since >= self._pace.trouble_after_s
            if lasting and not self._trouble_told:
                text = "\n\n".join(troubles)
                title = "[evenkeel] incidents on robustness are held back"
                self._trouble_told = self._tell(Message(title, text, good=False))
            return True
        self._trouble_since = None
        if self._trouble_told:
            over = Message(
                "[evenkeel] robustness is measured again", "What held incidents back is over.", good=True
            )
            self._trouble_told = not self._tell(over)
        return False

    def _tell(self, message: Message) -> bool:
        if not self._backoff.due:
            return False
        taken = self._sink.tell(message)
        self._paced(taken=taken)
        return taken

    def _paced(self, *, taken: bool) -> None:
        if taken:
            self._backoff.succeed()
            return
        why = f" ({self._sink.problem})" if self._sink.problem else ""
        self._announce(
            f"[evenkeel] the notification to {self._sink.name} failed{why}; "
            f"trying again in {self._backoff.fail():.0f} s"
        )


def _needs_a_judge(incident: Incident) -> bool:
    """Whether all that holds it open was rated; what ended by itself or by a person waits for nobody."""
    return incident.state != "resolved" and all(part.raised.what != "change" for part in incident.up)
