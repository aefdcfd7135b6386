"""Bursts in a SQLite file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.stores.bursts import Override

if TYPE_CHECKING:
    from evenkeel.stores.sqlite.database import Database


class SqliteBursts:
    """`Bursts` in the file of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            """CREATE TABLE IF NOT EXISTS sampling_overrides (
                 route TEXT PRIMARY KEY, rate REAL NOT NULL, until REAL NOT NULL, change TEXT NOT NULL)"""
        )

    def put(self, override: Override) -> None:
        """As `Bursts`."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO sampling_overrides (route, rate, until, change) VALUES (?, ?, ?, ?)",
                tuple(override),
            )

    def drop(self, route: str) -> None:
        """As `Bursts`."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM sampling_overrides WHERE route = ?", (route,))

    def active(self, now: float) -> list[Override]:
        """As `Bursts`."""
        rows = self._database.connection().execute(
            "SELECT route, rate, until, change FROM sampling_overrides WHERE until > ? ORDER BY route", (now,)
        )
        return [Override(*row) for row in rows.fetchall()]
