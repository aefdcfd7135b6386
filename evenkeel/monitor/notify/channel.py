"""Delivery of incidents: each channel waits until one has settled, says it once, and retries failures."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Final, Protocol

from evenkeel.core import figures
from evenkeel.core.backoff import Backoff
from evenkeel.core.trouble import Trouble
from evenkeel.monitor.incidents import cases_of
from evenkeel.monitor.notify.notices import NoticeMessage, log_line, next_phase
from evenkeel.stores.monitor_state import ChannelState

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.monitor.incidents import Case, Incident, IncidentBoard
    from evenkeel.monitor.measuring import HoldUp
    from evenkeel.monitor.notify.notices import Notice, Phase, Writer
    from evenkeel.stores.monitor_state import MonitorStore

# Services that refuse a message refuse it for minutes.
_PAUSES: Final = Backoff(1.0, 300.0)
# Seconds for which something has to hold measuring up before a message says so.
_LASTING_S: Final = 60.0
# Name in the store of the message about trouble with the monitor.
_TROUBLE: Final = "not measured"


# Causes for which incidents wait: ratings come from what a failing judge still answers.
_MUTING: Final = frozenset(("judge", "judge_key"))
_HELD: Final = (
    "Incidents that need a judge wait until this is over, and are sent then if they are still open."
)
_RESUMED: Final = "Trials are rated again. Incidents that waited and are still open follow."


class Sink(Protocol):
    """Service that shows messages to people, or takes them for machines. May block for seconds."""

    name: str
    """Name in logs and in the store; not a secret, and the same after a restart."""
    problem: str
    """Reason why the last delivery failed; "" if it succeeded."""

    def send(self, notice: Notice, receipt: str) -> str | None:
        """Deliver a notice.

        Args:
            notice: about an incident.
            receipt: the service's name for the first message about it; "" if this is the first.

        Returns: the service's name for the first message, "" if it has none; None if it was not taken.
        """
        ...

    def show(self, notice: Notice, receipt: str) -> bool:
        """Update the shown state of an incident without notifying anybody, if the service can.

        Args:
            notice: the notice that a message would contain.
            receipt: the service's name for the first message.

        Returns: whether it was taken, or there is nothing to be done, as where everything sent is a message.
        """
        del notice, receipt
        return True

    def tell(self, message: NoticeMessage) -> bool:
        """Deliver a message that is about no incident; return whether it was accepted."""
        ...


@dataclass(slots=True)
class _Waiting:
    """Case that has changed since the channel last looked into it."""

    offset: int
    """Place in the verdict log of its last event."""
    since: float
    latest: float
    """Time at which that event was seen."""
    attempts: int = 0


@dataclass(slots=True)
class Channel:
    """Channel that hands notices to one sink.

    While the judge is in trouble, incidents on robustness wait; changes that nobody announced are found
    without it and do not. Whatever holds measuring up is a message once it has lasted, and another one says
    that it is over. What is over before anybody was notified is never sent.
    """

    sink: Sink
    store: MonitorStore
    """Remembers what was sent."""
    writer: Writer
    announce: Callable[[str], None]
    """Gets a line when the sink fails."""
    clock: Callable[[], float]
    """Seconds from any time on."""
    causes: Callable[[], Sequence[HoldUp]] = tuple
    """Reasons for which nothing is measured now."""
    window_s: float = 30.0
    """Seconds for which a message waits for further events of its incident; up to twice as long if more came
    within the last third."""
    # Failed attempts in a row, and the time from which on the next one may be made.
    _failures: int = 0
    _due: float = -inf
    # Cases by id: those that changed, and the last event of each that needs nothing.
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _settled: dict[str, int] = field(default_factory=dict)
    # Time at which each cause, by its reason, was first seen.
    _since: dict[str, float] = field(default_factory=dict)
    # Reasons that the latest message named; None until the store says what was sent before a restart.
    _told: set[str] | None = None
    # True while incidents on robustness wait.
    _held: bool = False

    def take(self, cases: Iterable[Case]) -> None:
        """Send the messages that are due. Call it often, with all cases, also when nothing happened."""
        now = self.clock()
        due = []
        for case in cases:
            if self._settled.get(case.id) == case.offset:
                continue
            waiting = self._waiting.setdefault(case.id, _Waiting(case.offset, now, now))
            if waiting.offset != case.offset:
                waiting.offset, waiting.latest = case.offset, now
            if self._is_due(waiting, now):
                due.append((waiting.attempts, waiting.since, case.id, case))
        # Whatever a service refuses must not keep it from what came later.
        for *_, case in sorted(due, key=lambda entry: entry[:3]):
            if self._held and _needs_a_judge(case.whole):
                continue
            # One receiver, one pace: what is refused now would be refused for the others, too.
            if now < self._due:
                break
            if not self._say(case):
                self._waiting[case.id].attempts += 1
                break
            self._settled[case.id] = case.offset
            del self._waiting[case.id]

    def _is_due(self, waiting: _Waiting, now: float) -> bool:
        waited_s = now - waiting.since
        quiet = now - waiting.latest >= self.window_s / 3
        return waited_s >= self.window_s and (quiet or waited_s >= 2 * self.window_s)

    def _say(self, case: Case) -> bool:
        """Send or show the message about a case; return False if it has to be tried again."""
        incident = case.whole
        sent = self.store.sent(case.id, self.sink.name)
        phase = next_phase(incident, sent)
        # No message is due, but what the service shows may be behind the incident.
        if phase is None:
            if sent is None or (sent.state == incident.state and incident.news in {0, sent.news}):
                return True
            return self._show(case, sent)
        number = 1 if sent is None else sent.messages + 1
        notice = self.writer.message(case, phase, number, sent)
        receipt = self.sink.send(notice, sent.receipt if sent else "")
        self._paced(taken=receipt is not None)
        if receipt is None:
            return False
        first = sent.receipt if sent and sent.receipt else receipt
        state = ChannelState(
            number,
            phase,
            incident.effect,
            len(incident.routes),
            first,
            incident.state,
            len(incident.in_vain),
            incident.news,
        )
        self.store.put_sent(case.id, self.sink.name, state)
        return True

    def _show(self, case: Case, sent: ChannelState) -> bool:
        incident = case.whole
        phase: Phase = "resolved" if incident.state == "resolved" else "updated"
        taken = self.sink.show(self.writer.message(case, phase, sent.messages, None), sent.receipt)
        self._paced(taken=taken)
        if taken:
            shown = replace(sent, state=incident.state, news=incident.news)
            self.store.put_sent(case.id, self.sink.name, shown)
        return taken

    def report_causes(self) -> None:
        """Tell people what holds measuring up once that has lasted, and that it is over. Call it often.

        It does not need the store, which may be what is away. What was sent is noted there where possible: a
        monitor that was started again says that it is over.
        """
        now, causes = self.clock(), self.causes()
        self._held = any(cause.reason in _MUTING for cause in causes)
        self._since = {cause.reason: self._since.get(cause.reason, now) for cause in causes}
        told = self._told_before(causes) if self._told is None else self._told
        lasting = set()
        for reason, since in self._since.items():
            if now - since >= _LASTING_S:
                lasting.add(reason)
        if lasting - told:
            self._report(causes)
        elif told and not causes:
            message = NoticeMessage("[evenkeel] robustness is measured again", _RESUMED, good=True)
            if self._tell(message):
                self._told = set()
                self._note("resolved")

    def _report(self, causes: Sequence[HoldUp]) -> None:
        text = [self.writer.held_up(cause) for cause in causes]
        if self._held:
            text.append(_HELD)
        title = "[evenkeel] robustness is not being measured"
        if all(cause.routes for cause in causes):
            routes = set[str]().union(*(cause.routes for cause in causes))
            title += f" on {figures.listing(sorted(routes))}"
        if self._tell(NoticeMessage(title, "\n\n".join((*text, *self.writer.home)), good=False)):
            self._told = {cause.reason for cause in causes}
            self._note("opened")

    def _told_before(self, causes: Sequence[HoldUp]) -> set[str]:
        """Return what the monitor before this one reported: whatever still lasts, or something."""
        try:
            sent = self.store.sent(_TROUBLE, self.sink.name)
        except Exception:  # noqa: BLE001 - named boundary: whatever the store raises, it is away
            return set()
        reported = sent is not None and sent.phase == "opened"
        self._told = {cause.reason for cause in causes} or {_TROUBLE} if reported else set()
        return self._told

    def _note(self, phase: Phase) -> None:
        # While the store is away, memory alone knows: a monitor that is started again may say it twice.
        with contextlib.suppress(Exception):
            self.store.put_sent(_TROUBLE, self.sink.name, ChannelState(1, phase, "", 0))

    def _tell(self, message: NoticeMessage) -> bool:
        if self.clock() < self._due:
            return False
        taken = self.sink.tell(message)
        self._paced(taken=taken)
        return taken

    def _paced(self, *, taken: bool) -> None:
        if taken:
            self._failures = 0
            return
        self._failures += 1
        pause_s = _PAUSES.pause_s(self._failures)
        self._due = self.clock() + pause_s
        why = f" ({self.sink.problem})" if self.sink.problem else ""
        self.announce(
            f"[evenkeel] the notification to {self.sink.name} failed{why}; trying again in {pause_s:.0f} s"
        )


def _needs_a_judge(incident: Incident) -> bool:
    """Return whether an incident is open only because of ratings; one that is over does not wait."""
    return incident.state != "resolved" and all(part.raised.what != "change" for part in incident.up)


@dataclass(slots=True)
class Notifier:
    """Notifier that hands all incidents to every channel, which knows from the store what it has sent.

    So nothing is lost by a restart and nothing is said twice, and a channel that fails does not hold up the
    others. Runs apart from the monitor, which never waits for it.
    """

    board: IncidentBoard
    announce: Callable[[str], None]
    """Gets a line for each state of an incident, once."""
    channels: Sequence[Channel] = ()
    may: Callable[[], bool] = lambda: True
    """Returns True if this monitor is the one of several that notifies."""
    # State and effect of incidents, by id, that the log has a line of.
    _announced: dict[str, tuple[str, str]] = field(default_factory=dict)
    _incidents: Sequence[Incident] = ()
    _cases: Sequence[Case] = ()

    def deliver(self) -> None:
        """Announce incidents that changed, and send the messages that are due."""
        for channel in self.channels:  # First: the store that is read below may be what is away.
            channel.report_causes()
        incidents = self.board.all()
        if not incidents or not self.may():
            return
        if incidents is not self._incidents:
            self._announce_states(incidents)
            self._incidents = incidents
            self._cases = tuple({case.id: case for case in cases_of(incidents).values()}.values())
        for channel in self.channels:
            channel.take(self._cases)

    def _announce_states(self, incidents: Sequence[Incident]) -> None:
        is_first = not self._announced
        for incident in incidents:
            state = incident.state, incident.effect
            if self._announced.get(incident.id) != state:
                self._announced[incident.id] = state
                # What was over when the monitor started is no news.
                if not (is_first and incident.state == "resolved"):
                    self.announce(log_line(incident))

    def run(self, stop: threading.Event, poll_s: float = 1.0) -> None:
        """Deliver every `poll_s` seconds until `stop` is set; a failing store is tried again."""
        trouble = Trouble(logging.getLogger("evenkeel"), "incidents cannot be delivered (%s); trying again")
        while not stop.is_set():
            was_in_trouble = trouble.ongoing
            with trouble:
                self.deliver()
                if was_in_trouble:
                    self.announce("[evenkeel] incidents are delivered again")
            stop.wait(poll_s)
