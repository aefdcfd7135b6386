"""What the change response remembers, on the distributed store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from evenkeel.stores.changes import GoldenRun
from evenkeel.stores.redis.connection import Script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.stores.redis.connection import RedisStore

_RUNS_KEPT: Final = 400
"""Of each route."""
_RESPONSES_KEPT_S: Final = 30 * 86_400

_PUT: Final = """
-- KEYS 1 bodies, 2 ids by turn, 3 ids of the route by turn, 4 turns; ARGV 1 id, 2 body, 3 kept of a route
local turn = redis.call('INCR', KEYS[4])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], turn, ARGV[1])
redis.call('ZADD', KEYS[3], turn, ARGV[1])
local excess = redis.call('ZCARD', KEYS[3]) - tonumber(ARGV[3])
for _, old in ipairs(excess > 0 and redis.call('ZRANGE', KEYS[3], 0, excess - 1) or {}) do
  redis.call('HDEL', KEYS[1], old)
  redis.call('ZREM', KEYS[2], old)
  redis.call('ZREM', KEYS[3], old)
end
"""


class RedisChangeStore:
    """`ChangeStore` on Redis."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store
        names = ("runs", "runs-order", "turns", "settings")
        self._runs, self._order, self._turns, self._settings = (store.key("changes", name) for name in names)
        self._put = Script(store, _PUT)

    def put_run(self, run: GoldenRun) -> None:
        """As `ChangeStore`."""
        of_route = self._store.key("changes", f"runs-of:{run.route}")
        body = json.dumps(run.to_json())
        self._put((self._runs, self._order, of_route, self._turns), run.id, body, _RUNS_KEPT)

    def runs(self) -> list[GoldenRun]:
        """As `ChangeStore`."""
        client = self._store.client
        ids = client.zrange(self._order, 0, -1)
        bodies = client.hmget(self._runs, ids) if ids else []
        return [GoldenRun.from_json(json.loads(body)) for body in bodies if body is not None]

    def revision(self) -> int:
        """As `ChangeStore`."""
        return int(self._store.client.get(self._turns) or 0)

    def respond(self, change: str, at: float) -> bool:
        """As `ChangeStore`; a claim is remembered for a month."""
        key = self._store.key("changes", f"response:{change}")
        return bool(self._store.client.set(key, repr(at), nx=True, ex=_RESPONSES_KEPT_S))

    def put_settings(self, fingerprint: str, values: Mapping[str, str]) -> None:
        """As `ChangeStore`."""
        self._store.client.hsetnx(self._settings, fingerprint, json.dumps(dict(values)))

    def settings(self, fingerprint: str) -> dict[str, str] | None:
        """As `ChangeStore`."""
        body = self._store.client.hget(self._settings, fingerprint)
        found: dict[str, str] | None = json.loads(body) if body else None
        return found
