"""Cache of model answers, so that the same question is paid for once."""

from __future__ import annotations

from typing import Protocol


class Cache(Protocol):
    """Cache of bytes by key that keeps the newest entries. Safe to use from threads; may block and raise."""

    def get(self, key: str) -> bytes | None:
        """Return the body under a key; None if there is none (any more)."""
        ...

    def put(self, key: str, body: bytes) -> None:
        """Keep a body; the last one under a key counts, and the oldest key goes when there are too many."""
        ...
