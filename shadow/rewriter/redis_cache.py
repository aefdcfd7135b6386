"""Accepted texts kept in the distributed store, for all workers."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from evenkeel.stores.redis.bounded import BoundedMap

if TYPE_CHECKING:
    from evenkeel.stores.redis.connection import RedisStore

_KEPT = 20_000


class RedisRewriteCache:
    """As `RewriteCache`, the newest texts."""

    def __init__(self, store: RedisStore, *, kept: int = _KEPT) -> None:
        self._texts = BoundedMap(store, "rewrites", kept=kept)

    def get(self, key: str) -> str | None:
        """As `RewriteCache.get`."""
        packed = self._texts.get(key)
        return zlib.decompress(packed).decode("utf-8", "surrogatepass") if packed is not None else None

    def put(self, key: str, text: str) -> None:
        """As `RewriteCache.put`."""
        self._texts.put(key, zlib.compress(text.encode("utf-8", "surrogatepass")))
