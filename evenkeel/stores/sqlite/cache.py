"""Caches in the embedded store: they outlive the process and are shared by all of a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.stores.sqlite.database import Database


class SqliteCache:
    """Cache in a table of its own."""

    def __init__(self, database: Database, table: str, tag: str, *, kept: int = 20_000) -> None:
        """Open the cache. It keeps the newest bodies by the time they were first put, sealed for `tag`."""
        self._database = database
        self._table = table
        self._tag = tag
        self._kept = kept
        database.create(
            f"CREATE TABLE IF NOT EXISTS {table}"
            " (seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, body BLOB NOT NULL)"
        )
        self._select = f"SELECT body FROM {table} WHERE key = ?"  # noqa: S608 - names of our own
        self._insert = (
            f"INSERT INTO {table} (key, body) VALUES (?, ?)"  # noqa: S608
            " ON CONFLICT (key) DO UPDATE SET body = excluded.body"
        )
        # Row numbers are given without gaps, so those above the limit are `kept` rows.
        self._prune = f"DELETE FROM {table} WHERE seq <= (SELECT max(seq) FROM {table}) - ?"  # noqa: S608

    def __len__(self) -> int:
        row = self._database.row(f"SELECT count(*) FROM {self._table}")  # noqa: S608
        return int(row[0])

    def get(self, key: str) -> bytes | None:
        """Return the body of a key; None if there is none. Raises: SealError if it cannot be opened."""
        row = self._database.row(self._select, (key,))
        return None if row is None else self._database.seal.open(row[0], f"{self._tag}/{key}")

    def put(self, key: str, body: bytes) -> None:
        """Keep a body as the newest, and drop the oldest beyond the number kept."""
        sealed = self._database.seal.close(body, f"{self._tag}/{key}")
        with self._database.write() as connection:
            connection.execute(self._insert, (key, sealed))
            connection.execute(self._prune, (self._kept,))


def rulings(database: Database, *, kept: int = 20_000) -> SqliteCache:
    """Return the cache of a judge's rulings."""
    return SqliteCache(database, "rulings", "ruling", kept=kept)
