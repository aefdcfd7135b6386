"""Assignment of alert events to incidents, and detection of changes that were reversed.

An alert belongs to the change of its route that came before it. Moved ratings are a sign and no change: they
join the open incident. So does a later change, with the alerts after it, while the first one is still in the
traffic: it is mostly an attempt at a repair, and people want to read in one place whether it helped. An
incident is over when its alerts are, when its first change is reversed, or when a person says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.core.records import from_plain
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.incidents.incident import MOST_MARKS, Incident, PartKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenkeel.core.cells import ChangeMark
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes import RouteWatch
    from evenkeel.stores.monitor_state import AlertEvent

EXPLAINS_S: Final = 7 * 86_400.0
"""Longest time in seconds from a change to an alert on its route that it explains."""
SLACK_S: Final = 60.0
"""Seconds of tolerance, as the first verdict after a change and the one that raises an alert come in any
order."""
# Longest time in seconds by which an alert may precede the notice of the change that caused it.
_EARLY_S: Final = 600.0
KEPT: Final = 32
"""Number of a route's latest closed incidents that stay known."""


class IncidentCause(NamedTuple):
    """Change that was noticed about an open incident."""

    incident: Incident
    change: str
    """Id of the change that explains it; the incident's own for a change during it."""
    marks: tuple[ChangeMark, ...]
    """All marks known now."""


class IncidentBook:
    """Book of the incidents of all routes that the fold still needs."""

    def __init__(self, routes: Mapping[str, RouteWatch]) -> None:
        """Start without incidents.

        Args:
            routes: changes of each route, which explain alerts.
        """
        self._routes = routes
        # Incidents by route, in the order in which they were opened.
        self._known: dict[str, list[Incident]] = {}
        self.changed: dict[str, Incident] = {}
        """Incidents that changed since the last checkpoint, by id."""
        self.dropped = 0
        """Number of incidents that were forgotten."""

    def place(self, event: AlertEvent) -> AlertEvent:
        """Assign an event to the incident that it belongs to.

        Returns: the event with the id of the incident and the change that explains it.
        """
        if event.what == "incident":
            incident = self.find(event.incident)
        elif event.kind != "raised":
            key = PartKey.of(event)
            incident = next((candidate for candidate in self.all() if _is_up(candidate, key)), None)
        else:
            incident = self._of_change(event) if event.what == "change" else self._of_cell(event)
            event = replace(event, marks=incident.marks)
        if incident is None:
            return event
        if event.what != "incident":
            event = replace(event, incident=incident.id, change=event.change or incident.change)
        incident.take(event)
        self.changed[incident.id] = incident
        self._forget(incident.routes[0])
        return event

    def _forget(self, route: str) -> None:
        here = self._known.get(route, [])
        over = []
        for incident in here:
            # An alert that is still up would find no incident to end in.
            if incident.closed_at is not None and all(part.over for part in incident.parts):
                over.append(incident)
        for incident in over[: max(0, len(over) - KEPT)]:
            here.remove(incident)
            self.changed.pop(incident.id, None)
            self.dropped += 1

    def all(self) -> list[Incident]:
        """Return every incident, of each route the latest first."""
        incidents: list[Incident] = []
        for of_route in self._known.values():
            incidents.extend(reversed(of_route))
        return incidents

    def _open(self, name: str, event: AlertEvent, change: str, marks: tuple[ChangeMark, ...]) -> Incident:
        taken = any(incident.id == name for incident in self.all())
        opened = Incident(event.id if taken else name, event.at, event.offset, change, marks[:MOST_MARKS])
        self._known.setdefault(event.route, []).append(opened)
        return opened

    def _of_change(self, event: AlertEvent) -> Incident:
        for incident in self._here(event.route):
            if incident.change == event.change:
                return incident
        watch = self._routes.get(event.route)
        record = watch.find(event.change) if watch else None
        return self._open(event.incident, event, event.change, record.marks if record else ())

    def _of_cell(self, event: AlertEvent) -> Incident:
        """Find or open the incident of a cell's alert: that of the change before it, else an open one."""
        change, marks = self._latest(event.route, event.at)
        here = self._here(event.route)
        for incident in here:
            if change and incident.change == change:
                if incident.ending not in _GONE_BACK:
                    return incident
                # What was reversed explains nothing that comes after it.
                change, marks = "", ()
        going = self._at_work(event.route)
        if any(mark.kind != kinds.RATINGS for mark in marks) and going is None:
            early = _unexplained(incident for incident in here if incident.closed_at is None)
            if early is None or not _may_explain(marks, early):
                return self._open(change, event, change, marks)
            early.learn(change, marks)
            return early
        going = going or next((incident for incident in here if incident.closed_at is None), None)
        return going or self._open(change or event.id, event, change, marks)

    def explain(self, route: str, at: float) -> IncidentCause | None:
        """Find the open incident that a newly noticed change of a route explains.

        An alert may be raised a few exchanges before its cause is noticed: a new value has to stay.

        Returns: None if there is no such incident, or if it knows the change already.
        """
        change, marks = self._latest(route, at)
        if all(mark.kind == kinds.RATINGS for mark in marks):
            return None
        here = []
        for incident in self._here(route):
            if incident.closed_at is None and _may_explain(marks, incident):
                here.append(incident)
        explained = next((incident for incident in here if incident.change == change), _unexplained(here))
        if explained is None:
            return None
        known = explained.marks if explained.stated else ()
        kinds_known = {mark.kind for mark in known}
        more = []
        for mark in marks:
            if mark.kind not in kinds_known:
                more.append(mark)
        return IncidentCause(explained, change, (*known, *more)[:MOST_MARKS]) if more else None

    def follow(self, route: str, at: float) -> IncidentCause | None:
        """Find the incident that was open when a change of its route came.

        Returns: None if there is none, or if it knows the change already.
        """
        _, marks = self._latest(route, at)
        incident = self._at_work(route)
        if incident is None:
            return None
        values = []
        for mark in (*incident.marks, *incident.later):
            values.append((mark.kind, mark.before, mark.after))
        more = []
        for mark in marks:
            if mark.kind in kinds.STATED and (mark.kind, mark.before, mark.after) not in values:
                more.append(mark)
        if not more:
            return None
        return IncidentCause(incident, incident.change, (*incident.later, *more)[-MOST_MARKS:])

    def _latest(self, route: str, at: float) -> tuple[str, tuple[ChangeMark, ...]]:
        """Return the change that explains an alert of that time, with its marks; ("", ()) without one."""
        watch = self._routes.get(route)
        for record in reversed(watch.open_records if watch else ()):
            if -SLACK_S <= at - record.at <= EXPLAINS_S:
                return record.id, record.marks
        return "", ()

    def _at_work(self, route: str) -> Incident | None:
        for incident in self._here(route):
            if incident.closed_at is None and incident.up and incident.stated:
                return incident
        return None

    def _here(self, route: str) -> list[Incident]:
        """Return the incidents of a route, the latest first."""
        return self._known.get(route, [])[::-1]

    def exchange(self, verdict: Verdict, offset: int) -> tuple[list[Incident], list[Incident]]:
        """Take the next exchange of a route, at this place in the log.

        Returns: the incidents whose change is reversed with it, and those that were not rolled back though
        somebody said so; mostly none.
        """
        decided: dict[str | None, list[Incident]] = {}
        for incident in self._known.get(verdict.route, ()):
            if incident.is_followed:
                decided.setdefault(incident.observe(verdict, offset), []).append(incident)
                self.changed[incident.id] = incident
        return decided.get("reversed", []), decided.get("not_rolled_back", [])

    def find(self, incident: str) -> Incident | None:
        """Return an incident by its id; None if it is not known or no longer kept."""
        return next((candidate for candidate in self.all() if candidate.id == incident), None)

    def read(self, incidents: Iterable[Any]) -> None:
        """Take the records of a checkpoint, as JSON values."""
        read = (from_plain(raw, Incident) for raw in incidents)
        for incident in sorted(read, key=lambda known: known.opened_offset):
            self._known.setdefault(incident.routes[0], []).append(incident)


# Endings after which a new alert is about something else.
_GONE_BACK: Final = frozenset(("reversed", "retired"))


def _may_explain(marks: tuple[ChangeMark, ...], incident: Incident) -> bool:
    """Return whether a change may explain an incident: not if it came much later or left its model."""
    left = {mark.before for mark in kinds.select(marks, {kinds.MODEL})}
    if incident.opened_at < marks[0].at - _EARLY_S:
        return False
    return all(part.raised.model not in left for part in incident.up)


def _unexplained(incidents: Iterable[Incident]) -> Incident | None:
    return next((incident for incident in incidents if not incident.stated), None)


def _is_up(incident: Incident, key: PartKey) -> bool:
    return any(part.over is None and part.key == key for part in incident.parts)
