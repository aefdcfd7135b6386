"""Record of an incident, and the effect of each event on it.

The fold keeps the records, and the monitor stores each with its checkpoint; everybody else reads them there.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

import msgspec

from evenkeel.core.cells import ChangeMark  # noqa: TC001 - msgspec reads the annotations
from evenkeel.core.incidents import Decided  # noqa: TC001 - likewise
from evenkeel.core.records import from_plain
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.stay import Stay, StayTurn, is_new, turns_of
from evenkeel.stores.monitor_state import AlertEvent  # noqa: TC001 - likewise

if TYPE_CHECKING:
    from evenkeel.core.verdict import Verdict
    from evenkeel.stores.monitor_state import MonitorStore

State = Literal["open", "acknowledged", "resolved"]
Effect = Literal["worse", "fragile", "invalid", "different", "unsteady", "steadier"]
"""Effects on the answers, the gravest first."""

_EFFECTS: Final[dict[str, Effect]] = {
    "quality": "worse",
    "content": "fragile",
    "similarity": "fragile",
    "segment": "fragile",
    "drift": "unsteady",
    "invalid": "invalid",
    "references": "different",
}
SEVERITY: Final[dict[Effect, str]] = {
    "worse": "critical",
    "fragile": "critical",
    "invalid": "critical",
    "different": "critical",
    "unsteady": "warning",
    "steadier": "info",
}
GRAVEST: Final = tuple(SEVERITY)


class PartKey(NamedTuple):
    """The identity of an alert."""

    what: str
    route: str
    model: str
    perturbation: str

    @classmethod
    def of(cls, event: AlertEvent) -> PartKey:
        """Return the alert that an event is about."""
        return cls(event.what, event.route, event.model, event.perturbation)


@dataclass(slots=True)
class Part:
    """Alert of an incident: of a cell, or of a change that nobody announced."""

    raised: AlertEvent
    """The last event that raised it."""
    over: AlertEvent | None = None
    """The event that ended it since; None while it is up."""

    @property
    def key(self) -> PartKey:
        """The identity of the alert."""
        return PartKey.of(self.raised)

    @property
    def effect(self) -> Effect:
        """The effect on the answers."""
        if self.raised.direction == "fallen":
            return "steadier"
        return _EFFECTS.get(self.raised.measure, "fragile")


AGAIN: Final = 100
"""Exchanges with the new value that show that a change was not rolled back, though somebody said so."""
MOST_MARKS: Final = 8
# Kinds that have to go back for a change to be reversed; parameters only where none of these changed.
_TURNS: Final = frozenset((kinds.MODEL, kinds.REQUESTED_MODEL, kinds.PROMPT))


@dataclass(slots=True)
class Incident:
    """State of one incident. Times are in Unix seconds."""

    id: str
    opened_at: float
    opened_offset: int
    """Place in the verdict log of the entry that opened it."""
    change: str = ""
    """Id of the change that opened it; "" if none was noticed."""
    marks: tuple[ChangeMark, ...] = ()
    """Marks of that change, the first eight."""
    later: tuple[ChangeMark, ...] = ()
    """Changes while it was open, the latest eight."""
    routes: list[str] = field(default_factory=list)
    """Routes on which it shows, in the order of their alerts; it was opened on the first."""
    parts: list[Part] = field(default_factory=list)
    """Alerts in the order in which they were first raised."""
    updated_at: float = 0.0
    offset: int = 0
    """Place in the verdict log of the last event."""
    acknowledged_by: str = ""
    acknowledged_at: float | None = None
    decided: Decided | None = None
    """The way a person closed it."""
    decided_by: str = ""
    note: str = ""
    """The note of the last decision."""
    closed_at: float | None = None
    calm_at: float | None = None
    """Time at which it was first over, even if it went on later."""
    ending: str = ""
    """Reason why it is over, an `evenkeel.core.incidents.Ending`; "" while it is open."""
    reopened: int = 0
    """Number of times it went on after it was over."""
    learned: bool = False
    """True if its change was noticed only after it was opened."""
    stay: Stay = field(default_factory=Stay)
    """Duration of the values of its change in the traffic."""
    again: int = 0
    """Exchanges with the new value since somebody said that it was rolled back."""

    def take(self, event: AlertEvent) -> None:
        """Apply the next event; events come in order."""
        self.updated_at, self.offset = event.at, event.offset
        if event.what == "incident":
            self._decide(event)
            return
        if event.route not in self.routes:
            self.routes.append(event.route)
        key = PartKey.of(event)
        index = next((index for index, part in enumerate(self.parts) if part.key == key), None)
        if event.kind == "raised":
            # What a person closed stays closed, and answers that became steadier are no relapse.
            if self.closed_at is not None and self.decided is None and event.direction != "fallen":
                self._reopen()
            if index is None:
                self.parts.append(Part(event))
            else:
                self.parts[index] = Part(event)
            self.learn(event.change, event.marks)
            return
        if index is not None:
            self.parts[index].over = event
        # The last of its alerts is over.
        if not self.up and self.closed_at is None:
            self._close(event.at, event.reason or "recovered")

    def learn(self, change: str, marks: tuple[ChangeMark, ...]) -> None:
        """Record a change that explains it; an empty one erases nothing."""
        marks_before = self.stated
        self.change, self.marks = change or self.change, marks[:MOST_MARKS] or self.marks
        self.learned = self.learned or (not marks_before and bool(self.stated))

    def _decide(self, event: AlertEvent) -> None:
        if event.kind == "explained":
            self.learn(event.change, event.marks)
            return
        if event.kind == "followed":
            self.later = event.marks
            return
        self.note = event.note
        if event.kind == "acknowledged":
            self.acknowledged_by, self.acknowledged_at = event.by, event.at
        elif event.kind == "reopened":
            self._reopen()
        else:
            self._close(event.at, event.reason)
            self.decided_by = event.by
            self.decided = cast("Decided", event.reason)

    def _close(self, at: float, ending: str) -> None:
        self.closed_at, self.ending = at, ending
        self.calm_at = at if self.calm_at is None else self.calm_at
        self.stay, self.again = Stay(), 0

    def _reopen(self) -> None:
        self.closed_at, self.ending, self.decided, self.decided_by = None, "", None, ""
        self.again = 0
        self.reopened += 1

    @property
    def is_followed(self) -> bool:
        """True if exchanges decide about it: it is open, or somebody said that its change was rolled back."""
        return bool(self.turns) and (self.closed_at is None or self.ending == "rolled_back")

    def observe(self, verdict: Verdict, offset: int) -> Literal["reversed", "not_rolled_back"] | None:
        """Take the next exchange of its route; return what it decides, mostly nothing."""
        turns = self.turns
        if self.closed_at is not None:
            self.again += is_new(turns, verdict)
            return "not_rolled_back" if self.again >= AGAIN else None
        self.stay.observe(turns, verdict, offset)
        end = self.stay.end
        if end is None:
            return None
        # A third value in its place is no reversal; the one from before may follow it.
        self.stay = Stay()
        return "reversed" if end.how == "reversed" else None

    @property
    def turns(self) -> tuple[StayTurn, ...]:
        """Values that traffic can be seen to leave: of the first change, and of later ones of its kinds."""
        opened = {mark.kind for mark in self.marks}
        followed = opened & _TURNS or opened
        return turns_of(kinds.select((*self.marks, *self.later), followed))

    @property
    def up(self) -> list[Part]:
        """The alerts that are up and hold it open, in the order in which they were raised.

        Answers that shift less often than they did hold nothing open beside other alerts.
        """
        are_all_steadier = all(part.effect == "steadier" for part in self.parts)
        up = []
        for part in self.parts:
            if part.over is None and (are_all_steadier or part.effect != "steadier"):
                up.append(part)
        return up

    @property
    def news(self) -> int:
        """Place in the log of the last alert or change that a message is about; 0 once it is over."""
        if self.closed_at is not None:
            return 0
        place = 0
        for part in self.parts:
            place = max(place, part.raised.offset)
        for mark in (*self.marks, *self.later):
            place = max(place, mark.offset)
        return place

    @property
    def state(self) -> State:
        """The state: open, acknowledged or resolved."""
        if self.closed_at is not None:
            return "resolved"
        return "open" if self.acknowledged_at is None else "acknowledged"

    @property
    def effect(self) -> Effect:
        """Gravest effect of the alerts that are up, or of all alerts once it is over."""
        effects = {part.effect for part in self.up or self.parts}
        return next((effect for effect in GRAVEST if effect in effects), "fragile")

    @property
    def severity(self) -> str:
        """The severity of its effect: "critical", "warning" or "info"."""
        return SEVERITY[self.effect]

    @property
    def stated(self) -> tuple[ChangeMark, ...]:
        """Marks that may be why: names of models, prompts, parameters, judge and its panel."""
        return tuple(kinds.select(self.marks, kinds.CAUSES))

    @property
    def from_the_start(self) -> bool:
        """True if nothing shows that answers were ever better: no change, and too few trials before it."""
        if self.stated:
            return False
        for part in self.up or self.parts:
            if part.effect == self.effect:
                before = part.raised.trials - part.raised.run_trials
                if part.raised.what != "excess" or before >= _FEW:
                    return False
        return True

    @property
    def in_vain(self) -> tuple[ChangeMark, ...]:
        """Changes during the incident after which alerts were still raised that are up."""
        marks: list[ChangeMark] = []
        for mark in self.later:
            if any(_after(mark, part) for part in self.up):
                marks.append(mark)
        return tuple(marks)

    @property
    def present(self) -> list[Part]:
        """Alerts that are up; if a change to another model came in vain, only those of the latest model."""
        came = kinds.select(self.in_vain, {kinds.MODEL})
        parts: list[Part] = []
        for part in self.up:
            if not came or part.raised.model in {came[-1].after, ""}:
                parts.append(part)
        return parts

    @property
    def model(self) -> str:
        """The model of its latest alert."""
        for part in reversed(self.parts):
            if part.raised.model:
                return part.raised.model
        return ""

    def to_json(self) -> dict[str, Any]:
        """Return the incident for machines, without its alerts (see `evenkeel.monitor.notify.alerts`)."""
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
        }

    def to_bytes(self) -> bytes:
        """Return the record as JSON in ASCII, which holds any text; `from_bytes` reads it."""
        return json.dumps(msgspec.to_builtins(self), separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Incident:
        """Read what `to_bytes` wrote."""
        return from_plain(json.loads(data), cls)


# Trials before an alert that are too few to show how answers were.
_FEW: Final = 10


def _plain(mark: ChangeMark) -> dict[str, Any]:
    return {"kind": mark.kind, "before": mark.before, "after": mark.after, "at": mark.at}


def _after(mark: ChangeMark, part: Part) -> bool:
    return part.raised.at >= mark.at and (mark.kind != kinds.MODEL or part.raised.model == mark.after)


class IncidentBoard:
    """Cache of the incidents in a store, read again only after a further event. Thread-safe."""

    def __init__(self, store: MonitorStore) -> None:
        """Open the board on the store that holds the incidents."""
        self._store = store
        self._lock = threading.Lock()
        self._incidents: tuple[Incident, ...] = ()
        self._newest = ""

    def all(self) -> tuple[Incident, ...]:
        """Return every incident that is kept, the one that was opened last first. Blocks on storage."""
        with self._lock:
            newest = next(iter(self._store.events(1)), None)
            if newest is None or newest.id != self._newest:
                stored = []
                for body in self._store.incidents():
                    stored.append(Incident.from_bytes(body))
                stored.sort(key=lambda incident: (-incident.opened_at, incident.id))
                self._incidents = tuple(stored)
                self._newest = newest.id if newest else ""
            return self._incidents

    def find(self, incident: str) -> Incident | None:
        """Return one of them by its id."""
        return next((candidate for candidate in self.all() if candidate.id == incident), None)
