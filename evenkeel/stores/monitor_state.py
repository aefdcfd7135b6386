"""What a monitor keeps: checkpoints, alert events and trend points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from evenkeel.core.cells import ChangeMark, Estimate  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class AlertFacts:
    """What else is said about an event (`evenkeel.monitor.notify.alerts` has the words)."""

    overall: Estimate | None = None
    """Paired excess over all pairs of the cell."""
    baseline: float | None = None
    """Share of shifted answers that a drift is measured from."""
    baseline_trials: int = 0
    approved: bool = False
    """Whether a person approved that baseline."""
    line: float | None = None
    """Share beyond which a drift counts."""
    gone: Literal["", "model", "place", "prompts"] = ""
    """What of a retired cell is gone: its model does not answer any more; its model's place went to another;
    the prompts in which a drift was seen come no more."""
    noticed_at: float | None = None
    """Unix time in seconds at which a change that is over was noticed."""
    beside: tuple[ChangeMark, ...] = ()
    """What was stated in the traffic at the time of a change that nobody announced."""
    also_on: tuple[str, ...] = ()
    """Other routes on which it was found."""
    moved: tuple[str, ...] = ()
    """Traits of answers that moved, the furthest first."""
    asks_references: bool = True
    """Whether reference prompts could confirm it."""
    still: str = ""
    """What still answers though somebody said that it was rolled back."""


@dataclass(frozen=True, slots=True)
class AlertEvent:
    """An alert was raised or resolved, or a person decided something about an incident.

    `id` makes delivery idempotent for receivers.
    """

    id: str
    at: float
    """Unix time in seconds of what decided it, mostly a verdict."""
    kind: str
    """"raised" or "resolved"; of an incident "acknowledged", "closed", "reopened", "explained" or
    "followed"."""
    route: str
    model: str
    """Of a change the requested one."""
    perturbation: str
    """"" of a change."""
    offset: int
    """Place in the verdict log of what decided it."""
    trials: int
    """Trials of the cell so far; of a change the calls to references, or pairs of answers, behind it."""
    excess: float | None
    """Estimated paired excess at that time."""
    what: str = "excess"
    """"excess": above the threshold. "drift": away from what it was. "change": nobody announced it.
    "incident": it is about the incident as a whole."""
    direction: str = ""
    """Of a drift: "risen" or "fallen"; "" otherwise and once it is over."""
    verdict: str = ""
    """Id of the deciding verdict; "" if something else decided."""
    trace_id: str = ""
    """Of the trace in which that verdict was made; "" if it was not traced."""
    run_trials: int = 0
    """Trials since the estimated start of the change."""
    measure: str = ""
    """"content", "similarity", "quality" or "invalid": what crossed its limit first; or "drift". Of a change
    "references" if it is found and "traits" if it is suspected."""
    limit: float | None = None
    """Its limit."""
    limit_source: str = ""
    """Where that comes from: "default", "settings", "calibrated on …"."""
    change: str = ""
    """Id of the change that it is about or that came before it; "" if there was none lately."""
    incident: str = ""
    """Id of the incident that it belongs to: that of the change which opened it, on all routes where it
    shows; where none did, that of the first event."""
    after: float | None = None
    """Unix time in seconds after which a change came about."""
    since: float | None = None
    """Unix time in seconds of the first answer that was unlike those before it."""
    value: float | None = None
    """What the measure was over the latest trials, in its own range."""
    marks: tuple[ChangeMark, ...] = ()
    """What was noticed of the change before the incident was opened: of an event that opens one. Of one that
    "followed" what changed while it was open."""
    reason: str = ""
    """Why it is over, one of `evenkeel.core.incidents.ENDINGS`; "" of an event that ends nothing."""
    by: str = ""
    """Who decided or approved; "" of what no person did."""
    note: str = ""
    """Of who decided."""
    facts: AlertFacts = AlertFacts()
    clients: dict[str, int] = field(default_factory=dict)
    """How many of the `run_trials` are whose, by name of the client, as far as that is known; of a drift
    as many as the client's share in the latest trials."""

    @property
    def is_more(self) -> bool:
        """Whether it shows a change on one more route, of which an alert was raised before."""
        return self.what == "change" and self.incident != self.change


class IncidentRow(NamedTuple):
    """The record of an incident, as the monitor writes it."""

    id: str
    offset: int
    """Place in the verdict log of its last event."""
    body: bytes
    """`evenkeel.monitor.incidents.Incident` as JSON."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What one channel has sent about one incident so far."""

    messages: int
    phase: str
    """Of the last one: "opened", "updated" or "resolved"."""
    effect: str
    """What it said had happened to the answers."""
    routes: int
    """On how many routes it said that the incident shows."""
    receipt: str = ""
    """What the service called the first one; "" if it gives no name."""
    state: str = ""
    """Of the incident as the service was last shown it, with a message or without."""
    attempts: int = 0
    """How many changes it said came while the incident was open and did not end it."""


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A cell's estimates at one time, for trend lines. None = fewer trials than the minimum."""

    at: float
    trials: int
    content_delta: float | None
    excess: float | None
    excess_lower: float | None
    excess_upper: float | None
    robustness: float | None
    evidence_log10: float
    alert: bool


class MonitorStore(Protocol):
    """The monitor's durable state. `commit` is atomic: state, offset and events, or nothing."""

    def load(self) -> tuple[bytes | None, int]:
        """The last committed checkpoint and the log offset it includes; (None, 0) at first."""
        ...

    def parts(self) -> dict[str, bytes]:
        """Every part of the checkpoint as it was last committed, by name."""
        ...

    def is_current(self) -> bool:
        """Whether the checkpoint is still the one that was read or written last.

        It is not once another has been written, or the store has lost the last: a Redis that failed over.
        """
        ...

    def commit(
        self,
        state: bytes,
        offset: int,
        events: Sequence[AlertEvent],
        trend: Sequence[tuple[str, str, str, TrendPoint]],
        *,
        incidents: Sequence[IncidentRow] = ...,
        parts: Mapping[str, bytes] = ...,
        whole: bool = ...,
    ) -> None:
        """Store a checkpoint with the events and trend points (route, model, perturbation, point) since.

        Args:
            state: the checkpoint but for its parts; replaces the previous one.
            offset: in the verdict log, up to which it counts.
            events: in log order.
            trend: in log order.
            incidents: those that changed. A record of a later place in the log stays: another monitor may
                be ahead. The latest thousand are kept.
            parts: those that changed, by name; the others stay as they are.
            whole: whether these are all, so that any others are removed.
        """
        ...

    def events(self, limit: int) -> list[AlertEvent]:
        """The newest alert events, newest first."""
        ...

    def incidents(self) -> list[bytes]:
        """The records of all incidents that are kept, in no order."""
        ...

    def undelivered(self, limit: int) -> list[AlertEvent]:
        """Events not yet notified, oldest first."""
        ...

    def mark_delivered(self, event_id: str) -> None:
        """Remember that an event was notified."""
        ...

    def sent(self, incident: str, channel: str) -> Sent | None:
        """What a channel has sent about an incident; None if nothing."""
        ...

    def put_sent(self, incident: str, channel: str, sent: Sent) -> None:
        """Remember what a channel has sent about an incident. The latest thousand are kept."""
        ...

    def trend(self, route: str, model: str, perturbation: str, limit: int) -> list[TrendPoint]:
        """The newest `limit` points of one cell, oldest first."""
        ...
