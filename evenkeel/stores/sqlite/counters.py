"""Counters of the processes of one machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.stores.counters import Snapshot
    from evenkeel.stores.sqlite.database import Database


class SqliteCounterStore:
    """Store of the latest snapshot of each supervisor."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create("CREATE TABLE IF NOT EXISTS counters (source TEXT PRIMARY KEY, body TEXT NOT NULL)")

    def publish(self, source: str, snapshot: Snapshot) -> None:
        """Replace the snapshot of one supervisor."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO counters (source, body) VALUES (?, ?)", (source, json.dumps(snapshot))
            )

    def read(self, source: str = "") -> list[Snapshot]:
        """Return the snapshots of all supervisors, or that of one."""
        rows = self._database.rows("SELECT body FROM counters WHERE ?1 IN ('', source)", (source,))
        return [json.loads(body) for (body,) in rows]
