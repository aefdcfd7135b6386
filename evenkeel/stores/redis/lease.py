"""Lease on Redis: one of several processes does a job, and another takes over once it is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.stores.redis.connection import Script

if TYPE_CHECKING:
    from evenkeel.stores.redis.connection import RedisStore


class RedisLease:
    """Lease held by one process at a time, by the server's clock. A silent holder loses it.

    It can change hands while its holder is still at work, so what it guards must bear being done twice.
    """

    def __init__(self, store: RedisStore, name: str, holder: str, *, length_s: float = 10.0) -> None:
        """Open it; nothing is sent yet. It lasts for `length_s` unless it is renewed."""
        self._key = store.key("main", f"lease:{name}")
        self._holder = holder
        self._length_ms = round(length_s * 1000)
        self._hold = Script(store, "lease_hold")
        self._leave = Script(store, "lease_leave")

    def hold(self) -> bool:
        """Take or renew the lease. Return False while another process holds it."""
        return bool(self._hold((self._key,), self._holder, self._length_ms))

    def leave(self) -> None:
        """Give the lease back at once, if it is held."""
        self._leave((self._key,), self._holder)
