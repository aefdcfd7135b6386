"""Caches in the embedded store: they outlive the process and are shared by all of a machine."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from evenkeel.stores.sqlite.database import Database


class SqliteCache:
    """A `Cache` in a table of its own."""

    _columns: ClassVar[tuple[str, ...]] = ("body",)
    _schema: ClassVar[str] = "key TEXT NOT NULL UNIQUE, body BLOB NOT NULL"

    def __init__(self, database: Database, table: str, tag: str, *, kept: int = 20_000) -> None:
        """Open the cache.

        Args:
            database: Where it lies.
            table: Name of its table, a word.
            tag: What its bodies are sealed for.
            kept: Bodies kept, the newest by the time they were first put.
        """
        self._database = database
        self._table = table
        self._tag = tag
        self._kept = kept
        database.create(f"CREATE TABLE IF NOT EXISTS {table} (seq INTEGER PRIMARY KEY, {self._schema})")
        names = ", ".join(self._columns)
        marks = ", ".join("?" * len(self._columns))
        changes = ", ".join(f"{name} = excluded.{name}" for name in self._columns)
        self._select = f"SELECT {names} FROM {table} WHERE key = ?"  # noqa: S608 - names of our own
        self._insert = (
            f"INSERT INTO {table} (key, {names}) VALUES (?, {marks})"  # noqa: S608
            f" ON CONFLICT (key) DO UPDATE SET {changes}"
        )
        # Row numbers are given without gaps, so those above the limit are `kept` rows.
        self._prune = f"DELETE FROM {table} WHERE seq <= (SELECT max(seq) FROM {table}) - ?"  # noqa: S608

    def __len__(self) -> int:
        row = self._database.row(f"SELECT count(*) FROM {self._table}")  # noqa: S608
        return int(row[0])

    def get(self, key: str) -> bytes | None:
        """As `Cache.get`. Raises: SealError if the body cannot be opened."""
        row = self._database.row(self._select, (self._stored(key),))
        return None if row is None else self._body(key, row)

    def put(self, key: str, body: bytes) -> None:
        """As `Cache.put`."""
        row = (self._stored(key), *self._row(key, body))
        with self._database.write() as connection:
            connection.execute(self._insert, row)
            connection.execute(self._prune, (self._kept,))

    def _stored(self, key: str) -> Any:
        """The key as the table has it."""
        return key

    def _row(self, key: str, body: bytes) -> tuple[Any, ...]:
        """The columns of a body."""
        return (self._database.seal.close(body, f"{self._tag}/{key}"),)

    def _body(self, key: str, row: tuple[Any, ...]) -> bytes:
        """The body in the columns."""
        return self._database.seal.open(row[0], f"{self._tag}/{key}")


class SqliteRulings(SqliteCache):
    """Rulings of a judge under 64 hex digits: a JSON array of rating, reason and, if known, first rating."""

    _columns = ("rating", "explanation", "initial")
    _schema = "key BLOB NOT NULL UNIQUE, rating INTEGER NOT NULL, explanation TEXT NOT NULL, initial INTEGER"

    def __init__(self, database: Database, *, kept: int = 20_000) -> None:
        super().__init__(database, "judge_rulings", "ruling", kept=kept)
        if "initial" not in {row[1] for row in database.rows("PRAGMA table_info(judge_rulings)")}:
            # Another process may be faster.
            with contextlib.suppress(sqlite3.OperationalError), database.write() as connection:
                connection.execute("ALTER TABLE judge_rulings ADD COLUMN initial INTEGER")

    def _stored(self, key: str) -> bytes:
        return bytes.fromhex(key)

    def _row(self, key: str, body: bytes) -> tuple[Any, ...]:
        rating, explanation, *initial = json.loads(body)
        sealed = self._database.seal.close_text(explanation, f"{self._tag}/{key}")
        return rating, sealed, initial[0] if initial else None

    def _body(self, key: str, row: tuple[Any, ...]) -> bytes:
        rating, sealed, initial = row
        said = [rating, self._database.seal.open_text(sealed, f"{self._tag}/{key}")]
        return json.dumps(said if initial is None else [*said, initial]).encode()
