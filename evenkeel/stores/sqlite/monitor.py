"""Monitor state in a SQLite file: checkpoints, alerts, trends."""

from __future__ import annotations

import json
import zlib
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from evenkeel.core.records import from_json, to_json
from evenkeel.stores.monitor_state import AlertEvent, ChannelState, IncidentRow, TrendPoint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.stores.sqlite.database import Database


# Far more than a page shows; without bounds the file would grow for years.
_ALERTS_KEPT = 10_000
# At a point every ten seconds these are five and a half hours of a cell.
_TREND_KEPT_PER_CELL = 2_000
_SENT_KEPT = 1_000
_INCIDENTS_KEPT = 1_000


class SqliteMonitorStore:
    """Monitor's checkpoint, alert events and trend points."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            """CREATE TABLE IF NOT EXISTS monitor_state (
                 id INTEGER PRIMARY KEY CHECK (id = 1), offset INTEGER NOT NULL, body BLOB NOT NULL)""",
            "CREATE TABLE IF NOT EXISTS monitor_parts (name TEXT PRIMARY KEY, body BLOB NOT NULL)",
            """CREATE TABLE IF NOT EXISTS alert_events (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL,
                 delivered INTEGER NOT NULL DEFAULT 0)""",
            """CREATE TABLE IF NOT EXISTS incidents (
                 seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, offset INTEGER NOT NULL,
                 body BLOB NOT NULL)""",
            """CREATE TABLE IF NOT EXISTS trend (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, route TEXT NOT NULL, model TEXT NOT NULL,
                 perturbation TEXT NOT NULL, body TEXT NOT NULL)""",
            """CREATE TABLE IF NOT EXISTS sent_notices (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, incident TEXT NOT NULL, channel TEXT NOT NULL,
                 body TEXT NOT NULL, UNIQUE (incident, channel))""",
            "CREATE INDEX IF NOT EXISTS trend_cell ON trend (route, model, perturbation, seq)",
        )

    def load(self) -> tuple[bytes | None, int]:
        """Return the last committed checkpoint and the log offset it includes."""
        row = self._database.row("SELECT body, offset FROM monitor_state")
        return (zlib.decompress(row[0]), row[1]) if row else (None, 0)

    def is_current(self) -> bool:
        """Return True: a file keeps its last commit, and only one monitor writes to it."""
        return True

    def offset(self) -> int:
        """Return the log offset that the last committed checkpoint includes; 0 before the first."""
        row = self._database.row("SELECT offset FROM monitor_state")
        return int(row[0]) if row else 0

    def parts(self) -> dict[str, bytes]:
        """Return every part of the checkpoint, by name."""
        rows = self._database.rows("SELECT name, body FROM monitor_parts ORDER BY rowid")
        return dict(rows)

    def commit(
        self,
        state: bytes,
        offset: int,
        events: Sequence[AlertEvent],
        trend: Sequence[tuple[str, str, str, TrendPoint]],
        *,
        incidents: Sequence[IncidentRow] = (),
        parts: Mapping[str, bytes] = MappingProxyType({}),
        whole: bool = False,
    ) -> None:
        """Store checkpoint, changed parts, events, incidents and trend points in one transaction."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO monitor_state (id, offset, body) VALUES (1, ?, ?)",
                # The fastest level: a checkpoint is written every few seconds.
                (offset, zlib.compress(state, 1)),
            )
            if whole:
                connection.execute("DELETE FROM monitor_parts")
            connection.executemany(
                "INSERT INTO monitor_parts (name, body) VALUES (?, ?)"
                " ON CONFLICT (name) DO UPDATE SET body = excluded.body",
                parts.items(),
            )
            connection.executemany(
                # Folded again, an event may say more than a former version of the program did.
                "INSERT INTO alert_events (id, body) VALUES (?, ?)"
                " ON CONFLICT (id) DO UPDATE SET body = excluded.body",
                [(event.id, to_json(event)) for event in events],
            )
            if events:
                # What was not delivered stays, however old: its message is still owed.
                connection.execute(
                    "DELETE FROM alert_events WHERE delivered AND seq <="
                    " (SELECT max(seq) FROM alert_events) - ?",
                    (_ALERTS_KEPT,),
                )
            connection.executemany(
                "INSERT INTO incidents (id, offset, body) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE"
                # A monitor that folds an old log again must not undo what a later one has written.
                " SET offset = excluded.offset, body = excluded.body WHERE excluded.offset >= offset",
                incidents,
            )
            if incidents:
                connection.execute(
                    "DELETE FROM incidents WHERE seq IN"
                    " (SELECT seq FROM incidents ORDER BY seq DESC LIMIT -1 OFFSET ?)",
                    (_INCIDENTS_KEPT,),
                )
            connection.executemany(
                "INSERT INTO trend (route, model, perturbation, body) VALUES (?, ?, ?, ?)",
                [(*cell, msgspec.json.encode(point).decode()) for *cell, point in trend],
            )
            for cell in {tuple(cell) for *cell, _ in trend}:
                connection.execute(
                    "DELETE FROM trend WHERE route = ?1 AND model = ?2 AND perturbation = ?3 AND seq <= ("
                    " SELECT seq FROM trend WHERE route = ?1 AND model = ?2 AND perturbation = ?3"
                    " ORDER BY seq DESC LIMIT 1 OFFSET ?4)",
                    (*cell, _TREND_KEPT_PER_CELL),
                )

    def events(self, limit: int) -> list[AlertEvent]:
        """Return the newest alert events, newest first."""
        rows = self._database.rows("SELECT body FROM alert_events ORDER BY seq DESC LIMIT ?", (limit,))
        return [from_json(body, AlertEvent) for (body,) in rows]

    def incidents(self) -> list[bytes]:
        """Return the records of all incidents that are kept."""
        bodies: list[bytes] = []
        for (body,) in self._database.rows("SELECT body FROM incidents"):
            bodies.append(body)
        return bodies

    def undelivered(self, limit: int) -> list[AlertEvent]:
        """Return the events not yet notified, oldest first."""
        rows = self._database.rows(
            "SELECT body FROM alert_events WHERE delivered = 0 ORDER BY seq LIMIT ?", (limit,)
        )
        return [from_json(body, AlertEvent) for (body,) in rows]

    def mark_delivered(self, event_id: str) -> None:
        """Remember that an event was notified."""
        with self._database.write() as connection:
            connection.execute("UPDATE alert_events SET delivered = 1 WHERE id = ?", (event_id,))

    def sent(self, incident: str, channel: str) -> ChannelState | None:
        """Return the state of a channel's messages about an incident; None if it sent none."""
        row = self._database.row(
            "SELECT body FROM sent_notices WHERE incident = ? AND channel = ?", (incident, channel)
        )
        return None if row is None else from_json(row[0], ChannelState)

    def put_sent(self, incident: str, channel: str, sent: ChannelState) -> None:
        """Store the state of a channel's messages about an incident."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO sent_notices (incident, channel, body) VALUES (?, ?, ?)",
                (incident, channel, to_json(sent)),
            )
            connection.execute(
                "DELETE FROM sent_notices WHERE seq <= (SELECT max(seq) FROM sent_notices) - ?",
                (_SENT_KEPT,),
            )

    def trend(self, route: str, model: str, perturbation: str, limit: int) -> list[TrendPoint]:
        """Return the newest `limit` points of one cell, oldest first."""
        rows = self._database.rows(
            "SELECT body FROM trend WHERE route = ? AND model = ? AND perturbation = ?"
            " ORDER BY seq DESC LIMIT ?",
            (route, model, perturbation, limit),
        )
        return [TrendPoint(**json.loads(body)) for (body,) in reversed(rows)]
