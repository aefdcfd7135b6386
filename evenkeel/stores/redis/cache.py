"""Cache in the distributed store, shared by all workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from evenkeel.stores.redis.connection import Script

if TYPE_CHECKING:
    from evenkeel.stores.redis.connection import RedisStore


class RedisCache:
    """Cache that is safe to use from threads and processes."""

    def __init__(self, store: RedisStore, tag: str, *, kept: int = 20_000) -> None:
        """Open the cache; nothing is sent. It keeps the newest bodies by the time they were put."""
        self._store = store
        self._tag = tag
        self._kept = kept
        self._keys = tuple(store.keys(tag, "bodies", "order", "turns"))
        self._put = Script(store, "cache_put")

    def __len__(self) -> int:
        return int(self._store.client.hlen(self._keys[0]))

    def get(self, key: str) -> bytes | None:
        """Return the body of a key; None if there is none. Raises: SealError if it cannot be opened."""
        body = cast("bytes | None", self._store.client.hget(self._keys[0], key))
        return None if body is None else self._store.seal.open(body, f"{self._tag}/{key}")

    def put(self, key: str, body: bytes) -> None:
        """Keep a body as the newest, and drop the oldest beyond the number kept."""
        self._put(self._keys, key, self._store.seal.close(body, f"{self._tag}/{key}"), self._kept)
