"""Counters of the processes of all machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from metrics.stores.counters import merge
from metrics.stores.redis.connection import Script, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from metrics.stores.counters import Snapshot
    from metrics.stores.redis.connection import RedisStore

_RETIRED: Final = "retired"
_SILENT_S: Final = 15.0
"""A process publishes every second; one that has been silent for so long is taken for dead."""
_FORGOTTEN_S: Final = 86_400.0

_REPLACE: Final = """
-- KEYS 1 snapshots, 2 times; ARGV 1 source, 2 its snapshot as it was read, 3 total before, 4 total now
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
if (redis.call('HGET', KEYS[1], 'retired') or '') ~= ARGV[3] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'retired', ARGV[4])
return 1
"""


class RedisCounterStore:
    """Latest snapshot of each process. Counters of a process that ended are kept, its gauges not.

    Nobody watches over processes on other machines: one that is silent for 15 s counts as ended, and if it
    speaks again it goes on from where it was. After a day its counters are added to the total of the ended.
    """

    def __init__(self, store: RedisStore, clock: Callable[[], float]) -> None:
        """Args: store: the Redis. clock: Unix time in seconds."""
        self._store = store
        self._clock = clock
        self._snapshots, self._times = (store.key("counters", name) for name in ("snapshots", "times"))
        self._replace = Script(store, _REPLACE)

    def publish(self, source: str, snapshot: Snapshot) -> None:
        """Replace the snapshot of one process."""
        with self._store.client.pipeline(transaction=True) as both:
            both.hset(self._snapshots, source, json.dumps(snapshot))
            both.hset(self._times, source, repr(self._clock()))
            both.execute()

    def retire(self, source: str) -> None:
        """Fold the counters of an ended process into the total of the ended ones."""
        client = self._store.client
        while True:
            body, before = client.hmget(self._snapshots, source, _RETIRED)
            if body is None:
                return
            total = merge(json.loads(one) for one in (body, before) if one)
            total["gauges"] = []
            keys = (self._snapshots, self._times)
            if self._replace(keys, source, body, before or b"", json.dumps(total)):
                return

    def clear(self) -> None:
        """Start from zero."""
        with self._store.client.pipeline(transaction=True) as both:
            both.delete(self._snapshots)
            both.delete(self._times)
            both.execute()

    def read(self) -> list[Snapshot]:
        """Snapshots of all processes, ended ones included."""
        client = self._store.client
        bodies = client.hgetall(self._snapshots)
        seen = {name: float(at) for name, at in client.hgetall(self._times).items()}
        now = self._clock()
        found = []
        for name in sorted(bodies):
            snapshot = json.loads(bodies[name])
            silent_s = now - seen.get(name, now)
            if silent_s > _SILENT_S:
                snapshot["gauges"] = []
            if silent_s > _FORGOTTEN_S:
                self.retire(text(name))
            found.append(snapshot)
        return found
