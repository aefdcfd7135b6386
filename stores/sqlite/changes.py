"""What the change response remembers, in a SQLite file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenkeel.stores.changes import RUNS_KEPT as _RUNS_KEPT
from evenkeel.stores.changes import GoldenRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.stores.sqlite.database import Database


class SqliteChangeStore:
    """`ChangeStore` in the file of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            """CREATE TABLE IF NOT EXISTS golden_runs (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, route TEXT NOT NULL,
                 body TEXT NOT NULL)""",
            "CREATE TABLE IF NOT EXISTS change_responses (change TEXT PRIMARY KEY, at REAL NOT NULL)",
            "CREATE TABLE IF NOT EXISTS settings_versions (fingerprint TEXT PRIMARY KEY, body TEXT NOT NULL)",
        )

    def put_run(self, run: GoldenRun) -> None:
        """As `ChangeStore`."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO golden_runs (id, route, body) VALUES (?, ?, ?)",
                (run.id, run.route, json.dumps(run.to_json())),
            )
            connection.execute(
                "DELETE FROM golden_runs WHERE route = ?1 AND seq <= (SELECT seq FROM golden_runs"
                " WHERE route = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)",
                (run.route, _RUNS_KEPT),
            )

    def runs(self) -> list[GoldenRun]:
        """As `ChangeStore`."""
        rows = self._database.connection().execute("SELECT body FROM golden_runs ORDER BY seq")
        return [GoldenRun.from_json(json.loads(body)) for (body,) in rows.fetchall()]

    def revision(self) -> int:
        """As `ChangeStore`."""
        row = self._database.connection().execute("SELECT coalesce(max(seq), 0) FROM golden_runs").fetchone()
        return int(row[0])

    def respond(self, change: str, at: float) -> bool:
        """As `ChangeStore`."""
        with self._database.write() as connection:
            cursor = connection.execute(
                "INSERT OR IGNORE INTO change_responses (change, at) VALUES (?, ?)", (change, at)
            )
        return cursor.rowcount > 0

    def put_settings(self, fingerprint: str, values: Mapping[str, str]) -> None:
        """As `ChangeStore`."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO settings_versions (fingerprint, body) VALUES (?, ?)",
                (fingerprint, json.dumps(dict(values))),
            )

    def settings(self, fingerprint: str) -> dict[str, str] | None:
        """As `ChangeStore`."""
        row = (
            self._database.connection()
            .execute("SELECT body FROM settings_versions WHERE fingerprint = ?", (fingerprint,))
            .fetchone()
        )
        found: dict[str, str] | None = json.loads(row[0]) if row else None
        return found
