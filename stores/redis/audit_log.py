"""Actions in the distributed store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.stores.audit_log import KEPT, Action
from evenkeel.stores.redis.connection import Script

if TYPE_CHECKING:
    from evenkeel.stores.redis.connection import RedisStore

_RECORD: Final = """
-- KEYS 1 actions, newest first; ARGV 1 body, 2 how many are kept
if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then redis.call('LPUSH', KEYS[1], ARGV[1]) end
redis.call('LTRIM', KEYS[1], 0, ARGV[2] - 1)
"""
# A command whose answer was lost is sent again: the same as the newest is that one.


class RedisActions:
    """`ActionLog` on Redis."""

    def __init__(self, store: RedisStore, *, kept: int = KEPT) -> None:
        self._store = store
        self._key = store.key("actions", "log")
        self._kept = kept
        self._record = Script(store, _RECORD)

    def record(self, action: Action) -> None:
        """As `ActionLog`."""
        self._record((self._key,), action.to_json(), self._kept)

    def latest(self, limit: int) -> list[Action]:
        """As `ActionLog`."""
        # Up to -1 would be all of them.
        found = self._store.client.lrange(self._key, 0, limit - 1) if limit > 0 else []
        return [Action.from_json(body) for body in found]
