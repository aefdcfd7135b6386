"""One incident, as its alert events tell it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from evenkeel.monitor.changes import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.cells import ChangeMark
    from evenkeel.core.incidents import Decided
    from evenkeel.stores.monitor_state import AlertEvent, MonitorStore

State = Literal["open", "acknowledged", "resolved"]
Effect = Literal["worse", "fragile", "invalid", "different", "unsteady", "suspected", "steadier"]
"""What happened to the answers, the gravest first."""

_EFFECTS: Final[dict[str, Effect]] = {
    "quality": "worse",
    "content": "fragile",
    "similarity": "fragile",
    "drift": "unsteady",
    "invalid": "invalid",
    "references": "different",
    "traits": "suspected",
}
GRAVEST: Final[tuple[Effect, ...]] = (
    "worse",
    "fragile",
    "invalid",
    "different",
    "unsteady",
    "suspected",
    "steadier",
)
SEVERITY: Final[dict[Effect, str]] = {
    "worse": "critical",
    "fragile": "critical",
    "invalid": "critical",
    "different": "critical",
    "unsteady": "warning",
    "suspected": "warning",
    "steadier": "info",
}


class PartKey(NamedTuple):
    """What tells one alert of an incident from another."""

    what: str
    route: str
    model: str
    perturbation: str

    @classmethod
    def of(cls, event: AlertEvent) -> PartKey:
        """The alert that an event is about."""
        return cls(event.what, event.route, event.model, event.perturbation)


@dataclass(slots=True)
class Part:
    """One alert of an incident: of a cell, or of a change that nobody announced."""

    raised: AlertEvent
    """The last event that raised it."""
    over: AlertEvent | None = None
    """The event that ended it since; None while it is up."""

    @property
    def effect(self) -> Effect:
        """What it says about the answers."""
        if self.raised.direction == "fallen":
            return "steadier"
        return _EFFECTS.get(self.raised.measure, "fragile")


@dataclass(slots=True)
class Incident:
    """What the events of one incident say. Times are in Unix seconds."""

    id: str
    opened_at: float
    change: str = ""
    """Id of the change that opened it; "" if none was noticed."""
    marks: tuple[ChangeMark, ...] = ()
    """What was noticed of that change when the incident was opened."""
    later: tuple[ChangeMark, ...] = ()
    """What changed while it was open, the latest."""
    routes: list[str] = field(default_factory=list)
    """Where it shows, in the order of their alerts."""
    parts: dict[PartKey, Part] = field(default_factory=dict)
    updated_at: float = 0.0
    acknowledged_by: str = ""
    acknowledged_at: float | None = None
    decided: Decided | None = None
    """How a person closed it."""
    decided_by: str = ""
    note: str = ""
    """Of the last decision."""
    closed_at: float | None = None
    calm_at: float | None = None
    """When it was over for the first time, whether or not it went on later."""
    ending: str = ""
    """Why it is over, one of `evenkeel.core.incidents.ENDINGS`; "" while it is open."""
    reopened: int = 0
    """How often it went on after it was over."""
    learned: bool = False
    """Whether its change was noticed only after it was opened."""
    events: int = 0

    @classmethod
    def opened(cls, event: AlertEvent) -> Incident:
        """The incident that an event opens; `take` it as well."""
        return cls(event.incident, event.at, event.change, event.marks)

    def take(self, event: AlertEvent) -> None:
        """Take the next event, in their order."""
        self.events += 1
        self.updated_at = event.at
        if event.what == "incident":
            self._decide(event)
            return
        if event.route not in self.routes:
            self.routes.append(event.route)
        key = PartKey.of(event)
        if event.kind == "raised":
            if self.state == "resolved" and self.decided is None and event.direction != "fallen":
                self._reopen()
            self.parts[key] = Part(event)
            self._learn(event)
            return
        if key in self.parts:
            self.parts[key].over = event
        if not self.up and self.closed_at is None:
            self._close(event.at, event.reason or "recovered")

    def _learn(self, event: AlertEvent) -> None:
        known = self.stated
        self.marks, self.change = event.marks or self.marks, event.change or self.change
        self.learned = self.learned or (not known and bool(self.stated))

    def _decide(self, event: AlertEvent) -> None:
        if event.kind == "explained":
            self._learn(event)
            return
        if event.kind == "followed":
            self.later = event.marks
            return
        self.note = event.summary
        if event.kind == "acknowledged":
            self.acknowledged_by, self.acknowledged_at = event.by, event.at
        elif event.kind == "reopened":
            self._reopen()
        else:
            self._close(event.at, event.reason)
            self.decided_by = event.by
            self.decided = next((one for one in _CLOSING if one == event.reason), None)

    def _close(self, at: float, ending: str) -> None:
        self.closed_at, self.ending = at, ending
        self.calm_at = at if self.calm_at is None else self.calm_at

    def _reopen(self) -> None:
        self.closed_at, self.ending, self.decided, self.decided_by = None, "", None, ""
        self.reopened += 1

    @property
    def up(self) -> list[Part]:
        """The alerts that are up and hold it open, in the order in which they were raised.

        Answers that shift less often than they did hold nothing open beside other alerts.
        """
        up = [part for part in self.parts.values() if part.over is None]
        if all(part.effect == "steadier" for part in self.parts.values()):
            return up
        return [part for part in up if part.effect != "steadier"]

    @property
    def state(self) -> State:
        """Where it stands."""
        if self.closed_at is not None:
            return "resolved"
        return "open" if self.acknowledged_at is None else "acknowledged"

    @property
    def effect(self) -> Effect:
        """The gravest of what its alerts say: of those that are up, or of all once it is over."""
        said = {part.effect for part in self.up or self.parts.values()}
        return next((effect for effect in GRAVEST if effect in said), "fragile")

    @property
    def severity(self) -> str:
        """How grave its effect is: "critical", "warning" or "info"."""
        return SEVERITY[self.effect]

    @property
    def stated(self) -> tuple[ChangeMark, ...]:
        """What of the change stands in the traffic: names of models, prompts, parameters."""
        return tuple(mark for mark in self.marks if mark.kind in kinds.STATED)

    @property
    def from_the_start(self) -> bool:
        """Whether nothing shows that answers were ever better: no change, and too few trials before it."""
        gravest = [part for part in self.up or self.parts.values() if part.effect == self.effect]
        return not self.stated and all(
            part.raised.what == "excess" and part.raised.trials - part.raised.run_trials < _FEW
            for part in gravest
        )

    @property
    def in_vain(self) -> tuple[ChangeMark, ...]:
        """The changes while it was open after which alerts came that are up."""
        return tuple(mark for mark in self.later if any(_after(mark, part) for part in self.up))

    @property
    def present(self) -> list[Part]:
        """The alerts that are up, of the model that came last if another one came in vain."""
        came = [mark.after for mark in self.in_vain if mark.kind == kinds.MODEL]
        return [part for part in self.up if not came or part.raised.model in {came[-1], ""}]

    @property
    def model(self) -> str:
        """The model of its latest alert."""
        return next((part.raised.model for part in reversed(self.parts.values()) if part.raised.model), "")

    def to_json(self) -> dict[str, Any]:
        """For the API: everything but the events themselves."""
        return {
            "id": self.id,
            "state": self.state,
            "effect": self.effect,
            "severity": self.severity,
            "routes": list(self.routes),
            "model": self.model,
            "from_the_start": self.from_the_start,
            "change": self.change,
            "marks": [_plain(mark) for mark in self.marks],
            "later": [_plain(mark) for mark in self.later],
            "opened_at": self.opened_at,
            "updated_at": self.updated_at,
            "acknowledged_at": self.acknowledged_at,
            "acknowledged_by": self.acknowledged_by,
            "closed_at": self.closed_at,
            "ending": self.ending,
            "decided_by": self.decided_by,
            "note": self.note,
            "reopened": self.reopened,
            "alerts": [
                {
                    "what": part.raised.what,
                    "route": part.raised.route,
                    "model": part.raised.model,
                    "perturbation": part.raised.perturbation,
                    "measure": part.raised.measure,
                    "value": part.raised.value,
                    "limit": part.raised.limit,
                    "limit_source": part.raised.limit_source,
                    "trials": part.raised.run_trials,
                    "clients": part.raised.clients,
                    "raised_at": part.raised.at,
                    "over_at": None if part.over is None else part.over.at,
                    "reason": "" if part.over is None else part.over.reason,
                    "event": part.raised.id,
                    "summary": part.raised.summary,
                }
                for part in self.parts.values()
            ],
        }


_FEW: Final = 10
"""Trials before an alert that say too little about how answers were."""
_CLOSING: Final[tuple[Decided, ...]] = ("accepted", "rolled_back", "false_alarm")


def _plain(mark: ChangeMark) -> dict[str, Any]:
    return {"kind": mark.kind, "before": mark.before, "after": mark.after, "at": mark.at}


def _after(mark: ChangeMark, part: Part) -> bool:
    """Whether an alert came after a change, and is about what it brought."""
    return part.raised.at >= mark.at and (mark.kind != kinds.MODEL or part.raised.model == mark.after)


def incidents_of(events: Iterable[AlertEvent]) -> list[Incident]:
    """The incidents that events tell of, the one that was opened last first.

    Args:
        events: oldest first, as far as they are kept.
    """
    found: dict[str, Incident] = {}
    for event in events:
        name = event.incident
        if not name:
            continue  # of before there were incidents
        known = found.get(name)
        if known is None:
            if event.what == "incident" or event.kind != "raised":
                continue  # what raised it is no longer kept
            known = found[name] = Incident.opened(event)
        known.take(event)
    return sorted(found.values(), key=lambda one: (-one.opened_at, one.id))


class IncidentBoard:
    """The incidents that a store's events tell of, read again only after a further event. For any thread."""

    def __init__(self, store: MonitorStore) -> None:
        """Open it on the store that holds the events."""
        self._store = store
        self._lock = threading.Lock()
        self._found: tuple[Incident, ...] = ()
        self._newest = ""

    def all(self) -> tuple[Incident, ...]:
        """Every incident that is kept, the one that was opened last first. Blocks on storage."""
        with self._lock:
            newest = next(iter(self._store.events(1)), None)
            if newest is None or newest.id != self._newest:
                events = self._store.events(_EVENTS_READ)
                self._found = tuple(incidents_of(reversed(events)))
                self._newest = newest.id if newest else ""
            return self._found

    def find(self, incident: str) -> Incident | None:
        """One of them by its id."""
        return next((one for one in self.all() if one.id == incident), None)


_EVENTS_READ: Final = 10_000
"""As many as the stores keep."""
