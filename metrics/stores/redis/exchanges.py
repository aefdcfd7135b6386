"""The archive of sampled exchanges on Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from metrics.stores.exchanges import (
    KEPT_BYTES,
    KEPT_PER_ROUTE,
    LARGEST_BYTES,
    ArchivedExchange,
    pack_exchange,
    unpack_exchange,
)
from metrics.stores.redis.connection import Script, as_key

if TYPE_CHECKING:
    from metrics.stores.redis.connection import RedisStore

_SHARED: Final = """
-- KEYS 1 bodies, 2 hash id -> "bytes route", 3 ids of all routes by turn, 4 turns, 5 bytes held,
--      6 set of routes
-- ARGV 1 prefix of the ids of a route, 2 kept of a route, 3 bytes kept
local prefix, per_route, most_bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local dropped = 0
local function drop(id)
  local size, route = string.match(redis.call('HGET', KEYS[2], id), '^(%d+) (.*)$')
  redis.call('HDEL', KEYS[1], id)
  redis.call('HDEL', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZREM', prefix .. route, id)
  redis.call('DECRBY', KEYS[5], size)
  dropped = dropped + 1
end
local function prune()
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
-- 4 id, 5 route, 6 body
if redis.call('HSETNX', KEYS[1], ARGV[4], ARGV[6]) == 0 then return 0 end
local size, turn = string.len(ARGV[6]), redis.call('INCR', KEYS[4])
redis.call('HSET', KEYS[2], ARGV[4], size .. ' ' .. ARGV[5])
redis.call('ZADD', KEYS[3], turn, ARGV[4])
redis.call('ZADD', prefix .. ARGV[5], turn, ARGV[4])
redis.call('SADD', KEYS[6], ARGV[5])
redis.call('INCRBY', KEYS[5], size)
prune()
return 1
"""
)
_PRUNE: Final = _SHARED + "prune() return dropped"


class RedisExchangeArchive:
    """`ExchangeArchive` on Redis, shared by all workers. It is never above its limits."""

    def __init__(
        self, store: RedisStore, *, per_route: int = KEPT_PER_ROUTE, total_bytes: int = KEPT_BYTES
    ) -> None:
        """Open the archive.

        Args:
            store: the Redis.
            per_route: exchanges kept of each route; 0 keeps none and drops those there are with `prune`.
            total_bytes: what they may take, packed.
        """
        self._store = store
        self._limits = (per_route, total_bytes)
        names = ("bodies", "places", "ids", "turns", "bytes", "routes")
        self._keys = tuple(store.key("archive", name) for name in names)
        self._bodies, _, self._ids, *_ = self._keys
        self._of_route = store.key("archive", "ids:")
        self._put = Script(store, _PUT)
        self._prune = Script(store, _PRUNE)

    def put(self, exchange: ArchivedExchange) -> bool:
        """As `ExchangeArchive`."""
        if self._limits[0] == 0:
            return False
        packed = pack_exchange(exchange)
        if len(packed) > LARGEST_BYTES:
            return False
        arguments = (self._of_route, *self._limits, as_key(exchange.id), as_key(exchange.route), packed)
        return bool(self._put(self._keys, *arguments))

    def prune(self) -> int:
        """Drop what is beyond the limits, the oldest first; returns how many exchanges went."""
        return int(self._prune(self._keys, self._of_route, *self._limits))

    def find(self, exchange_id: str) -> ArchivedExchange | None:
        """As `ExchangeArchive`."""
        packed = self._store.client.hget(self._bodies, as_key(exchange_id))
        return unpack_exchange(packed) if packed is not None else None

    def latest(self, limit: int | None = None, *, route: str | None = None) -> list[ArchivedExchange]:
        """As `ExchangeArchive`."""
        client = self._store.client
        key = self._ids if route is None else f"{self._of_route}{as_key(route)}"
        last = -1 if limit is None else limit - 1
        ids = client.zrevrange(key, 0, last) if limit is None or limit > 0 else []
        packed = client.hmget(self._bodies, ids) if ids else []
        return [unpack_exchange(one) for one in packed if one is not None]
