"""Events gathered by route, so that what happens together is one message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.stores.monitor_state import AlertEvent


@dataclass(frozen=True, slots=True)
class Message:
    """One notification."""

    title: str
    body: str
    good: bool
    """Whether it only says that something is over."""


class Batch(NamedTuple):
    """What became of a route's events once their window was over."""

    route: str
    ids: frozenset[str]
    """All events that it settles."""
    message: Message | None
    """None if they cancel out: raised and resolved before anybody was told."""


@dataclass(slots=True)
class _Waiting:
    """Events of one route that nobody was told of yet."""

    since: float
    events: dict[str, AlertEvent] = field(default_factory=dict)


class Groups:
    """Gathers events by route for a window that begins with the first of them."""

    def __init__(self, window_s: float, console_url: str = "") -> None:
        """Begin with nothing gathered.

        Args:
            window_s: how long to gather.
            console_url: where people reach the console, "" if that is not known.
        """
        self._window_s = window_s
        self._console_url = console_url.rstrip("/")
        self._routes: dict[str, _Waiting] = {}

    def add(self, events: Sequence[AlertEvent], now: float) -> None:
        """Gather events, in log order; one that is gathered already changes nothing."""
        for event in events:
            waiting = self._routes.setdefault(event.route, _Waiting(now))
            waiting.events[event.id] = event

    def due(self, now: float) -> Iterator[Batch]:
        """The routes whose window is over, the one that has waited longest first."""
        ready = [route for route, waiting in self._routes.items() if now - waiting.since >= self._window_s]
        for route in sorted(ready, key=lambda name: self._routes[name].since):
            events = list(self._routes[route].events.values())
            news = _news(events)
            message = self._message(route, news) if news else None
            yield Batch(route, frozenset(event.id for event in events), message)

    def settle(self, batch: Batch) -> None:
        """Forget the events of a batch; a message about others of the route waits for a window of its own."""
        del self._routes[batch.route]

    def _message(self, route: str, news: Sequence[AlertEvent]) -> Message:
        raised = [event for event in news if event.kind == "raised"]
        resolved = [event for event in news if event.kind != "raised"]
        counts = [
            f"{len(events)} {word}" for events, word in ((raised, "raised"), (resolved, "resolved")) if events
        ]
        lines = [f"{event.kind.upper()}: {event.summary}" for event in (*raised, *resolved)]
        if self._console_url:
            lines.append(f"{self._console_url}/")
        title = f"[evenkeel] {route}: {', '.join(counts)}"
        return Message(title, "\n\n".join(lines), good=not raised)


def _news(events: Sequence[AlertEvent]) -> list[AlertEvent]:
    """The last event of each alert that is another than it was before all of these.

    An alert alternates, so an even number of its events leaves it as it was.
    """
    by_alert: dict[tuple[str, str, str], list[AlertEvent]] = {}
    for event in events:
        by_alert.setdefault((event.model, event.perturbation, event.what), []).append(event)
    return [of_one[-1] for of_one in by_alert.values() if len(of_one) % 2]
