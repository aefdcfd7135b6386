"""Archive of sampled exchanges on Redis."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

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
        self._keys = tuple(store.keys("archive", *names))
        self._bodies, _, self._ids, *_ = self._keys
        self._of_route = store.key("archive", "ids:")
        self._put = Script(store, "archive_shared", "archive_put")
        self._prune = Script(store, "archive_shared", "archive_prune")

    def put(self, exchange: ArchivedExchange) -> bool:
        """Keep an exchange. See `ExchangeArchive.put`."""
        if self._limits[0] == 0:
            return False
        packed = pack_archived(exchange, self._store.seal)
        if len(packed) > LARGEST_BYTES:
            return False
        named = (storable(exchange.id), storable(exchange.route))
        return bool(self._put(self._keys, *self._bounds(), *named, packed))

    def prune(self) -> int:
        """Drop exchanges beyond the limits, oldest first. Return how many were dropped."""
        return int(self._prune(self._keys, *self._bounds()))

    def _bounds(self) -> tuple[Value, ...]:
        return (self._of_route, *self._limits, repr(self._clock()), repr(self._kept_s))

    def find(self, exchange_id: str) -> ArchivedExchange | None:
        """Return one exchange. See `ExchangeArchive.find`."""
        packed = self._store.client.hget(self._bodies, storable(exchange_id))
        return unpack_archived(packed, self._store.seal, exchange_id) if packed is not None else None

    def latest(self, limit: int | None = None, *, route: str | None = None) -> list[ArchivedExchange]:
        """Return the newest exchanges. See `ExchangeArchive.latest`."""
        client = self._store.client
        key = self._ids if route is None else f"{self._of_route}{storable(route)}"
        last = -1 if limit is None else limit - 1
        ids = client.zrevrange(key, 0, last) if limit is None or limit > 0 else []
        packed = client.hmget(self._bodies, ids) if ids else []
        return [unpack_archived(payload, self._store.seal) for payload in packed if payload is not None]
