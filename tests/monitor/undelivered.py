"""What tests of notifications share: events that wait in memory, and a clock that is moved by hand."""

from __future__ import annotations


class Store:
    """Undelivered events in memory."""

    def __init__(self, *events):
        self.waiting = list(events)

    def undelivered(self, limit):
        """Events not marked yet."""
        return self.waiting[:limit]

    def mark_delivered(self, event_id):
        """Forget an event."""
        self.waiting = [event for event in self.waiting if event.id != event_id]


class Clock:
    """A clock that is moved by hand."""

    now = 50.0

    def __call__(self):
        """The time it was set to."""
        return self.now
