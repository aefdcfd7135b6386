"""Small documents on Redis.

A collection has hashes of its bodies and fields, and the order in which bodies were put. A
change reads, then commits all its commands in one step. If the revision of its group has moved meanwhile, it
starts over.
"""

from __future__ import annotations

import json
import random
import secrets
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from evenkeel.stores.documents import EVERYTHING, Documents
from evenkeel.stores.payloads import storable
from evenkeel.stores.redis.connection import Script, Value, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.stores.documents import Change, Collection, Field, Item, Result
    from evenkeel.stores.redis.connection import RedisStore

Command: TypeAlias = "list[Value]"
# Seconds for which a commit is recognised if it is sent again.
_REMEMBERED_S: Final = 300
# Pause in seconds after somebody else has written.
_LONGEST_PAUSE_S: Final = 0.01


class RedisDocuments(Documents):
    """`Documents` on Redis."""

    remote = True

    def __init__(self, store: RedisStore) -> None:
        self._store = store
        self.seal = store.seal
        self._commit = Script(store, "documents_commit")

    def open(self, *collections: Collection[Any]) -> None:
        """Do nothing: a collection needs no preparation."""

    def change(self, collection: Collection[Any], work: Callable[[Change], Result]) -> Result:
        """Read and write in one transaction."""
        # Redis cannot hold a transaction open while Python decides: what was decided counts only if nobody
        # else wrote meanwhile, else it is decided again.
        while True:
            writing = _RedisWriting(self, self.revision(collection))
            result = work(writing)
            # The script takes one flat list, in which each command has its length before it.
            words: list[Value] = []
            for command in writing.commands:
                words += [len(command), *command]
            if not words:
                return result
            # A commit has a name, so that one that is sent again, since its answer was lost, is done once.
            keys = self._store.keys(_tag(collection), "revision", f"commit:{secrets.token_hex(8)}")
            if self._commit(keys, writing.seen, max(1, writing.count), _REMEMBERED_S, *words):
                return result
            # Others write at this moment: they come back one after the other.
            time.sleep(random.uniform(0, _LONGEST_PAUSE_S))

    def find(self, collection: Collection[Item], *key: str) -> Item | None:
        """Return one document."""
        body = self._store.client.hget(self.place(collection, "bodies"), _name(key))
        return None if body is None else collection.body.unpack(body, self.seal, tuple(map(storable, key)))

    def history(self, collection: Collection[Item], *key: str) -> list[Item]:
        """Return documents in their order."""
        return self._items(collection, self.names(collection, key))

    def select(
        self,
        collection: Collection[Item],
        where: Mapping[str, Field] = EVERYTHING,
        limit: int | None = None,
    ) -> list[Item]:
        """Return documents, the last stored first."""
        if limit == 0:
            return []
        if where:
            names = self._chosen(collection, where)[::-1][:limit]
        else:
            last = -1 if limit is None else limit - 1
            order = self.place(collection, "order")
            names = []
            for name in self._store.client.zrevrange(order, 0, last):
                names.append(text(name))
        return self._items(collection, names)

    def values(self, collection: Collection[Any], *fields: str) -> set[tuple[Field, ...]]:
        """Return combinations of fields."""
        combinations: set[tuple[Field, ...]] = set()
        for row in self.rows(collection).values():
            combinations.add(tuple(row[name] for name in fields))
        return combinations

    def revision(self, collection: Collection[Any]) -> int:
        """Return how many documents of the group were ever put."""
        return int(self._store.client.get(self._store.key(_tag(collection), "revision")) or 0)

    def names(self, collection: Collection[Any], key: Sequence[str] = (), until: int = -1) -> list[str]:
        """Return the names of some documents, oldest first.

        Args:
            collection: Collection.
            key: Beginning of the names.
            until: Last place that is looked at; -1 is that of the newest.
        """
        every = []
        for name in self._store.client.zrange(self.place(collection, "order"), 0, until):
            every.append(text(name))
        start = [storable(part) for part in key]
        return [name for name in every if json.loads(name)[: len(start)] == start] if start else every

    def rows(self, collection: Collection[Any]) -> dict[str, dict[str, Field]]:
        """Return the fields of all documents, by name."""
        rows: dict[str, dict[str, Field]] = {}
        for name, row in self._store.client.hgetall(self.place(collection, "fields")).items():
            rows[text(name)] = dict(zip(collection.fields, json.loads(row), strict=True))
        return rows

    def place(self, collection: Collection[Any], part: str) -> str:
        """Return the key of a part of a collection."""
        return self._store.key(_tag(collection), f"{collection.name}:{part}")

    def _chosen(self, collection: Collection[Any], where: Mapping[str, Field]) -> list[str]:
        """Return the names of the documents with these values of fields, in order."""
        names, rows = self.names(collection), self.rows(collection)
        for field, value in where.items():
            if value is not None:
                wanted = _plain(value)
                names = [name for name in names if rows[name][field] == wanted]
        return names

    def _items(self, collection: Collection[Item], names: Sequence[str]) -> list[Item]:
        bodies = self._store.client.hmget(self.place(collection, "bodies"), names) if names else []
        items: list[Item] = []
        for name, body in zip(names, bodies, strict=True):
            # A document may have been dropped since its name was read.
            if body is not None:
                items.append(collection.body.unpack(body, self.seal, tuple(json.loads(name))))
        return items


class _RedisWriting:
    def __init__(self, documents: RedisDocuments, seen: int) -> None:
        self._documents = documents
        self.seen = seen
        """Revision from which the change goes out."""
        self.count = 0
        """Documents put; their turns follow the revision."""
        self.commands: list[Command] = []

    def put(self, collection: Collection[Item], item: Item) -> None:
        documents = self._documents
        bodies = documents.place(collection, "bodies")
        order = documents.place(collection, "order")
        name = _name(collection.key_of(item))
        self.count += 1
        self.commands += [
            ["HSET", bodies, name, collection.body.pack(item, documents.seal)],
            ["ZADD", order, self.seen + self.count, name],
        ]
        values = {}
        for field, value in collection.values_of(item).items():
            values[field] = _plain(value)
        if values:
            row = json.dumps(list(values.values()))
            self.commands.append(["HSET", documents.place(collection, "fields"), name, row])
        if collection.kept is not None:
            self._remove(collection, self._beyond(collection, collection.kept, name, values))

    def _beyond(
        self, collection: Collection[Any], kept: int, name: str, values: Mapping[str, Field]
    ) -> list[str]:
        """Return the oldest names, which go when this one is put."""
        documents = self._documents
        if not collection.kept_of:
            # One that is put again does not count twice; until the next one comes, one too few stays.
            return [other for other in documents.names(collection, until=-kept) if other != name]
        others = []
        rows, same = documents.rows(collection), values[collection.kept_of]
        for other in documents.names(collection):
            if other != name and rows[other][collection.kept_of] == same:
                others.append(other)
        return others[: max(0, len(others) + 1 - kept)]

    def add(self, collection: Collection[Item], item: Item) -> bool:
        # The commit fails if another process has added it since this look.
        if self._documents.find(collection, *collection.key_of(item)) is not None:
            return False
        self.put(collection, item)
        return True

    def drop(self, collection: Collection[Any], *key: str) -> None:
        # Of one document the name is known, so the others need not be read.
        whole = len(key) == len(collection.key)
        self._remove(collection, [_name(key)] if whole else self._documents.names(collection, key))

    def _remove(self, collection: Collection[Any], names: Sequence[str]) -> None:
        keys = []
        for part in ("bodies", "fields"):
            keys.append(self._documents.place(collection, part))
        order = self._documents.place(collection, "order")
        for name in names:
            self.commands += [["HDEL", key, name] for key in keys]
            self.commands.append(["ZREM", order, name])


def _tag(collection: Collection[Any]) -> str:
    return collection.group or collection.name


def _name(key: Sequence[str]) -> str:
    # As JSON, since a part of a key may hold any separator.
    return json.dumps([storable(part) for part in key])


def _plain(value: Field) -> Field:
    return storable(value) if isinstance(value, str) else value
