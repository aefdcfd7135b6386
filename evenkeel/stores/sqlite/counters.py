"""Counters of the processes of one machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    from evenkeel.stores.counters import Snapshot
    from evenkeel.stores.sqlite.database import Database

_RETIRED = "retired"


class SqliteCounterStore:
    """Store of the latest snapshot of each process.

    The counters of a process that ended are kept, its gauges are not.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create("CREATE TABLE IF NOT EXISTS counters (source TEXT PRIMARY KEY, body TEXT NOT NULL)")

    def publish(self, source: str, snapshot: Snapshot) -> None:
        """Replace the snapshot of one process."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO counters (source, body) VALUES (?, ?)", (source, json.dumps(snapshot))
            )

    def retire(self, source: str) -> None:
        """Fold the counters of an ended process into the total of the ended ones."""
        with self._database.write() as connection:
            rows = connection.execute(
                "SELECT body FROM counters WHERE source IN (?, ?)", (source, _RETIRED)
            ).fetchall()
            total = merge(json.loads(body) for (body,) in rows)
            total["gauges"] = []
            connection.execute("DELETE FROM counters WHERE source = ?", (source,))
            connection.execute(
                "INSERT OR REPLACE INTO counters (source, body) VALUES (?, ?)", (_RETIRED, json.dumps(total))
            )

    def clear(self) -> None:
        """Reset all counters to zero, as when a service starts."""
        with self._database.write() as connection:
            connection.execute("DELETE FROM counters")

    def read(self) -> list[Snapshot]:
        """Return the snapshots of all processes; ended ones count as one."""
        rows = self._database.rows("SELECT body FROM counters ORDER BY source")
        return [json.loads(body) for (body,) in rows]
