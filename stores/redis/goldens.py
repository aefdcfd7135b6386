"""Goldens in the distributed store."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.stores.goldens import (
    Deed,
    Entry,
    Imported,
    already_there,
    as_imported,
    check_approvable,
    pack_golden,
    says_the_same,
    unknown,
    unpack_golden,
)
from evenkeel.stores.redis.connection import Script, Value, as_key, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from evenkeel.stores.goldens import Golden
    from evenkeel.stores.redis.connection import RedisStore

    Result = TypeVar("Result")

_COMMIT: Final = """
-- KEYS 1 revision, 2 bodies, 3 index, 4 turns, 5 last versions
-- ARGV 1 revision the caller saw, 2 prefix of trails, 3 number of goldens; then of each: name of the version,
--      body, id, version, route and task as JSON, retired; and then: id, entry of the trail, ...
if (redis.call('GET', KEYS[1]) or '0') ~= ARGV[1] then return 0 end
redis.call('INCR', KEYS[1])
local at = 4
for _ = 1, tonumber(ARGV[3]) do
  local name, id, version = ARGV[at], ARGV[at + 2], ARGV[at + 3]
  redis.call('HSET', KEYS[2], name, ARGV[at + 1])
  local known = redis.call('HGET', KEYS[3], name)
  local turn = known and string.match(known, '^(%d+)') or redis.call('INCR', KEYS[4])
  redis.call('HSET', KEYS[3], name, turn .. ' ' .. ARGV[at + 5] .. ' ' .. ARGV[at + 4])
  local last = redis.call('HGET', KEYS[5], id)
  if not last or tonumber(last) < tonumber(version) then redis.call('HSET', KEYS[5], id, version) end
  at = at + 6
end
for i = at, #ARGV, 2 do redis.call('RPUSH', ARGV[2] .. ARGV[i], ARGV[i + 1]) end
return 1
"""


class _Row(NamedTuple):
    """What is known of a version without its body."""

    turn: int
    name: str
    id: str
    version: int
    route: str
    task: str | None
    retired: bool


class _Changes:
    """What one transaction writes."""

    def __init__(self) -> None:
        self.goldens: dict[tuple[str, int], Golden] = {}
        self.entries: list[Entry] = []

    def put(self, golden: Golden, deed: Deed, by: str, at: float) -> Golden:
        self.goldens[golden.id, golden.version] = golden
        self.entries.append(
            Entry(golden.id, golden.version, deed, by, at, golden.model, golden.prompt_version)
        )
        return golden


class RedisGoldens:
    """`GoldenStore` on Redis. A change that meets another one is worked out again from what is there then."""

    def __init__(self, store: RedisStore) -> None:
        self._store = store
        names = ("revision", "bodies", "index", "turns", "versions")
        self._keys = tuple(store.key("goldens", name) for name in names)
        self._revision, self._bodies, self._index, _, self._versions = self._keys
        self._trail = store.key("goldens", "trail:")
        self._commit = Script(store, _COMMIT)

    def approve(self, golden: Golden, *, by: str, at: float) -> Golden:
        """As `GoldenStore`."""
        check_approvable(golden, by)

        def work(changes: _Changes) -> Golden:
            newest = self.find(golden.id)
            if newest is not None and says_the_same(newest, golden):
                return _in_use_again(changes, newest, by, at)
            approved = replace(
                golden,
                version=newest.version + 1 if newest else 1,
                approved_by=by,
                approved_at=at,
                retired_by=None,
                retired_at=None,
            )
            return changes.put(approved, Deed.APPROVED, by, at)

        return self._transact(work)

    def retire(self, golden_id: str, *, by: str, at: float) -> Golden:
        """As `GoldenStore`."""

        def work(changes: _Changes) -> Golden:
            newest = self._approvable(golden_id, by)
            if newest.retired_at is not None:
                return newest
            return changes.put(replace(newest, retired_by=by, retired_at=at), Deed.RETIRED, by, at)

        return self._transact(work)

    def unretire(self, golden_id: str, *, by: str, at: float) -> Golden:
        """As `GoldenStore`."""
        return self._transact(lambda changes: _in_use_again(changes, self._approvable(golden_id, by), by, at))

    def add(self, goldens: Sequence[Golden], *, by: str, at: float) -> Imported:
        """As `GoldenStore`."""

        def work(changes: _Changes) -> Imported:
            known = 0
            for given in goldens:
                golden = as_imported(given, by=by, at=at)
                there = changes.goldens.get((golden.id, golden.version)) or self.find(
                    golden.id, golden.version
                )
                if there is None:
                    changes.put(golden, Deed.IMPORTED, by, at)
                elif says_the_same(there, golden):
                    known += 1
                else:
                    versions = [version for name, version in changes.goldens if name == golden.id]
                    stored = self.find(golden.id)
                    highest = max([*versions, stored.version if stored else 0])
                    raise already_there(golden, highest)
            return Imported(len(changes.goldens), known)

        return self._transact(work)

    def select(
        self,
        *,
        route: str | None = None,
        task: str | None = None,
        active: bool = True,
        limit: int | None = None,
    ) -> tuple[Golden, ...]:
        """As `GoldenStore`."""
        newest: dict[str, _Row] = {}
        for row in self._rows():
            if row.id not in newest or row.version > newest[row.id].version:
                newest[row.id] = row
        chosen = [
            row
            for row in newest.values()
            if (route is None or row.route == as_key(route))
            and (task is None or row.task == as_key(task))
            and not (active and row.retired)
        ]
        chosen.sort(key=lambda row: -row.turn)
        return self._read([row.name for row in chosen[:limit]])

    def find(self, golden_id: str, version: int | None = None) -> Golden | None:
        """As `GoldenStore`."""
        if version is None:
            newest = self._store.client.hget(self._versions, as_key(golden_id))
            if newest is None:
                return None
            version = int(newest)
        body = self._store.client.hget(self._bodies, _name(golden_id, version))
        return unpack_golden(body, self._store.seal) if body is not None else None

    def history(self, golden_id: str) -> tuple[Golden, ...]:
        """As `GoldenStore`."""
        rows = sorted(
            (row for row in self._rows() if row.id == as_key(golden_id)), key=lambda row: row.version
        )
        return self._read([row.name for row in rows])

    def trail(self, golden_id: str) -> tuple[Entry, ...]:
        """As `GoldenStore`."""
        entries = map(json.loads, self._store.client.lrange(f"{self._trail}{as_key(golden_id)}", 0, -1))
        return tuple(Entry(**{**entry, "deed": Deed(entry["deed"])}) for entry in entries)

    def labels(self) -> tuple[tuple[str, str | None], ...]:
        """As `GoldenStore`."""
        found = {(row.route, row.task) for row in self._rows()}
        return tuple(sorted(found, key=lambda label: (label[0], label[1] or "")))

    def known_ids(self, ids: Iterable[str]) -> frozenset[str]:
        """As `GoldenStore`."""
        wanted = [as_key(one) for one in ids]
        if not wanted:
            return frozenset()
        versions = self._store.client.hmget(self._versions, wanted)
        return frozenset(one for one, version in zip(wanted, versions, strict=True) if version is not None)

    def _approvable(self, golden_id: str, by: str) -> Golden:
        newest = self.find(golden_id)
        if newest is None:
            raise unknown(golden_id)
        check_approvable(newest, by)
        return newest

    def _rows(self) -> list[_Row]:
        rows = []
        for name, row in self._store.client.hgetall(self._index).items():
            turn, retired, labels = text(row).split(" ", 2)
            golden_id, version = json.loads(name)
            route, task = json.loads(labels)
            rows.append(_Row(int(turn), text(name), golden_id, version, route, task, retired == "1"))
        return rows

    def _read(self, names: Sequence[str]) -> tuple[Golden, ...]:
        bodies = self._store.client.hmget(self._bodies, names) if names else []
        return tuple(unpack_golden(body, self._store.seal) for body in bodies if body is not None)

    def _transact(self, work: Callable[[_Changes], Result]) -> Result:
        while True:
            seen = text(self._store.client.get(self._revision) or b"0")
            changes = _Changes()
            result = work(changes)
            if not changes.goldens:
                return result
            rows: list[Value] = []
            for golden in changes.goldens.values():
                labels = json.dumps(
                    [as_key(golden.route), None if golden.task is None else as_key(golden.task)]
                )
                rows += (
                    _name(golden.id, golden.version),
                    pack_golden(golden, self._store.seal),
                    golden.id,
                    golden.version,
                )
                rows += (labels, int(golden.retired_at is not None))
            for entry in changes.entries:
                rows += (entry.golden_id, json.dumps(asdict(entry)))
            if self._commit(self._keys, seen, self._trail, len(changes.goldens), *rows):
                return result


def _name(golden_id: str, version: int) -> str:
    return json.dumps([as_key(golden_id), version])


def _in_use_again(changes: _Changes, newest: Golden, by: str, at: float) -> Golden:
    if newest.retired_at is None:
        return newest
    return changes.put(replace(newest, retired_by=None, retired_at=None), Deed.UNRETIRED, by, at)
