"""Delivery of incidents from the store to every channel."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.core.trouble import Trouble
from evenkeel.monitor.incidents import cases_of
from evenkeel.monitor.notify.notices import log_line

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from evenkeel.monitor.incidents import Case, Incident, IncidentBoard
    from evenkeel.monitor.notify.channel import Channel


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
