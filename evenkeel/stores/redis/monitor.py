"""Monitor state on Redis: one checkpoint for each monitor, alert events for all."""

from __future__ import annotations

import json
import secrets
import zlib
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from evenkeel.core.records import from_json, to_json
from evenkeel.stores.monitor_state import AlertEvent, ChannelState, IncidentRow, TrendPoint
from evenkeel.stores.payloads import storable
from evenkeel.stores.redis.connection import Script, Value, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.stores.redis.connection import RedisStore

_TREND_KEPT_PER_CELL: Final = 2_000
_EVENTS_KEPT: Final = 10_000
_SENT_KEPT: Final = 1_000
_INCIDENTS_KEPT: Final = 1_000


class OtherMonitorError(Exception):
    """Conflict with another monitor that has written this checkpoint. The state must be read again."""


class RedisMonitorStore:
    """`MonitorStore` on Redis. Each monitor has a checkpoint under its own name.

    Several monitors that fold the same log come to the same state and name their events alike, so that an
    event is there once whoever finds it first. Two that have the same name by mistake cannot spoil the
    checkpoint: a commit counts only if nobody else wrote since the caller last read or wrote.
    """

    def __init__(self, store: RedisStore, name: str) -> None:
        self._store = store
        # Name of the commit that was read or written last.
        self._base = b""
        self._read: dict[str, bytes] | None = None
        mine = store.key("main", f"monitor:{storable(name)}")
        self._head, self._parts, self._trend = f"{mine}:head", f"{mine}:parts", f"{mine}:trend:"
        self._events, self._order, self._waiting = store.keys(
            "main", "alert-events", "alert-order", "alert-waiting"
        )
        self._incidents, self._incident_offsets, self._incident_order = store.keys(
            "main", "incident-records", "incident-offsets", "incident-order"
        )
        self._sent, self._sent_order = store.keys("main", "alert-sent", "alert-sent-order")
        self._commit = Script(store, "monitor_commit")

    def load(self) -> tuple[bytes | None, int]:
        """Return the last committed checkpoint and the log offset it includes.

        Its parts are read in the same step: a commit of a monitor that died may still be on its way, and a
        checkpoint with the parts of a later one would count verdicts twice.
        """
        with self._store.client.pipeline(transaction=True) as both:
            both.hmget(self._head, "state", "offset", "commit")
            both.hgetall(self._parts)
            (state, offset, commit), parts = both.execute()
        self._base = commit or b""
        self._read = {text(name): body for name, body in parts.items()}
        return (zlib.decompress(state) if state is not None else None, int(offset or 0))

    def is_current(self) -> bool:
        """Return whether the checkpoint is still the one that was last read or written."""
        return (self._store.client.hget(self._head, "commit") or b"") == self._base

    def parts(self) -> dict[str, bytes]:
        """Return every part of the checkpoint by name; after `load`, those of the checkpoint it returned."""
        read, self._read = self._read, None
        if read is None:
            parts = self._store.client.hgetall(self._parts)
            read = {text(name): body for name, body in parts.items()}
        return read

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
        """Store checkpoint, changed parts, events, incidents and trend points in one step.

        Raises:
            OtherMonitorError: if the checkpoint is not the one this object read or wrote last.
        """
        rows: list[Value] = []
        for name, body in parts.items():
            rows += (storable(name), body)
        for event in events:
            rows += (event.id, to_json(event))
        for *cell, point in trend:
            rows += (_cell(*cell), msgspec.json.encode(point))
        for incident in incidents:
            rows += incident
        # A name of its own for each commit: offsets alone may be equal for two monitors of one name.
        this = secrets.token_bytes(8)
        self._read = None
        done = self._commit(
            (
                self._head,
                self._parts,
                self._events,
                self._order,
                self._waiting,
                self._incidents,
                self._incident_offsets,
                self._incident_order,
            ),
            self._base,
            offset,
            # The fastest level: a checkpoint is written every few seconds.
            zlib.compress(state, 1),
            int(whole),
            self._trend,
            _TREND_KEPT_PER_CELL,
            _EVENTS_KEPT,
            len(parts),
            len(events),
            len(trend),
            this,
            len(incidents),
            _INCIDENTS_KEPT,
            *rows,
        )
        if not done:
            raise OtherMonitorError(
                f"the checkpoint {self._head} was changed by another monitor; give each a name of its own"
            )
        self._base = this

    def events(self, limit: int) -> list[AlertEvent]:
        """Return the newest alert events, newest first."""
        ids = self._store.client.lrange(self._order, -limit, -1) if limit > 0 else []
        return self._named(ids[::-1])

    def incidents(self) -> list[bytes]:
        """Return the records of all incidents that are kept."""
        return list(self._store.client.hvals(self._incidents))

    def undelivered(self, limit: int) -> list[AlertEvent]:
        """Return the events not yet notified, oldest first."""
        return self._named(self._store.client.lrange(self._waiting, 0, limit - 1) if limit > 0 else [])

    def mark_delivered(self, event_id: str) -> None:
        """Remember that an event was notified."""
        self._store.client.lrem(self._waiting, 1, event_id)

    def sent(self, incident: str, channel: str) -> ChannelState | None:
        """Return the state of a channel's messages about an incident; None if it sent none."""
        body = self._store.client.hget(self._sent, _cell(incident, channel))
        return None if body is None else from_json(body, ChannelState)

    def put_sent(self, incident: str, channel: str, sent: ChannelState) -> None:
        """Store the state of a channel's messages about an incident."""
        name = _cell(incident, channel)
        with self._store.client.pipeline(transaction=True) as together:
            together.hset(self._sent, name, to_json(sent))
            together.lrem(self._sent_order, 0, name)
            together.rpush(self._sent_order, name)
            together.execute()
        # Outside the transaction: dropping one too many or too few of the oldest does no harm.
        while self._store.client.llen(self._sent_order) > _SENT_KEPT:
            oldest = self._store.client.lpop(self._sent_order)
            if oldest is not None:
                self._store.client.hdel(self._sent, oldest)

    def trend(self, route: str, model: str, perturbation: str, limit: int) -> list[TrendPoint]:
        """Return the newest `limit` points of one cell, oldest first."""
        if limit <= 0:
            return []
        rows = self._store.client.lrange(f"{self._trend}{_cell(route, model, perturbation)}", -limit, -1)
        return [TrendPoint(**json.loads(row)) for row in rows]

    def _named(self, ids: Sequence[bytes]) -> list[AlertEvent]:
        if not ids:
            return []
        bodies = self._store.client.hmget(self._events, ids)
        events: list[AlertEvent] = []
        for body in bodies:
            if body is not None:
                events.append(from_json(body, AlertEvent))
        return events


def monitor_names(store: RedisStore) -> list[str]:
    """Return the names of all monitors that ever committed, in order.

    It scans the keys, which is too slow for a scrape.
    """
    before, after = store.key("main", "monitor:"), ":head"
    keys = store.client.scan_iter(match=f"{before}*{after}", count=1000)
    names = []
    for key in keys:
        names.append(text(key).removeprefix(before).removesuffix(after))
    return sorted(names)


def _cell(*names: object) -> str:
    return json.dumps(names)
