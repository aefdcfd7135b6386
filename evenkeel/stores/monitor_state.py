"""State of a monitor: checkpoints, alert events and trend points."""

from __future__ import annotations

import secrets
import zlib
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core.cells import ChangeMark  # noqa: TC001 - msgspec reads the annotations
from evenkeel.stores.documents import Collection, DocumentBody, plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.stores.documents import Change, Documents, Packed
    from evenkeel.stores.sealing import Seal


EVENTS_KEPT: Final = 10_000
"""Far more than a page shows; without a bound the store would grow for years."""
TREND_KEPT_PER_CELL: Final = 400
"""Points that a chart draws: at a point every ten seconds, an hour of a cell's trials."""


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
    news: int = 0
    """Place in the log of the last alert or change that the service was shown."""


class TrendPoint(NamedTuple):
    """Points above noise of a cell since the last change of its route, which charts draw.

    None = too few trials.
    """

    at: float
    """Unix time in seconds."""
    excess: float | None
    excess_lower: float | None
    excess_upper: float | None


class OtherMonitorError(Exception):
    """Conflict with another monitor that has written this checkpoint. The state must be read again."""


class SavedCheckpoint(NamedTuple):
    """Checkpoint as it was committed last."""

    state: bytes | None
    """State but for its parts; None before the first commit."""
    offset: int
    """Place in the verdict log up to which it counts."""
    parts: dict[str, bytes]


class _CheckpointHead(NamedTuple):
    monitor: str
    offset: int
    commit: str
    """Name of the commit: offsets alone may be equal for two monitors of one name."""


class _Part(NamedTuple):
    monitor: str
    name: str
    """Name of the part; "" for the state."""
    body: bytes


class _CellTrend(NamedTuple):
    monitor: str
    route: str
    model: str
    perturbation: str
    points: tuple[TrendPoint, ...]


class _SentNotice(NamedTuple):
    incident: str
    channel: str
    state: ChannelState


def _unpack_part(packed: Packed, _seal: Seal, key: tuple[str, ...]) -> _Part:
    assert isinstance(packed, bytes)
    monitor, name = key
    return _Part(monitor, name, packed)


# Queue, verdict log and the monitors' state are on one node of a Redis Cluster: see `evenkeel.stores.redis`.
_GROUP: Final = "main"
_HEADS: Final = Collection(name="monitor_heads", key=("monitor",), body=plain(_CheckpointHead), group=_GROUP)
_PARTS: Final = Collection(
    name="monitor_parts_of",
    key=("monitor", "name"),
    body=DocumentBody(lambda part, _: part.body, _unpack_part),
    group=_GROUP,
)
_TRENDS: Final = Collection(
    name="cell_trends",
    key=("monitor", "route", "model", "perturbation"),
    body=plain(_CellTrend),
    group=_GROUP,
)
_EVENTS: Final = Collection(
    name="alerts", key=("id",), kept=EVENTS_KEPT, body=plain(AlertEvent), group=_GROUP
)
_INCIDENTS: Final = Collection(
    name="incident_records", key=("id",), kept=1_000, body=plain(IncidentRow), group=_GROUP
)
_SENT: Final = Collection(
    name="notices_sent", key=("incident", "channel"), kept=1_000, body=plain(_SentNotice)
)


class MonitorStore:
    """Durable state of a monitor. `commit` is atomic: state, offset and events, or nothing.

    Each monitor has a checkpoint under its own name; events and incidents are those of all. Several monitors
    that fold the same log come to the same state and name their events alike, so that an event is there once
    whoever finds it first. Two that have the same name by mistake cannot spoil the checkpoint: a commit
    counts only if nobody else wrote since the caller last read or wrote.
    """

    def __init__(self, documents: Documents, name: str = "") -> None:
        """Open the state of the monitor of that name."""
        self._documents = documents
        self._name = name
        # Name of the commit that was read or written last.
        self._base = ""
        documents.open(_HEADS, _PARTS, _TRENDS, _EVENTS, _INCIDENTS, _SENT)

    def load(self) -> SavedCheckpoint:
        """Return the checkpoint that was committed last."""
        while True:
            revision = self._documents.revision(_HEADS)
            head = self._head()
            parts = {}
            for part in self._documents.history(_PARTS, self._name):
                parts[part.name] = part.body
            # A commit of a monitor that died may still be on its way, and a checkpoint with the parts of a
            # later one would count verdicts twice.
            if self._documents.revision(_HEADS) == revision:
                break
        self._base = head.commit
        state = parts.pop("", None)
        return SavedCheckpoint(None if state is None else zlib.decompress(state), head.offset, parts)

    def is_current(self) -> bool:
        """Return whether the checkpoint is still the one that was last read or written.

        It is not once another has been written, or the store has lost the last: a Redis that failed over.
        """
        return self._head().commit == self._base

    def offset(self) -> int:
        """Return the log offset that the last committed checkpoint includes; 0 before the first."""
        return self._head().offset

    def commit(
        self,
        state: bytes,
        offset: int,
        events: Sequence[AlertEvent],
        trend: Sequence[tuple[str, str, str, TrendPoint]],
        *,
        incidents: Sequence[IncidentRow] = (),
        parts: Mapping[str, bytes] = MappingProxyType({}),
        whole: bool = False,
    ) -> None:
        """Store a checkpoint with the events and trend points (route, model, perturbation, point) since.

        Args:
            state: The checkpoint but for its parts; replaces the previous one.
            offset: In the verdict log, up to which it counts.
            events: In log order.
            trend: In log order.
            incidents: Those that changed. A record of a later place in the log stays: another monitor may
                be ahead.
            parts: Those that changed, by name; the others stay as they are.
            whole: True if these are all, so that any others are removed.

        Raises: OtherMonitorError if the checkpoint is not the one this object read or wrote last.
        """
        commit = secrets.token_hex(8)

        def work(change: Change) -> None:
            if not self.is_current():
                raise OtherMonitorError(
                    f"the checkpoint of monitor {self._name} was changed by another monitor; give each a "
                    "name of its own"
                )
            if whole:
                change.drop(_PARTS, self._name)
            # The fastest level: a checkpoint is written every few seconds.
            for name, body in (("", zlib.compress(state, 1)), *parts.items()):
                change.put(_PARTS, _Part(self._name, name, body))
            for event in events:
                self._put_event(change, event)
            for incident in incidents:
                # A monitor that folds an old log again must not undo what a later one has written.
                known = self._documents.find(_INCIDENTS, incident.id)
                if known is None or incident.offset >= known.offset:
                    change.put(_INCIDENTS, incident)
            for cell, points in by_cell.items():
                earlier = self._documents.find(_TRENDS, self._name, *cell)
                joined = (*(earlier.points if earlier else ()), *points)[-TREND_KEPT_PER_CELL:]
                change.put(_TRENDS, _CellTrend(self._name, *cell, joined))
            change.put(_HEADS, _CheckpointHead(self._name, offset, commit))

        by_cell: dict[tuple[str, str, str], list[TrendPoint]] = {}
        for route, model, perturbation, point in trend:
            by_cell.setdefault((route, model, perturbation), []).append(point)
        self._documents.change(_HEADS, work)
        self._base = commit

    def _put_event(self, change: Change, event: AlertEvent) -> None:
        # Folded again, an event may say more than it did at first.
        if event != self._documents.find(_EVENTS, event.id):
            change.put(_EVENTS, event)

    def events(self, limit: int) -> list[AlertEvent]:
        """Return the newest alert events, newest first."""
        return self._documents.select(_EVENTS, limit=max(0, limit))

    def incidents(self) -> list[bytes]:
        """Return the records of all incidents that are kept, in no order."""
        return [row.body for row in self._documents.select(_INCIDENTS)]

    def sent(self, incident: str, channel: str) -> ChannelState | None:
        """Return the state of a channel's messages about an incident; None if it sent none."""
        sent = self._documents.find(_SENT, incident, channel)
        return sent.state if sent else None

    def put_sent(self, incident: str, channel: str, sent: ChannelState) -> None:
        """Store the state of a channel's messages about an incident."""
        self._documents.put(_SENT, _SentNotice(incident, channel, sent))

    def trend(self, route: str, model: str, perturbation: str, limit: int) -> list[TrendPoint]:
        """Return the newest `limit` points of one cell, oldest first."""
        trend = self._documents.find(_TRENDS, self._name, route, model, perturbation)
        return list(trend.points[-limit:]) if trend and limit > 0 else []

    def _head(self) -> _CheckpointHead:
        return self._documents.find(_HEADS, self._name) or _CheckpointHead(self._name, 0, "")


def monitor_names(documents: Documents) -> list[str]:
    """Return the names of all monitors that ever committed, in order."""
    documents.open(_HEADS)
    return sorted(head.monitor for head in documents.select(_HEADS))
