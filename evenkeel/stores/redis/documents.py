"""Small documents on Redis."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from evenkeel.stores.payloads import storable
from evenkeel.stores.redis.connection import Script, Value, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from evenkeel.stores.documents import Change, Collection, Field, Item, Result
    from evenkeel.stores.redis.connection import RedisStore

Command: TypeAlias = "list[Value]"

_EVERYTHING: Final[Mapping[str, Field]] = MappingProxyType({})


# A command whose answer was lost is sent again: the same as the newest is that one.


class _Row(NamedTuple):
    """What an `indexed` collection knows of a version without its body."""

    turn: int
    """Grows in the order in which versions were stored."""
    name: str
    id: str
    version: int
    fields: dict[str, Field]


class _Writing:
    """`Change` as the commands that it comes to."""

    def __init__(self, documents: RedisDocuments, seen: int) -> None:
        self._documents = documents
        self.seen = seen
        """Revision from which the change goes out."""
        self.commands: list[Command] = []
        self.turns: dict[str, int] = {}
        """Turns that it gives to new versions, by their names."""
        self.newest: dict[str, int] = {}
        """Newest versions that it stores, by id."""

    def put(self, collection: Collection[Item], item: Item) -> None:
        """As `Change`."""
        self.commands += self._documents.stored(collection, item, self)

    def add(self, collection: Collection[Item], item: Item) -> None:
        """As `Change`."""
        self.commands.append(self._documents.added(collection, item))

    def drop(self, collection: Collection[Any], *key: str) -> None:
        """As `Change`."""
        self.commands += self._documents.dropped(collection, key)


class RedisDocuments:
    """`Documents` on Redis. A change that meets another one is worked out again from what is there then."""

    remote = True

    def __init__(self, store: RedisStore) -> None:
        self._store = store
        self.seal = store.seal
        self._commit = Script(store, "documents_commit")
        self._push = Script(store, "documents_push")

    def open(self, *collections: Collection[Any]) -> None:
        """As `Documents`: nothing has to be made."""

    def change(self, collection: Collection[Any], work: Callable[[Change], Result]) -> Result:
        """As `Documents`."""
        while True:
            writing = _Writing(self, self.revision(collection))
            result = work(writing)
            words = [word for command in writing.commands for word in (len(command), *command)]
            revision = self._named(collection, collection.revision)
            if not words or self._commit((revision,), writing.seen, *words):
                return result

    def put(self, collection: Collection[Item], item: Item) -> None:
        """As `Documents`."""
        if collection.layout == "list" and collection.kept is not None:
            self._push((self._key(collection),), collection.pack(item, self.seal), collection.kept)
        elif collection.revision:
            self.change(collection, lambda change: change.put(collection, item))
        else:
            for command in self.stored(collection, item, _Writing(self, 0)):
                self._store.client.execute_command(*command)

    def add(self, collection: Collection[Item], item: Item) -> bool:
        """As `Documents`."""
        return bool(self._store.client.execute_command(*self.added(collection, item)))

    def drop(self, collection: Collection[Any], *key: str) -> None:
        """As `Documents`."""
        if collection.layout == "hash":
            self._store.client.hdel(self._key(collection), _field(key))
        elif collection.layout == "indexed":
            self.change(collection, lambda change: change.drop(collection, *key))
        else:
            self._store.client.delete(self._key(collection, key))

    def find(self, collection: Collection[Item], *key: str, version: int | None = None) -> Item | None:
        """As `Documents`."""
        client = self._store.client
        body: bytes | None
        if collection.layout == "keys":
            body = client.get(self._key(collection, key))
        elif collection.layout == "indexed":
            if version is None:
                version = client.hget(self._named(collection, "versions"), _field(key))
            bodies = self._named(collection, "bodies")
            body = None if version is None else client.hget(bodies, _field(key, int(version)))
        else:
            bodies = self._named(collection, "newest") if collection.versioned else self._key(collection)
            body = client.hget(bodies, _field(key))
        return None if body is None else collection.unpack(body, self.seal, key)

    def history(self, collection: Collection[Item], *key: str) -> list[Item]:
        """As `Documents`."""
        client = self._store.client
        bodies: Sequence[bytes | None]
        match collection.layout:
            case "hash":
                found = sorted(client.hgetall(self._key(collection)).items())
                return [collection.unpack(body, self.seal, (text(name),)) for name, body in found]
            case "list":
                bodies = client.lrange(self._key(collection, key), 0, -1)
            case "newest":
                bodies = client.lrange(self._named(collection, "of:", key[0]), 0, -1)
            case "indexed":
                rows = [row for row in self._rows(collection) if row.id == storable(key[0])]
                bodies = self._bodies(collection, [row.name for row in rows])
            case _:
                names = client.zrange(self._key(collection) + "-order", 0, -1)
                bodies = client.hmget(self._key(collection), names) if names else []
        return [collection.unpack(body, self.seal, ()) for body in bodies if body is not None]

    def select(
        self,
        collection: Collection[Item],
        where: Mapping[str, Field] = _EVERYTHING,
        limit: int | None = None,
    ) -> list[Item]:
        """As `Documents`."""
        client = self._store.client
        if collection.layout == "newest":
            found = self._newest(collection, where)
            found.sort(key=collection.recency)
            return found[:limit]
        if collection.layout == "indexed":
            rows = self._newest_rows(collection, where)[::-1][:limit]
            bodies = self._bodies(collection, [row.name for row in rows])
        else:  # Up to -1 would be all of them.
            last = -1 if limit is None else limit - 1
            bodies = client.lrange(self._key(collection), 0, last) if limit is None or limit > 0 else []
        return [collection.unpack(body, self.seal, ()) for body in bodies if body is not None]

    def known(
        self, collection: Collection[Any], names: Iterable[str], where: Mapping[str, Field] = _EVERYTHING
    ) -> frozenset[str]:
        """As `Documents`."""
        wanted = {storable(name): name for name in names}
        if collection.layout == "indexed" and not where:
            stored = list(wanted)
            versions = self._store.client.hmget(self._named(collection, "versions"), stored) if stored else []
            found = {name for name, version in zip(stored, versions, strict=True) if version is not None}
        elif collection.layout == "indexed":
            found = {row.id for row in self._newest_rows(collection, where)}
        else:
            found = {storable(collection.key_of(item)[0]) for item in self._newest(collection, where)}
        return frozenset(name for one, name in wanted.items() if one in found)

    def values(self, collection: Collection[Any], *fields: str) -> set[tuple[Field, ...]]:
        """As `Documents`."""
        return {tuple(row.fields[name] for name in fields) for row in self._rows(collection)}

    def revision(self, collection: Collection[Any]) -> int:
        """As `Documents`."""
        return int(self._store.client.get(self._named(collection, collection.revision)) or 0)

    def added(self, collection: Collection[Item], item: Item) -> Command:
        """The command that stores a document unless one of its name is there."""
        key, body = collection.key_of(item), collection.pack(item, self.seal)
        if collection.layout == "hash":
            return ["HSETNX", self._key(collection), _field(key), body]
        expiry: Command = [] if collection.expires_s is None else ["EX", collection.expires_s]
        return ["SET", self._key(collection, key), body, "NX", *expiry]

    def dropped(self, collection: Collection[Any], key: Sequence[str]) -> list[Command]:
        """Commands that remove all versions of a document of an `indexed` collection."""
        bodies, index, versions = (self._named(collection, name) for name in ("bodies", "index", "versions"))
        names = [row.name for row in self._rows(collection) if row.id == storable(key[0])]
        commands: list[Command] = [["HDEL", place, name] for name in names for place in (bodies, index)]
        return [*commands, ["HDEL", versions, _field(key)]] if names else []

    def stored(self, collection: Collection[Item], item: Item, writing: _Writing) -> list[Command]:
        """Commands that store a document."""
        key, body = collection.key_of(item), collection.pack(item, self.seal)
        match collection.layout:
            case "hash":
                return [["HSET", self._key(collection), _field(key), body]]
            case "keys":
                return [["SET", self._key(collection, key), body]]
            case "list":
                return [["RPUSH", self._key(collection, key), body]]
            case "newest":
                newest, versions = self._named(collection, "newest"), self._named(collection, "of:", key[0])
                return [["HSET", newest, _field(key), body], ["RPUSH", versions, body]]
            case "indexed":
                return self._indexed(collection, item, writing)
            case _:
                return self._ordered(collection, item, writing)

    def _indexed(self, collection: Collection[Any], item: Any, writing: _Writing) -> list[Command]:
        """Bodies and fields of all versions, and the newest version of each id."""
        client = self._store.client
        key, version = collection.key_of(item), collection.version_of(item)
        bodies, index, turns, versions = (
            self._named(collection, name) for name in ("bodies", "index", "turns", "versions")
        )
        name, named = _field(key, version), _field(key)
        commands: list[Command] = [["HSET", bodies, name, collection.pack(item, self.seal)]]
        known = client.hget(index, name)
        if known is not None:
            turn = int(text(known).partition(" ")[0])
        elif name in writing.turns:
            turn = writing.turns[name]
        else:
            turn = writing.turns[name] = int(client.get(turns) or 0) + len(writing.turns) + 1
            commands.append(["SET", turns, turn])
        *labels, flag = map(_plain, collection.fields_of(item))
        commands.append(["HSET", index, name, f"{turn} {int(bool(flag))} {json.dumps(labels)}"])
        newest = writing.newest.get(named) or int(client.hget(versions, named) or 0)
        if version > newest:
            writing.newest[named] = version
            commands.append(["HSET", versions, named, version])
        return commands

    def _ordered(self, collection: Collection[Any], item: Any, writing: _Writing) -> list[Command]:
        """Bodies, and their order within a field and in all. The turn is the revision."""
        bodies, name = self._key(collection), _field(collection.key_of(item))
        of = dict(zip(collection.fields, collection.fields_of(item), strict=True))[collection.kept_of]
        orders = (f"{bodies}-order", f"{bodies}-of:{_plain(of)}")
        turn = writing.seen + 1
        commands: list[Command] = [["HSET", bodies, name, collection.pack(item, self.seal)]]
        commands += [["ZADD", order, turn, name] for order in orders]
        others = [one for one in self._store.client.zrange(orders[1], 0, -1) if text(one) != name]
        excess = len(others) + 1 - (collection.kept or len(others) + 1)
        for old in others[: max(0, excess)]:
            commands += [["HDEL", bodies, old], *(["ZREM", order, old] for order in orders)]
        return commands

    def _newest(self, collection: Collection[Item], where: Mapping[str, Field]) -> list[Item]:
        """Documents of a `newest` collection, in no order."""
        bodies = self._store.client.hvals(self._named(collection, "newest"))
        found = [collection.unpack(body, self.seal, ()) for body in bodies]
        return [
            item
            for item in found
            if _matches(dict(zip(collection.fields, collection.fields_of(item), strict=True)), where)
        ]

    def _newest_rows(self, collection: Collection[Any], where: Mapping[str, Field]) -> list[_Row]:
        """Those of the newest versions of an `indexed` collection, by turn."""
        newest: dict[str, _Row] = {}
        for row in self._rows(collection):
            if row.id not in newest or row.version > newest[row.id].version:
                newest[row.id] = row
        return sorted(
            (row for row in newest.values() if _matches(row.fields, where)), key=lambda row: row.turn
        )

    def _rows(self, collection: Collection[Any]) -> list[_Row]:
        """All versions of an `indexed` collection, by turn."""
        rows = []
        for name, row in self._store.client.hgetall(self._named(collection, "index")).items():
            turn, flag, labels = text(row).split(" ", 2)
            key, version = json.loads(name)
            values = [*json.loads(labels), int(flag)]
            fields = dict(zip(collection.fields, values, strict=True))
            rows.append(_Row(int(turn), text(name), key, version, fields))
        return sorted(rows, key=lambda row: row.turn)

    def _bodies(self, collection: Collection[Any], names: Sequence[str]) -> Sequence[bytes | None]:
        found: Sequence[bytes | None] = (
            self._store.client.hmget(self._named(collection, "bodies"), names) if names else []
        )
        return found

    def _key(self, collection: Collection[Any], key: Sequence[str] = ()) -> str:
        """The key of a collection, or of one of its documents."""
        return self._store.key(collection.tag, collection.name.format(*map(storable, key)))

    def _named(self, collection: Collection[Any], name: str, key: str = "") -> str:
        return self._store.key(collection.tag, f"{name}{storable(key)}")


def _field(key: Sequence[str], *version: int) -> str:
    """Names a document in a hash."""
    parts = [*map(storable, key), *version]
    return str(parts[0]) if len(parts) == 1 else json.dumps(parts)


def _matches(fields: Mapping[str, Field], where: Mapping[str, Field]) -> bool:
    return all(value is None or _plain(fields[name]) == _plain(value) for name, value in where.items())


def _plain(value: Field) -> Field:
    return storable(value) if isinstance(value, str) else value
