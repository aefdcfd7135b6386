"""Counters of the processes of all machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from evenkeel.stores.counters import merge
from evenkeel.stores.redis.connection import Script, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.stores.counters import Snapshot
    from evenkeel.stores.redis.connection import RedisStore

_RETIRED: Final = "retired"
# Seconds of silence after which a process is taken for dead; each publishes every second.
_SILENT_S: Final = 15.0
# A process that is silent for so long will not come back.
_FORGOTTEN_S: Final = 86_400.0


class RedisCounterStore:
    """Latest snapshot of each supervisor. Counters of one that ended are kept, its gauges not.

    Nobody watches over supervisors: one that is silent for 15 s counts as ended, and if it speaks again it
    goes on from where it was. After a day its counters are added to the total of the ended.
    """

    def __init__(self, store: RedisStore, clock: Callable[[], float]) -> None:
        """Open it; nothing is sent yet."""
        self._store = store
        self._clock = clock
        self._snapshots, self._times = store.keys("counters", "snapshots", "times")
        self._replace = Script(store, "counters_replace")

    def publish(self, source: str, snapshot: Snapshot) -> None:
        """Replace the snapshot of one supervisor."""
        # Together: a reader must not take a process that has just begun for one that is silent.
        with self._store.client.pipeline(transaction=True) as both:
            both.hset(self._snapshots, source, json.dumps(snapshot))
            both.hset(self._times, source, repr(self._clock()))
            both.execute()

    def _retire(self, source: str) -> None:
        """Add the counters of an ended supervisor to the total of the ended ones."""
        client = self._store.client
        while True:
            body, before = client.hmget(self._snapshots, source, _RETIRED)
            if body is None:
                return
            total = merge(json.loads(part) for part in (body, before) if part)
            # A gauge is about now, and this process has none any more.
            total["gauges"] = []
            keys = (self._snapshots, self._times)
            # Counted again if somebody else has folded this process meanwhile, or it has spoken.
            if self._replace(keys, source, body, before or b"", json.dumps(total), _RETIRED):
                return

    def read(self, source: str = "") -> list[Snapshot]:
        """Return the snapshots of all supervisors, ended ones included, or that of one."""
        client = self._store.client
        if source:
            body = client.hget(self._snapshots, source)
            return [json.loads(body)] if body else []
        bodies = client.hgetall(self._snapshots)
        seen = {}
        for name, at in client.hgetall(self._times).items():
            seen[name] = float(at)
        now = self._clock()
        snapshots = []
        for name in sorted(bodies):
            snapshot = json.loads(bodies[name])
            silent_s = now - seen.get(name, now)
            if silent_s > _SILENT_S:
                snapshot["gauges"] = []
            if silent_s > _FORGOTTEN_S:
                self._retire(text(name))
            snapshots.append(snapshot)
        return snapshots
