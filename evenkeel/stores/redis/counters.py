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
    """Latest snapshot of each process. Counters of a process that ended are kept, its gauges not.

    A group is what one supervisor starts: within it, sources are named as it names them.
    Nobody watches over processes on other machines: one that is silent for 15 s counts as ended, and if it
    speaks again it goes on from where it was. After a day its counters are added to the total of the ended.
    """

    def __init__(self, store: RedisStore, clock: Callable[[], float], *, group: str = "") -> None:
        """Open it; nothing is sent yet. With the group "" the sources of all groups are read."""
        self._store = store
        self._group = f"{group} " if group else ""
        self._clock = clock
        self._snapshots, self._times = store.keys("counters", "snapshots", "times")
        self._replace = Script(store, "counters_replace")

    def publish(self, source: str, snapshot: Snapshot) -> None:
        """Replace the snapshot of one process."""
        # Together: a reader must not take a process that has just begun for one that is silent.
        with self._store.client.pipeline(transaction=True) as both:
            both.hset(self._snapshots, f"{self._group}{source}", json.dumps(snapshot))
            both.hset(self._times, f"{self._group}{source}", repr(self._clock()))
            both.execute()

    def retire(self, source: str) -> None:
        """Fold the counters of an ended process into the total of the ended ones."""
        self._retire(f"{self._group}{source}", f"{self._group}{_RETIRED}")

    def _retire(self, source: str, retired: str) -> None:
        client = self._store.client
        while True:
            body, before = client.hmget(self._snapshots, source, retired)
            if body is None:
                return
            total = merge(json.loads(part) for part in (body, before) if part)
            # A gauge is about now, and this process has none any more.
            total["gauges"] = []
            keys = (self._snapshots, self._times)
            # Counted again if somebody else has folded this process meanwhile, or it has spoken.
            if self._replace(keys, source, body, before or b"", json.dumps(total), retired):
                return

    def clear(self) -> None:
        """Reset all counters to zero."""
        names = list(self._mine(self._store.client.hgetall(self._snapshots)))
        if names:
            with self._store.client.pipeline(transaction=True) as both:
                both.hdel(self._snapshots, *names)
                both.hdel(self._times, *names)
                both.execute()

    def read(self) -> list[Snapshot]:
        """Return the snapshots of all processes of this group or of all groups, ended ones included."""
        client = self._store.client
        bodies = self._mine(client.hgetall(self._snapshots))
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
                group = text(name).rpartition(" ")[0]
                self._retire(text(name), f"{group} {_RETIRED}" if group else _RETIRED)
            snapshots.append(snapshot)
        return snapshots

    def _mine(self, by_source: dict[bytes, bytes]) -> dict[bytes, bytes]:
        prefix = self._group.encode()
        bodies: dict[bytes, bytes] = {}
        for name, body in by_source.items():
            if name.startswith(prefix):
                bodies[name] = body
        return bodies
