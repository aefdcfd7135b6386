"""Rulings kept in the distributed store, for all workers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenkeel.metrics.judge.reply import Ruling
from evenkeel.stores.redis.bounded import BoundedMap

if TYPE_CHECKING:
    from evenkeel.stores.redis.connection import RedisStore

_KEPT = 20_000


class RedisJudgeCache:
    """The newest rulings, by the time they were put. Explanations may quote what was judged."""

    def __init__(self, store: RedisStore, *, kept: int = _KEPT) -> None:
        self._rulings = BoundedMap(store, "rulings", kept=kept)

    def __len__(self) -> int:
        return len(self._rulings)

    def get(self, key: str) -> Ruling | None:
        """The ruling, None if there is none (any more)."""
        body = self._rulings.get(key)
        return Ruling(*json.loads(body)) if body is not None else None

    def put(self, key: str, ruling: Ruling) -> None:
        """Remember a ruling and forget the oldest beyond the number kept."""
        self._rulings.put(key, json.dumps([ruling.rating, ruling.explanation]).encode())
