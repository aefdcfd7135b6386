"""Labels in the distributed store."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel.stores.labels import pack_label, pack_texts, says_the_same, unpack_label, unpack_texts
from evenkeel.stores.labels import unknown_label as unknown
from evenkeel.stores.redis.connection import Script, as_key

if TYPE_CHECKING:
    from collections.abc import Collection

    from evenkeel.core.verdict import Evidence
    from evenkeel.stores.labels import Label
    from evenkeel.stores.redis.connection import RedisStore

_PUT: Final = """
-- KEYS 1 revision, 2 newest labels, 3 texts, 4 versions of this verdict
-- ARGV 1 field of the person and verdict, 2 the label the caller saw or '', 3 the new one, 4 verdict id,
--      5 texts or ''
local known = redis.call('HGET', KEYS[2], ARGV[1])
if known == ARGV[3] then return 1 end
if (known or '') ~= ARGV[2] then return 0 end
redis.call('INCR', KEYS[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
redis.call('RPUSH', KEYS[4], ARGV[3])
if ARGV[5] ~= '' then redis.call('HSETNX', KEYS[3], ARGV[4], ARGV[5]) end
return 1
"""


class RedisLabels:
    """`LabelStore` on Redis. A change that meets another one is worked out again from what is there then."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store
        self._revision, self._newest, self._texts = (
            store.key("labels", name) for name in ("revision", "newest", "texts")
        )
        self._put = Script(store, _PUT)

    def put(self, label: Label, texts: Evidence | None) -> Label:
        """As `LabelStore`."""
        packed = b"" if texts is None else pack_texts(texts, label.verdict_id, self._store.seal)
        while True:
            seen, newest = self._seen(label.verdict_id, label.by)
            given = replace(label, version=newest.version + 1 if newest else 1, withdrawn_at=None)
            if newest is not None and says_the_same(newest, given):
                return newest
            if self._stored(given, seen, packed):
                return given

    def withdraw(self, verdict_id: str, by: str, *, at: float) -> Label:
        """As `LabelStore`."""
        while True:
            seen, newest = self._seen(verdict_id, by)
            if newest is None:
                raise unknown(verdict_id, by)
            if newest.withdrawn_at is not None:
                return newest
            withdrawn = replace(newest, version=newest.version + 1, withdrawn_at=at)
            if self._stored(withdrawn, seen, b""):
                return withdrawn

    def of_verdict(self, verdict_id: str) -> tuple[Label, ...]:
        """As `LabelStore`."""
        newest = {label.by: label for label in self.history(verdict_id)}
        return tuple(newest.values())

    def history(self, verdict_id: str) -> tuple[Label, ...]:
        """As `LabelStore`."""
        return tuple(map(self._label, self._store.client.lrange(self._versions(verdict_id), 0, -1)))

    def select(self, *, route: str | None = None, limit: int | None = None) -> tuple[Label, ...]:
        """As `LabelStore`."""
        found = [
            label
            for label in map(self._label, self._store.client.hvals(self._newest))
            if label.withdrawn_at is None and (route is None or label.route == route)
        ]
        # What several people say at one instant has no order of its own; their names give it one.
        found.sort(key=lambda label: (-label.at, label.verdict_id, label.by))
        return tuple(found[:limit])

    def texts(self, verdict_id: str) -> Evidence | None:
        """As `LabelStore`."""
        packed = self._store.client.hget(self._texts, as_key(verdict_id))
        return unpack_texts(packed, verdict_id, self._store.seal) if packed else None

    def labelled(self, verdict_ids: Collection[str]) -> frozenset[str]:
        """As `LabelStore`."""
        wanted = frozenset(verdict_ids)
        return frozenset(label.verdict_id for label in self.select() if label.verdict_id in wanted)

    def revision(self) -> int:
        """As `LabelStore`."""
        return int(self._store.client.get(self._revision) or 0)

    def _seen(self, verdict_id: str, by: str) -> tuple[bytes, Label | None]:
        known = self._store.client.hget(self._newest, _field(verdict_id, by))
        return (b"", None) if known is None else (known, self._label(known))

    def _stored(self, label: Label, seen: bytes, texts: bytes) -> bool:
        keys = (self._revision, self._newest, self._texts, self._versions(label.verdict_id))
        field, body = _field(label.verdict_id, label.by), pack_label(label, self._store.seal)
        return bool(self._put(keys, field, seen, body, as_key(label.verdict_id), texts))

    def _label(self, packed: bytes) -> Label:
        return unpack_label(packed.decode(), self._store.seal)

    def _versions(self, verdict_id: str) -> str:
        return self._store.key("labels", f"of:{as_key(verdict_id)}")


def _field(verdict_id: str, by: str) -> str:
    return json.dumps([as_key(verdict_id), as_key(by)])
