"""The archive of sampled exchanges on Redis."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from evenkeel.stores.archive import (
    KEPT_BYTES,
    KEPT_PER_ROUTE,
    KEPT_S,
    LARGEST_BYTES,
    ArchivedExchange,
    pack_archived,
    unpack_archived,
)
from evenkeel.stores.payloads import storable
from evenkeel.stores.redis.connection import Script

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.stores.redis.connection import RedisStore, Value

_SHARED: Final = """
-- KEYS 1 bodies, 2 hash id -> "bytes route", 3 ids of all routes by turn, 4 turns, 5 bytes held,
--      6 set of routes, 7 ids by the time they were kept
-- ARGV 1 prefix of the ids of a route, 2 kept of a route, 3 bytes kept, 4 now, 5 seconds kept
local prefix, per_route, most_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local dropped = 0
local function drop(id)
  local size, route = string.match(redis.call('HGET', KEYS[2], id), '^(%d+) (.*)$')
  redis.call('HDEL', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZREM', KEYS[7], id)
  redis.call('ZREM', prefix .. route, id)
  redis.call('DECRBY', KEYS[5], size)
  dropped = dropped + 1
end
local function prune()
  local before = tonumber(ARGV[4]) - tonumber(ARGV[5])
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[7], '-inf', before)) do drop(id) end
  for _, route in ipairs(redis.call('SMEMBERS', KEYS[6])) do
    local excess = redis.call('ZCARD', prefix .. route) - per_route
    if excess > 0 then
      for _, id in ipairs(redis.call('ZRANGE', prefix .. route, 0, excess - 1)) do drop(id) end
    end
  end
  while tonumber(redis.call('GET', KEYS[5]) or '0') > most_bytes do
    local oldest = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
    if not oldest then break end
    drop(oldest)
  end
end
"""

_PUT: Final = (
    _SHARED
    + """
-- 6 id, 7 route, 8 body
if redis.call('HSETNX', KEYS[1], ARGV[6], ARGV[8]) == 0 then return 0 end
local size, turn = string.len(ARGV[8]), redis.call('INCR', KEYS[4])
redis.call('HSET', KEYS[2], ARGV[6], size .. ' ' .. ARGV[7])
redis.call('ZADD', KEYS[3], turn, ARGV[6])
redis.call('ZADD', KEYS[7], ARGV[4], ARGV[6])
redis.call('ZADD', prefix .. ARGV[7], turn, ARGV[6])
redis.call('SADD', KEYS[6], ARGV[7])
redis.call('INCRBY', KEYS[5], size)
prune()
return 1
"""
)
_PRUNE: Final = _SHARED + "prune() return dropped"


class RedisExchangeArchive:
    """`ExchangeArchive` on Redis, shared by all workers. It is never above its limits."""

    def __init__(
        self,
        store: RedisStore,
        *,
        per_route: int = KEPT_PER_ROUTE,
        total_bytes: int = KEPT_BYTES,
        kept_s: float = KEPT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open the archive.

        Args:
            store: the Redis.
            per_route: exchanges kept of each route; 0 keeps none and drops those there are with `prune`.
            total_bytes: what they may take, packed.
            kept_s: and how long they are kept.
            clock: Unix time in seconds.
        """
        self._store = store
        self._limits = (per_route, total_bytes)
        self._kept_s = kept_s
        self._clock = clock
        names = ("bodies", "places", "ids", "turns", "bytes", "routes", "times")
        self._keys = tuple(store.key("archive", name) for name in names)
        self._bodies, _, self._ids, *_ = self._keys
        self._of_route = store.key("archive", "ids:")
        self._put = Script(store, _PUT)
        self._prune = Script(store, _PRUNE)

    def put(self, exchange: ArchivedExchange) -> bool:
        """As `ExchangeArchive`."""
        if self._limits[0] == 0:
            return False
        packed = pack_archived(exchange, self._store.seal)
        if len(packed) > LARGEST_BYTES:
            return False
        named = (storable(exchange.id), storable(exchange.route))
        return bool(self._put(self._keys, *self._bounds(), *named, packed))

    def prune(self) -> int:
        """Drop what is beyond the limits, the oldest first; returns how many exchanges went."""
        return int(self._prune(self._keys, *self._bounds()))

    def _bounds(self) -> tuple[Value, ...]:
        return (self._of_route, *self._limits, repr(self._clock()), repr(self._kept_s))

    def find(self, exchange_id: str) -> ArchivedExchange | None:
        """As `ExchangeArchive`."""
        packed = self._store.client.hget(self._bodies, storable(exchange_id))
        return unpack_archived(packed, self._store.seal) if packed is not None else None

    def latest(self, limit: int | None = None, *, route: str | None = None) -> list[ArchivedExchange]:
        """As `ExchangeArchive`."""
        client = self._store.client
        key = self._ids if route is None else f"{self._of_route}{storable(route)}"
        last = -1 if limit is None else limit - 1
        ids = client.zrevrange(key, 0, last) if limit is None or limit > 0 else []
        packed = client.hmget(self._bodies, ids) if ids else []
        return [unpack_archived(one, self._store.seal) for one in packed if one is not None]
