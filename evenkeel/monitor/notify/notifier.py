"""Delivery of events from the store to every channel, until all have settled them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.monitor.incidents import IncidentBoard, cases_of
from evenkeel.monitor.notify.notices import log_line

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from evenkeel.monitor.incidents import Incident
    from evenkeel.monitor.notify.channel import Channel
    from evenkeel.stores.monitor_state import MonitorStore

_LIMIT = 1000


class Notifier:
    """Notifier that delivers the store's incident events.

    An event is marked as delivered only after every channel has settled it, so none is lost by a restart;
    what was sent about each incident is in the store, so nothing is said twice. A channel that fails is tried
    again by later calls and does not hold up the others. Runs apart from the monitor, which never waits for
    it.
    """

    def __init__(
        self, store: MonitorStore, announce: Callable[[str], None], channels: Sequence[Channel] = ()
    ) -> None:
        """Wire the channels.

        Args:
            store: holds the events.
            announce: gets a line for each state of an incident, once.
            channels: get the events and their incidents.
        """
        self._store = store
        self._announce = announce
        self._channels = tuple(channels)
        # Ids of events by channel that other channels still have to settle.
        self._settled: list[set[str]] = [set() for _ in self._channels]
        # State and effect of incidents, by id, that the log has a line of.
        self._announced: dict[str, tuple[str, str]] = {}
        self._incidents = IncidentBoard(store)

    def deliver(self) -> int:
        """Announce changed incidents and deliver the events that are due; return how many were delivered."""
        for channel in self._channels:  # First: the store that is read below may be what is away.
            channel.report_causes()
        waiting = self._store.undelivered(_LIMIT)
        incidents = self._incidents.all() if waiting else ()
        self._announce_states(incidents, {event.incident for event in waiting})
        cases = cases_of(incidents)
        for channel, settled in zip(self._channels, self._settled, strict=True):
            settled.update(channel.take([event for event in waiting if event.id not in settled], cases))
        delivered = 0
        for event in waiting:
            if all(event.id in settled for settled in self._settled):
                self._store.mark_delivered(event.id)
                for settled in self._settled:
                    settled.discard(event.id)
                delivered += 1
        return delivered

    def _announce_states(self, incidents: Sequence[Incident], changed: set[str]) -> None:
        for incident in incidents:
            state = incident.state, incident.effect
            if incident.id in changed and self._announced.get(incident.id) != state:
                self._announced[incident.id] = state
                self._announce(log_line(incident))

    def run(self, stop: threading.Event, poll_s: float = 1.0) -> None:
        """Deliver every `poll_s` seconds until `stop` is set; a failing store is tried again."""
        reported = ""
        while not stop.is_set():
            try:
                self.deliver()
                if reported:
                    self._announce("[evenkeel] incidents are delivered again")
                reported = ""
            except Exception as error:  # noqa: BLE001 - the boundary of this thread: it must live on
                if repr(error) != reported:
                    reported = repr(error)
                    self._announce(f"[evenkeel] incidents cannot be delivered: {error!r}; trying again")
            stop.wait(poll_s)
