"""Actions in the embedded store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.stores.audit_log import KEPT, Action

if TYPE_CHECKING:
    from evenkeel.stores.sqlite.database import Database


class SqliteActions:
    """`ActionLog` on SQLite. Any number of processes may share it."""

    def __init__(self, database: Database, *, kept: int = KEPT) -> None:
        self._database = database
        self._kept = kept
        database.create(
            "CREATE TABLE IF NOT EXISTS actions (seq INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL)"
        )

    def record(self, action: Action) -> None:
        """As `ActionLog`."""
        with self._database.write() as connection:
            seq = connection.execute("INSERT INTO actions (body) VALUES (?)", (action.to_json(),)).lastrowid
            assert seq is not None
            connection.execute("DELETE FROM actions WHERE seq <= ?", (seq - self._kept,))

    def latest(self, limit: int) -> list[Action]:
        """As `ActionLog`."""
        rows = self._database.connection().execute(
            "SELECT body FROM actions ORDER BY seq DESC LIMIT ?", (limit,)
        )
        return [Action.from_json(body) for (body,) in rows.fetchall()]
