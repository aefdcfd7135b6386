"""Small documents in a SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkeel.stores.documents import EVERYTHING, Documents
from evenkeel.stores.payloads import storable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from evenkeel.stores.documents import Change, Collection, Field, Item, Result
    from evenkeel.stores.sealing import Seal
    from evenkeel.stores.sqlite.database import Database


class SqliteDocuments(Documents):
    """`Documents` in tables, one for each collection. Any number of processes may share the file."""

    remote = False

    def __init__(self, database: Database) -> None:
        self._database = database
        self.seal = database.seal

    def open(self, *collections: Collection[Any]) -> None:
        """Make the tables that are not there yet."""
        for collection in collections:
            self._database.create(*_schema(collection))

    def change(self, collection: Collection[Any], work: Callable[[Change], Result]) -> Result:  # noqa: ARG002 - one file, one transaction
        """Read and write in one transaction."""
        with self._database.write() as connection:
            return work(_Writing(self.seal, connection))

    def find(self, collection: Collection[Item], *key: str) -> Item | None:
        """Return one document."""
        named, values = _named(collection, key)
        return next(self._read(collection, f"WHERE {named}", values), None)

    def history(self, collection: Collection[Item], *key: str) -> list[Item]:
        """Return documents in their order."""
        named, values = _named(collection, key)
        return list(self._read(collection, f"WHERE {named} ORDER BY turn", values))

    def select(
        self,
        collection: Collection[Item],
        where: Mapping[str, Field] = EVERYTHING,
        limit: int | None = None,
    ) -> list[Item]:
        """Return documents, the last stored first."""
        chosen, values = _chosen(where)
        rest = f"WHERE {chosen} ORDER BY turn DESC LIMIT ?"
        return list(self._read(collection, rest, [*values, -1 if limit is None else limit]))

    def values(self, collection: Collection[Any], *fields: str) -> set[tuple[Field, ...]]:
        """Return combinations of fields."""
        return set(self._database.rows(f"SELECT DISTINCT {_columns(fields)} FROM {collection.name}"))  # noqa: S608 - ours

    def revision(self, collection: Collection[Any]) -> int:
        """Return the turn of the newest document."""
        (newest,) = self._database.row(f"SELECT coalesce(max(turn), 0) FROM {collection.name}")  # noqa: S608 - ours
        return int(newest)

    def _read(self, collection: Collection[Item], rest: str, values: list[Any]) -> Iterator[Item]:
        rows = self._database.rows(
            f"SELECT body, {_columns(collection.key)} FROM {collection.name} {rest}",  # noqa: S608 - ours
            values,
        )
        for body, *key in rows:
            yield collection.body.unpack(body, self.seal, tuple(key))


class _Writing:
    def __init__(self, seal: Seal, connection: sqlite3.Connection) -> None:
        self._seal = seal
        self._connection = connection

    def put(self, collection: Collection[Item], item: Item) -> None:
        # A new row takes the next turn, so that what was put last is the newest.
        turn = self._insert(collection, item, "INSERT OR REPLACE").lastrowid
        if collection.kept is None:
            return
        # Looking for the oldest goes through all that are kept, which takes 10 ms for 20,000.
        if not collection.kept_of and turn and turn % max(1, collection.kept // 100):
            return
        same, values = "1", []
        if collection.kept_of:
            same, values = (
                f"{collection.kept_of} = ?1",
                [_column(collection.values_of(item)[collection.kept_of])],
            )
        self._connection.execute(
            f"DELETE FROM {collection.name} WHERE {same} AND turn <="  # noqa: S608 - ours
            f" (SELECT turn FROM {collection.name} WHERE {same} ORDER BY turn DESC LIMIT 1 OFFSET ?)",
            [*values, collection.kept],
        )

    def add(self, collection: Collection[Item], item: Item) -> bool:
        """Store a document unless one of its name is there."""
        return self._insert(collection, item, "INSERT OR IGNORE").rowcount > 0

    def drop(self, collection: Collection[Any], *key: str) -> None:
        """Remove the documents whose name begins so."""
        named, values = _named(collection, key)
        self._connection.execute(f"DELETE FROM {collection.name} WHERE {named}", values)  # noqa: S608 - ours

    def _insert(self, collection: Collection[Item], item: Item, verb: str) -> sqlite3.Cursor:
        row: dict[str, Any] = {}
        for name, value in collection.values_of(item).items():
            row[name] = _column(value)
        row |= zip(collection.key, map(storable, collection.key_of(item)), strict=True)
        row["body"] = collection.body.pack(item, self._seal)
        marks = ", ".join("?" * len(row))
        return self._connection.execute(
            f"{verb} INTO {collection.name} ({_columns(row)}) VALUES ({marks})",
            list(row.values()),
        )


def _schema(collection: Collection[Any]) -> Iterator[str]:
    """Return the statements that make a table.

    Turns grow in the order in which documents were put.
    """
    columns = ", ".join(f"{_quoted(name)} TEXT NOT NULL" for name in collection.key)
    fields = []
    for name in collection.fields:
        if name not in collection.key:
            fields.append(name)
    columns += "".join(f", {_quoted(name)}" for name in fields)
    yield (
        f"CREATE TABLE IF NOT EXISTS {collection.name} (turn INTEGER PRIMARY KEY AUTOINCREMENT, {columns}, "
        f"body NOT NULL, UNIQUE ({_columns(collection.key)}))"
    )
    if fields:  # It covers all that is asked without the bodies.
        covered = _columns((*fields, *collection.key))
        yield f"CREATE INDEX IF NOT EXISTS {collection.name}_fields ON {collection.name} ({covered})"


def _quoted(name: str) -> str:
    return f'"{name}"'


def _columns(names: Iterable[str]) -> str:
    return ", ".join(map(_quoted, names))


def _named(collection: Collection[Any], key: tuple[str, ...]) -> tuple[str, list[Any]]:
    """Return the condition that names begin with a prefix, and the values bound in it."""
    conditions = []
    for column, _ in zip(collection.key, key, strict=False):
        conditions.append(f'"{column}" = ?')
    return " AND ".join(conditions) or "1", [storable(part) for part in key]


def _chosen(where: Mapping[str, Field]) -> tuple[str, list[Any]]:
    """Return the condition of `select`, and the values bound in it."""
    conditions: list[str] = []
    values: list[Any] = []
    for column, value in where.items():
        if value is not None:
            conditions.append(f'"{column}" = ?')
            values.append(_column(value))
    return " AND ".join(conditions) or "1", values


def _column(value: Field) -> Field:
    return storable(value) if isinstance(value, str) else value
