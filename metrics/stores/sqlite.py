"""The embedded store: one SQLite file in WAL mode, shared by all processes of one machine."""

from __future__ import annotations

import contextlib
import ctypes
import json
import sqlite3
import threading
import zlib
from dataclasses import asdict
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from metrics.stores.protocols import AlertEvent, LoggedVerdict, TrendPoint
from metrics.verdict import Verdict, evidence_from_json, evidence_to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from metrics.verdict import Evidence

_BUSY_TIMEOUT_S = 10.0
_INDEX_BYTES = 32_768
"""Least size of the index of a write-ahead log that is in use."""
_EVIDENCE_KEPT = 20_000
_EVIDENCE_PRUNE_EVERY = 500
_TREND_KEPT_PER_CELL = 2_000


class StoreError(Exception):
    """The store cannot be opened. The message says what is wrong, where, and what to do."""


class Database:
    """A SQLite file with one connection per thread.

    `synchronous=NORMAL` in WAL mode: a commit survives the death of any process; the last commits
    may be lost if the machine loses power.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._index_path = path.with_name(f"{path.name}-shm")
        self._lost = False
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.connection().execute("PRAGMA user_version").fetchone()
            with self.write():
                pass
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"cannot write the store {path}: {error}; choose a writable folder with --data-dir"
            ) from error

    def connection(self) -> sqlite3.Connection:
        """This thread's connection, opened on first use."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if self._lost or (connection is not None and self._cut_short()):
            self._abandon()
            raise sqlite3.OperationalError(
                f"the files of {self.path} were cut short while in use; restore them and start again"
            )
        if connection is None:
            connection = sqlite3.connect(
                self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    def _cut_short(self) -> bool:
        """Whether somebody truncated the index of the write-ahead log, as copying a backup over it does.

        SQLite has it mapped into memory: to touch what is no longer there would kill the process.
        """
        try:
            return self._index_path.stat().st_size < _INDEX_BYTES
        except OSError:
            return False  # Deleted: what is mapped stays readable.

    def _abandon(self) -> None:
        """Never touch the connections again, not even to close them: that would kill the process too."""
        self._lost = True
        with self._lock:
            for connection in self._connections:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
            self._connections.clear()

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: all of it, or nothing."""
        connection = self.connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def create(self, *statements: str) -> None:
        """Create tables and indexes that are not there yet."""
        with self.write() as connection:
            for statement in statements:
                connection.execute(statement)

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()


class SqliteVerdictLog:
    """The verdict log. Offsets are the table's row ids, which SQLite never gives twice."""

    def __init__(self, database: Database, *, evidence_kept: int = _EVIDENCE_KEPT) -> None:
        self._database = database
        self._evidence_kept = evidence_kept
        self._appended = 0
        database.create(
            """CREATE TABLE IF NOT EXISTS verdicts (
                 offset INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, exchange_id TEXT NOT NULL,
                 route TEXT NOT NULL, perturbation TEXT NOT NULL, rating INTEGER, body TEXT NOT NULL)""",
            "CREATE INDEX IF NOT EXISTS verdicts_exchange ON verdicts (exchange_id)",
            "CREATE INDEX IF NOT EXISTS verdicts_cell ON verdicts (route, perturbation)",
            """CREATE TABLE IF NOT EXISTS evidence (
                 offset INTEGER PRIMARY KEY, verdict_id TEXT NOT NULL UNIQUE, body BLOB NOT NULL)""",
        )

    def append(self, verdict: Verdict, evidence: Evidence | None) -> bool:
        """Store a verdict and its evidence in one transaction; False if the id is there already."""
        packed = zlib.compress(evidence_to_json(evidence).encode()) if evidence else None
        with self._database.write() as connection:
            cursor = connection.execute(
                "INSERT OR IGNORE INTO verdicts (id, exchange_id, route, perturbation, rating, body)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    verdict.id,
                    verdict.exchange_id,
                    verdict.route,
                    verdict.perturbation,
                    verdict.rating,
                    verdict.to_json(),
                ),
            )
            if cursor.rowcount == 0:
                return False
            offset = cursor.lastrowid
            assert offset is not None
            if packed is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO evidence (offset, verdict_id, body) VALUES (?, ?, ?)",
                    (offset, verdict.id, packed),
                )
            self._appended += 1
            if self._appended % _EVIDENCE_PRUNE_EVERY == 0:
                connection.execute("DELETE FROM evidence WHERE offset <= ?", (offset - self._evidence_kept,))
        return True

    def of_exchange(self, exchange_id: str) -> list[Verdict]:
        """Verdicts already logged for an exchange, oldest first."""
        rows = self._database.connection().execute(
            "SELECT body FROM verdicts WHERE exchange_id = ? ORDER BY offset", (exchange_id,)
        )
        return [Verdict.from_json(body) for (body,) in rows.fetchall()]

    def read_after(self, offset: int, limit: int) -> list[LoggedVerdict]:
        """Up to `limit` verdicts after `offset`, in log order."""
        rows = self._database.connection().execute(
            "SELECT offset, body FROM verdicts WHERE offset > ? ORDER BY offset LIMIT ?", (offset, limit)
        )
        return [LoggedVerdict(place, Verdict.from_json(body)) for place, body in rows.fetchall()]

    def latest(
        self, limit: int, *, route: str | None = None, perturbation: str | None = None
    ) -> list[Verdict]:
        """The newest verdicts, newest first."""
        rows = self._database.connection().execute(
            "SELECT body FROM verdicts WHERE (?1 IS NULL OR route = ?1) AND (?2 IS NULL OR perturbation = ?2)"
            " ORDER BY offset DESC LIMIT ?3",
            (route, perturbation, limit),
        )
        return [Verdict.from_json(body) for (body,) in rows.fetchall()]

    def find(self, verdict_id: str) -> Verdict | None:
        """The verdict with this id."""
        row = (
            self._database.connection()
            .execute("SELECT body FROM verdicts WHERE id = ?", (verdict_id,))
            .fetchone()
        )
        return Verdict.from_json(row[0]) if row else None

    def evidence(self, verdict_id: str) -> Evidence | None:
        """Prompts and answers behind a verdict; None once pruned (the newest 20,000 are kept)."""
        row = (
            self._database.connection()
            .execute("SELECT body FROM evidence WHERE verdict_id = ?", (verdict_id,))
            .fetchone()
        )
        return evidence_from_json(zlib.decompress(row[0]).decode()) if row else None


class SqliteMonitorStore:
    """The monitor's checkpoint, alert events and trend points."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            """CREATE TABLE IF NOT EXISTS monitor_state (
                 id INTEGER PRIMARY KEY CHECK (id = 1), offset INTEGER NOT NULL, body BLOB NOT NULL)""",
            "CREATE TABLE IF NOT EXISTS monitor_parts (name TEXT PRIMARY KEY, body BLOB NOT NULL)",
            """CREATE TABLE IF NOT EXISTS alert_events (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL,
                 delivered INTEGER NOT NULL DEFAULT 0)""",
            """CREATE TABLE IF NOT EXISTS trend (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, route TEXT NOT NULL, model TEXT NOT NULL,
                 perturbation TEXT NOT NULL, body TEXT NOT NULL)""",
            "CREATE INDEX IF NOT EXISTS trend_cell ON trend (route, model, perturbation, seq)",
        )

    def load(self) -> tuple[bytes | None, int]:
        """The last committed checkpoint and the log offset it includes."""
        row = self._database.connection().execute("SELECT body, offset FROM monitor_state").fetchone()
        return (zlib.decompress(row[0]), row[1]) if row else (None, 0)

    def parts(self) -> dict[str, bytes]:
        """Every part of the checkpoint, by name."""
        rows = self._database.connection().execute("SELECT name, body FROM monitor_parts ORDER BY rowid")
        return dict(rows.fetchall())

    def commit(
        self,
        state: bytes,
        offset: int,
        events: Sequence[AlertEvent],
        trend: Sequence[tuple[str, str, str, TrendPoint]],
        *,
        parts: Mapping[str, bytes] = MappingProxyType({}),
        whole: bool = False,
    ) -> None:
        """Store checkpoint, changed parts, events and trend points in one transaction."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO monitor_state (id, offset, body) VALUES (1, ?, ?)",
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
                "INSERT OR IGNORE INTO alert_events (id, body) VALUES (?, ?)",
                [(event.id, json.dumps(asdict(event))) for event in events],
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
        """The newest alert events, newest first."""
        rows = self._database.connection().execute(
            "SELECT body FROM alert_events ORDER BY seq DESC LIMIT ?", (limit,)
        )
        return [AlertEvent(**json.loads(body)) for (body,) in rows.fetchall()]

    def undelivered(self, limit: int) -> list[AlertEvent]:
        """Events not yet notified, oldest first."""
        rows = self._database.connection().execute(
            "SELECT body FROM alert_events WHERE delivered = 0 ORDER BY seq LIMIT ?", (limit,)
        )
        return [AlertEvent(**json.loads(body)) for (body,) in rows.fetchall()]

    def mark_delivered(self, event_id: str) -> None:
        """Remember that an event was notified."""
        with self._database.write() as connection:
            connection.execute("UPDATE alert_events SET delivered = 1 WHERE id = ?", (event_id,))

    def trend(self, route: str, model: str, perturbation: str, limit: int) -> list[TrendPoint]:
        """The newest `limit` points of one cell, oldest first."""
        rows = self._database.connection().execute(
            "SELECT body FROM trend WHERE route = ? AND model = ? AND perturbation = ?"
            " ORDER BY seq DESC LIMIT ?",
            (route, model, perturbation, limit),
        )
        return [TrendPoint(**json.loads(body)) for (body,) in reversed(rows.fetchall())]
