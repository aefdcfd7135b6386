"""Small documents in a SQLite file."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from evenkeel.stores.payloads import storable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from evenkeel.stores.documents import Change, Collection, Field, Item, Result
    from evenkeel.stores.sqlite.database import Database

_EVERYTHING: Final[Mapping[str, Field]] = MappingProxyType({})


class SqliteDocuments:
    """`Documents` in tables, one for each collection. Any number of processes may share the file."""

    remote = False

    def __init__(self, database: Database) -> None:
        self._database = database
        self.seal = database.seal

    def open(self, *collections: Collection[Any]) -> None:
        """As `Documents`: makes tables that are not there yet."""
        self._database.create(*(statement for one in collections for statement in one.schema))

    def change(self, collection: Collection[Any], work: Callable[[Change], Result]) -> Result:  # noqa: ARG002 - one file, one transaction
        """As `Documents`."""
        with self._database.write() as connection:
            return work(_Writing(self, connection))

    def put(self, collection: Collection[Item], item: Item) -> None:
        """As `Documents`."""
        with self._database.write() as connection:
            _Writing(self, connection).put(collection, item)

    def add(self, collection: Collection[Item], item: Item) -> bool:
        """As `Documents`."""
        with self._database.write() as connection:
            return _Writing(self, connection).add(collection, item)

    def drop(self, collection: Collection[Any], *key: str) -> None:
        """As `Documents`."""
        with self._database.write() as connection:
            _Writing(self, connection).drop(collection, *key)

    def find(self, collection: Collection[Item], *key: str, version: int | None = None) -> Item | None:
        """As `Documents`."""
        named, values = _named(collection, key)
        if version is not None:
            named, values = f"{named} AND version = ?", [*values, version]
        newest = "ORDER BY version DESC LIMIT 1" if collection.versioned else "LIMIT 1"
        return next(self._read(collection, f"WHERE {named} {newest}", values, key), None)

    def history(self, collection: Collection[Item], *key: str) -> list[Item]:
        """As `Documents`."""
        named, values = _named(collection, key)
        return list(self._read(collection, f"WHERE {named} ORDER BY rowid", values))

    def select(
        self,
        collection: Collection[Item],
        where: Mapping[str, Field] = _EVERYTHING,
        limit: int | None = None,
    ) -> list[Item]:
        """As `Documents`."""
        chosen, values = _chosen(collection, where)
        rest = f"WHERE {chosen} ORDER BY rowid DESC LIMIT ?"
        return list(self._read(collection, rest, [*values, -1 if limit is None else limit]))

    def known(
        self, collection: Collection[Any], names: Iterable[str], where: Mapping[str, Field] = _EVERYTHING
    ) -> frozenset[str]:
        """As `Documents`."""
        wanted = {storable(name): name for name in names}
        chosen, values = _chosen(collection, where)
        name = collection.key[0]
        rows = self._database.rows(
            f"SELECT DISTINCT {name} FROM {collection.table}"  # noqa: S608 - ours
            f" WHERE {name} IN (SELECT value FROM json_each(?)) AND {chosen}",
            [json.dumps(list(wanted)), *values],
        )
        return frozenset(wanted[found] for (found,) in rows)

    def values(self, collection: Collection[Any], *fields: str) -> set[tuple[Field, ...]]:
        """As `Documents`."""
        rows = self._database.rows(
            f"SELECT DISTINCT {', '.join(fields)} FROM {collection.table}"  # noqa: S608 - ours
        )
        return set(rows)

    def revision(self, collection: Collection[Any]) -> int:
        """As `Documents`."""
        newest = f"SELECT coalesce(max(rowid), 0) FROM {collection.table}"  # noqa: S608 - ours
        (found,) = self._database.row(newest)
        return int(found)

    def _read(
        self, collection: Collection[Item], rest: str, values: list[Any], key: tuple[str, ...] | None = None
    ) -> Iterator[Item]:
        columns = ", ".join((*collection.key, *collection.columns))
        rows = self._database.rows(
            f"SELECT {columns} FROM {collection.table} {rest}",  # noqa: S608 - ours
            values,
        )
        parts = len(collection.key)
        for row in rows:
            body = row[parts] if len(row) == parts + 1 else json.dumps(row[parts:])
            yield collection.unpack(body, self.seal, row[:parts] if key is None else key)


class _Writing:
    """`Change` within a transaction."""

    def __init__(self, documents: SqliteDocuments, connection: sqlite3.Connection) -> None:
        self._seal = documents.seal
        self._connection = connection

    def put(self, collection: Collection[Item], item: Item) -> None:
        """As `Change`."""
        place = self._insert("OR REPLACE", collection, item).lastrowid
        if collection.kept is None or place is None:
            return
        if not collection.kept_of:
            oldest = f"DELETE FROM {collection.table} WHERE rowid <= ?"  # noqa: S608 - ours
            self._connection.execute(oldest, (place - collection.kept,))
            return
        of = dict(zip(collection.fields, collection.fields_of(item), strict=True))[collection.kept_of]
        self._connection.execute(
            f"DELETE FROM {collection.table} WHERE {collection.kept_of} = ?1 AND rowid <="  # noqa: S608 - ours
            f" (SELECT rowid FROM {collection.table} WHERE {collection.kept_of} = ?1"
            " ORDER BY rowid DESC LIMIT 1 OFFSET ?2)",
            (_column(of), collection.kept),
        )

    def add(self, collection: Collection[Item], item: Item) -> bool:
        """As `Change`; whether it was new."""
        return self._insert("OR IGNORE", collection, item).rowcount > 0

    def drop(self, collection: Collection[Any], *key: str) -> None:
        """As `Change`."""
        named, values = _named(collection, key)
        self._connection.execute(f"DELETE FROM {collection.table} WHERE {named}", values)  # noqa: S608 - ours

    def _insert(self, otherwise: str, collection: Collection[Item], item: Item) -> sqlite3.Cursor:
        row: dict[str, Any] = dict(zip(collection.key, map(storable, collection.key_of(item)), strict=True))
        changing = dict(zip(collection.fields, map(_column, collection.fields_of(item)), strict=True))
        body: Any = collection.pack(item, self._seal)
        values = [body] if len(collection.columns) == 1 else json.loads(body)
        changing |= zip(collection.columns, values, strict=True)
        update = ""
        if collection.versioned:  # A version that is replaced stays at its place in the order.
            row["version"] = collection.version_of(item)
            named = ", ".join((*collection.key, "version"))
            update = ", ".join(f"{name} = excluded.{name}" for name in changing)
            otherwise, update = "", f" ON CONFLICT ({named}) DO UPDATE SET {update}"
        row |= changing
        places = ", ".join("?" * len(row))
        return self._connection.execute(
            f"INSERT {otherwise} INTO {collection.table} ({', '.join(row)}) VALUES ({places}){update}",  # noqa: S608 - ours
            list(row.values()),
        )


def _named(collection: Collection[Any], key: tuple[str, ...]) -> tuple[str, list[Any]]:
    """The condition that names begin so, and the values bound in it."""
    conditions = [f"{column} = ?" for column, _ in zip(collection.key, key, strict=False)]
    return " AND ".join(conditions) or "1", [storable(part) for part in key]


def _chosen(collection: Collection[Any], where: Mapping[str, Field]) -> tuple[str, list[Any]]:
    """The condition of `select`, and the values bound in it."""
    given = {column: _column(value) for column, value in where.items() if value is not None}
    conditions = [f"{column} = ?" for column in given]
    if collection.versioned:
        same = " AND ".join(f"other.{column} = {collection.table}.{column}" for column in collection.key)
        newest = f"SELECT max(version) FROM {collection.table} AS other WHERE {same}"  # noqa: S608 - ours
        conditions.append(f"version = ({newest})")
    return " AND ".join(conditions) or "1", list(given.values())


def _column(value: Field) -> Field:
    return storable(value) if isinstance(value, str) else value
