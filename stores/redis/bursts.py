"""Bursts on the distributed store, for all proxies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenkeel.stores.bursts import Override

if TYPE_CHECKING:
    from evenkeel.stores.redis.connection import RedisStore


class RedisBursts:
    """`Bursts` on Redis."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store
        self._key = store.key("changes", "bursts")

    def put(self, override: Override) -> None:
        """As `Bursts`."""
        self._store.client.hset(self._key, override.route, json.dumps(override[1:]))

    def drop(self, route: str) -> None:
        """As `Bursts`."""
        self._store.client.hdel(self._key, route)

    def active(self, now: float) -> list[Override]:
        """As `Bursts`."""
        rows = self._store.client.hgetall(self._key)
        overrides = [Override(route.decode(), *json.loads(body)) for route, body in sorted(rows.items())]
        return [override for override in overrides if override.until > now]
