"""State of a monitor: checkpoints, alert events and trend points."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from evenkeel.core.cells import ChangeMark  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class AlertFacts:
    """Further facts about an event; `evenkeel.monitor.notify.alerts` puts them into words."""

    segment: str = ""
    """Client, prompt version, task or language that the alert is about ("client acme"); "" = all traffic."""
    baseline: float | None = None
    """Share of shifted answers that a drift is measured from."""
    baseline_trials: int = 0
    approved: bool = False
    """True if a person approved that baseline."""
    line: float | None = None
    """Share of shifted answers beyond which a drift counts."""
    gone: Literal["", "model", "place", "prompts"] = ""
    """Reason why a cell was retired.

    "model": its model no longer answers. "place": another model took its model's place. "prompts": the
    prompts in which a drift was seen no longer come.
    """
    noticed_at: float | None = None
    """Unix time in seconds at which a change that is over was noticed."""
    beside: tuple[ChangeMark, ...] = ()
    """Marks stated in the traffic around the time of a change that nobody announced."""
    still: str = ""
    """Values that were said to be rolled back and are still in the traffic, joined by commas."""


@dataclass(frozen=True, slots=True)
class AlertEvent:
    """Event of an alert that was raised or resolved, or of a person's decision about an incident.

    `id` makes delivery idempotent for receivers.
    """

    id: str
    at: float
    """Unix time in seconds of whatever decided the event, mostly a verdict."""
    kind: str
    """Kind of the event.

    "raised" or "resolved"; for an incident "acknowledged", "closed", "reopened", "explained" or "followed".
    """
    route: str
    model: str
    """Model of the cell; for a change, the requested model."""
    perturbation: str
    """Name of the perturbation; "" for a change."""
    offset: int
    """Place in the verdict log of the entry that decided the event."""
    trials: int
    """Trials of the cell so far; for a change, the calls to references behind it."""
    excess: float | None
    """Estimated paired excess at that time."""
    what: str = "excess"
    """Subject of the event.

    "excess": above the threshold. "drift": away from the baseline. "change": nobody announced it. "incident":
    it is about the incident as a whole.
    """
    direction: str = ""
    """Direction of a drift: "risen" or "fallen"; "" for other events and once the drift is over."""
    verdict: str = ""
    """Id of the deciding verdict; "" if something else decided."""
    trace_id: str = ""
    """Id of the trace in which that verdict was made; "" if it was not traced."""
    run_trials: int = 0
    """Trials since the estimated start of the change."""
    measure: str = ""
    """Measure that crossed its limit first.

    "content", "similarity", "quality" or "invalid"; "drift" for a drift. For a change "references".
    """
    limit: float | None = None
    """Limit of that measure."""
    limit_source: str = ""
    """Source of the limit: "default", "settings", "calibrated on …"."""
    change: str = ""
    """Id of the change that the event is about or that came before it; "" if there was none lately."""
    incident: str = ""
    """Id of the incident that the event belongs to.

    It is the id of the change that opened the incident, on all routes where it shows; if no change opened it,
    the id of the first event.
    """
    after: float | None = None
    """Unix time in seconds after which a change came about."""
    since: float | None = None
    """Unix time in seconds of the first answer that was unlike those before it."""
    value: float | None = None
    """Value of the measure over the latest trials, in its own range."""
    marks: tuple[ChangeMark, ...] = ()
    """Marks of the change.

    For an event that opens an incident, those noticed before it was opened; for one that "followed", those of
    what changed while it was open.
    """
    reason: str = ""
    """Reason why it is over, an `evenkeel.core.incidents.Ending`; "" if the event ends nothing."""
    by: str = ""
    """Name of the person who decided or approved; "" if no person did."""
    note: str = ""
    """Note of the person who decided."""
    facts: AlertFacts = AlertFacts()
    clients: dict[str, int] = field(default_factory=dict)
    """Number of the `run_trials` by client name, as far as the client is known.

    For a drift they are split by each client's share in the latest trials.
    """


class IncidentRow(NamedTuple):
    """Record of an incident, as the monitor writes it."""

    id: str
    offset: int
    """Place in the verdict log of its last event."""
    body: bytes
    """Incident (`evenkeel.monitor.incidents.Incident`) as JSON."""


@dataclass(frozen=True, slots=True)
class ChannelState:
    """State of one channel's messages about one incident."""

    messages: int
    phase: str
    """Phase that the last message reported: "opened", "updated" or "resolved"."""
    effect: str
    """Effect on the answers that the last message reported."""
    routes: int
    """Number of affected routes that the last message reported."""
    receipt: str = ""
    """Id that the service gave the first message; "" if it gives none."""
    state: str = ""
    """Phase of the incident that the service was last shown, with a message or without."""
    attempts: int = 0
    """Number of changes reported that came while the incident was open and did not end it."""


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """Points above noise of a cell since the last change of its route, which charts draw.

    None = too few trials.
    """

    at: float
    """Unix time in seconds."""
    excess: float | None
    excess_lower: float | None
    excess_upper: float | None


class MonitorStore(Protocol):
    """Durable state of the monitor. `commit` is atomic: state, offset and events, or nothing."""

    def load(self) -> tuple[bytes | None, int]:
        """Return the last committed checkpoint and the log offset it includes; (None, 0) at first."""
        ...

    def parts(self) -> dict[str, bytes]:
        """Return every part of the checkpoint as it was last committed, by name."""
        ...

    def is_current(self) -> bool:
        """Return whether the checkpoint is still the one that was last read or written.

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
        """Return the newest alert events, newest first."""
        ...

    def incidents(self) -> list[bytes]:
        """Return the records of all incidents that are kept, in no order."""
        ...

    def undelivered(self, limit: int) -> list[AlertEvent]:
        """Return the events not yet notified, oldest first."""
        ...

    def mark_delivered(self, event_id: str) -> None:
        """Remember that an event was notified."""
        ...

    def sent(self, incident: str, channel: str) -> ChannelState | None:
        """Return the state of a channel's messages about an incident; None if it sent none."""
        ...

    def put_sent(self, incident: str, channel: str, sent: ChannelState) -> None:
        """Store the state of a channel's messages about an incident. The latest thousand are kept."""
        ...

    def trend(self, route: str, model: str, perturbation: str, limit: int) -> list[TrendPoint]:
        """Return the newest `limit` points of one cell, oldest first."""
        ...
