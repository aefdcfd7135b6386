"""The embedded store: one SQLite file in WAL mode, shared by all processes of one machine."""

from __future__ import annotations

import contextlib
import ctypes
import json
import logging
import os
import sqlite3
import threading
import time
import zlib
from dataclasses import asdict
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from metrics.approval import Approval
from metrics.stores import sealed_verdict
from metrics.stores.errors import StoreError
from metrics.stores.protocols import (
    ANYTHING,
    AlertEvent,
    LoggedApproval,
    LoggedVerdict,
    Stretch,
    TrendPoint,
)
from metrics.stores.sealing import seal_of
from metrics.verdict import Verdict, evidence_from_json, evidence_to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from metrics.stores.protocols import Narrow
    from metrics.stores.sealing import Seal
    from metrics.verdict import Evidence

__all__ = ["Database", "SqliteMonitorStore", "SqliteVerdictLog", "StoreError"]

log = logging.getLogger("evenkeel.store")

_BUSY_TIMEOUT_S = 10.0
_INDEX_BYTES = 32_768
"""Least size of the index of a write-ahead log that is in use."""
_VERDICTS_KEPT = 500_000
_EVIDENCE_KEPT = 20_000
_TRIM_EVERY = 500
_TRIMMED_AT_ONCE = 2_000
"""More than come between two times of trimming, so that a limit that was lowered is reached."""
_ALERTS_KEPT = 10_000
_TREND_KEPT_PER_CELL = 2_000


class Database:
    """A SQLite file with one connection per thread.

    `synchronous=NORMAL` in WAL mode: a commit survives the death of any process; the last commits
    may be lost if the machine loses power.
    """

    def __init__(
        self, path: Path, *, seal: Seal | None = None, lost: Callable[[str], object] | None = None
    ) -> None:
        """Open the file, which is made if it is not there.

        Args:
            path: the file.
            seal: encrypts prompts and answers. Default: as the environment says, so that none of the many
                places that open the file can forget it and write what should be encrypted in the clear.
            lost: called with a sentence, in the thread that finds out, when the file has been deleted or cut
                short under this process; for one whose memory must agree with the file. Default: a file that
                was deleted is made again, with the same tables.

        Raises: StoreError if it cannot be written, SealError for keys that cannot be used.
        """
        self.seal = seal_of(os.environ) if seal is None else seal
        self.path = path
        self._index_path = path.with_name(f"{path.name}-shm")
        self.recreated = 0
        """How often the file was found deleted and made again."""
        self._tell_lost = lost
        self._lost = ""
        """Why the file is not used any more."""
        self._file: tuple[int, int] | None = None
        """Device and inode of the file that holds the tables."""
        self._tables: list[str] = []
        """Statements that make them."""
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
        if connection is not None and not self._lost and self._local.file != _identity(self.path):
            self._leave(connection)
            connection = None
        if connection is not None and not self._lost and self._cut_short():
            self._abandon()
            raise self._gone(
                f"the files of {self.path} were cut short while in use; restore them and start again"
            )
        if self._lost:
            raise sqlite3.OperationalError(self._lost)
        return self._open() if connection is None else connection

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            # What is deleted is text of users: overwritten, as far as that takes no further writes.
            connection.execute("PRAGMA secure_delete=FAST")
            file = _identity(self.path)
            if self._file != file:
                with _transaction(connection):
                    for statement in self._tables:
                        connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._file = file
            self._connections.append(connection)
        self._local.connection, self._local.file = connection, file
        return connection

    def _leave(self, connection: sqlite3.Connection) -> None:
        """Close this thread's connection to a file that has been deleted or replaced.

        SQLite sees that too, and leaves the write-ahead log of a new file alone.
        """
        self._local.connection = None
        if self._tell_lost is not None:
            raise self._gone(f"the store {self.path} was deleted while in use")
        with self._lock:
            if self._file == self._local.file:  # The first thread that notices.
                self._file = None
                self.recreated += 1
                log.warning("the store %s was deleted while in use; starting an empty one", self.path)
            if connection in self._connections:
                self._connections.remove(connection)
        connection.close()

    def _gone(self, problem: str) -> sqlite3.OperationalError:
        if self._tell_lost is not None:
            self._tell_lost(problem)  # May not return: so long other threads must not fail in its place.
        self._lost = problem
        return sqlite3.OperationalError(problem)

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
        with self._lock:
            for connection in self._connections:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
            self._connections.clear()

    @contextlib.contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: all of it, or nothing."""
        with _transaction(self.connection()) as connection:
            yield connection

    def create(self, *statements: str) -> None:
        """Create tables and indexes that are not there yet; again if the file is deleted."""
        with self.write() as connection:
            for statement in statements:
                connection.execute(statement)
        self._tables += statements

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one in its place; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends some by itself, and leaves others open
            connection.execute("ROLLBACK")
        raise


class SqliteVerdictLog:
    """The verdict log. Offsets are the table's row ids, which SQLite never gives twice.

    The newest `kept` verdicts are there to be read, and up to `_TRIM_EVERY` more; those trimmed are counted.
    What a monitor has not folded yet is not trimmed before the log holds twice as many. The file stays as
    large as it was at its largest: SQLite fills the room again.
    """

    def __init__(
        self,
        database: Database,
        *,
        kept: int = _VERDICTS_KEPT,
        evidence_kept: int = _EVIDENCE_KEPT,
        evidence_s: float = inf,
        folded: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open the log.

        Args:
            database: the store's file.
            kept: verdicts kept, the newest.
            evidence_kept: pieces of evidence kept, the newest.
            evidence_s: and how long. Default: as long as they are among those.
            folded: the offset up to which a monitor has committed; called within a transaction. Default:
                nobody folds.
            clock: Unix time in seconds.
        """
        self._database = database
        self._kept = kept
        self._evidence_kept = evidence_kept
        self._evidence_s = evidence_s
        self._folded = folded
        self._clock = clock
        self._appended = 0
        database.create(
            """CREATE TABLE IF NOT EXISTS verdicts (
                 offset INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, exchange_id TEXT NOT NULL,
                 route TEXT NOT NULL, perturbation TEXT NOT NULL, rating INTEGER, body TEXT NOT NULL)""",
            "CREATE INDEX IF NOT EXISTS verdicts_exchange ON verdicts (exchange_id)",
            "CREATE INDEX IF NOT EXISTS verdicts_cell ON verdicts (route, perturbation)",
            # Covers what `read_before` looks for, so that it reads no body in vain.
            "CREATE INDEX IF NOT EXISTS verdicts_narrow ON verdicts (rating, route, perturbation)",
            """CREATE TABLE IF NOT EXISTS evidence (
                 offset INTEGER PRIMARY KEY, verdict_id TEXT NOT NULL UNIQUE, body BLOB NOT NULL)""",
            "CREATE TABLE IF NOT EXISTS log_figures (name TEXT PRIMARY KEY, number INTEGER NOT NULL)",
            """CREATE TABLE IF NOT EXISTS approvals (
                 offset INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body TEXT NOT NULL)""",
        )

    def append(self, verdict: Verdict, evidence: Evidence | None) -> bool:
        """Store a verdict and its evidence in one transaction; False if the id is there already."""
        seal = self._database.seal
        packed = (
            seal.close(zlib.compress(evidence_to_json(evidence).encode()), f"evidence/{verdict.id}")
            if evidence
            else None
        )
        with self._database.write() as connection:
            # Not `INSERT OR IGNORE`: that takes an offset even if it ignores, and the limit counts offsets.
            if connection.execute("SELECT 1 FROM verdicts WHERE id = ?", (verdict.id,)).fetchone():
                return False
            cursor = connection.execute(
                "INSERT INTO verdicts (id, exchange_id, route, perturbation, rating, body)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    verdict.id,
                    verdict.exchange_id,
                    verdict.route,
                    verdict.perturbation,
                    verdict.rating,
                    sealed_verdict.written(verdict, seal),
                ),
            )
            offset = cursor.lastrowid
            assert offset is not None
            if packed is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO evidence (offset, verdict_id, body) VALUES (?, ?, ?)",
                    (offset, verdict.id, packed),
                )
            self._appended += 1
            if self._appended % _TRIM_EVERY == 0:
                self._trim(connection, offset)
        return True

    def trim(self) -> int:
        """Remove all that is no longer kept, as after a limit was lowered; returns how many verdicts."""
        total = 0
        while True:
            with self._database.write() as connection:
                (newest,) = connection.execute("SELECT coalesce(max(offset), 0) FROM verdicts").fetchone()
                removed = self._trim(connection, newest)
            total += removed
            if removed < _TRIMMED_AT_ONCE:
                return total

    def trimmed(self) -> int:
        """How many verdicts are no longer kept."""
        row = (
            self._database.connection()
            .execute("SELECT number FROM log_figures WHERE name = 'verdicts_trimmed'")
            .fetchone()
        )
        return int(row[0]) if row else 0

    def _trim(self, connection: sqlite3.Connection, newest: int) -> int:
        """Remove a bounded number of verdicts, so that nobody waits long for the file."""
        last = newest - self._kept
        if self._folded is not None:
            last = max(min(last, self._folded()), last - self._kept)
        oldest = "SELECT offset FROM verdicts WHERE offset <= ? ORDER BY offset LIMIT ?"
        removed = connection.execute(
            f"DELETE FROM verdicts WHERE offset IN ({oldest})",  # noqa: S608 - a constant
            (last, _TRIMMED_AT_ONCE),
        ).rowcount
        if removed:
            connection.execute(
                "INSERT INTO log_figures (name, number) VALUES ('verdicts_trimmed', ?1)"
                " ON CONFLICT (name) DO UPDATE SET number = number + ?1",
                (removed,),
            )
            connection.execute(
                "DELETE FROM evidence WHERE offset < (SELECT coalesce(min(offset), ?) FROM verdicts)",
                (newest + 1,),
            )
        connection.execute("DELETE FROM evidence WHERE offset <= ?", (newest - self._evidence_kept,))
        self._trim_by_age(connection)
        return removed

    def _trim_by_age(self, connection: sqlite3.Connection) -> None:
        before = self._clock() - self._evidence_s
        last = None
        rows = connection.execute(
            "SELECT offset, verdicts.body FROM evidence JOIN verdicts USING (offset) ORDER BY offset"
        )
        for offset, body in rows:
            if self._verdict(body).scored_at >= before:
                break
            last = offset
        rows.close()
        if last is not None:
            connection.execute("DELETE FROM evidence WHERE offset <= ?", (last,))

    def of_exchange(self, exchange_id: str) -> list[Verdict]:
        """Verdicts already logged for an exchange, oldest first."""
        rows = self._database.connection().execute(
            "SELECT body FROM verdicts WHERE exchange_id = ? ORDER BY offset", (exchange_id,)
        )
        return [self._verdict(body) for (body,) in rows.fetchall()]

    def read_after(self, offset: int, limit: int) -> list[LoggedVerdict]:
        """Up to `limit` verdicts after `offset`, in log order."""
        rows = self._database.connection().execute(
            "SELECT offset, body FROM verdicts WHERE offset > ? ORDER BY offset LIMIT ?", (offset, limit)
        )
        return [LoggedVerdict(place, self._verdict(body)) for place, body in rows.fetchall()]

    def approve(self, approval: Approval) -> bool:
        """Store an approval behind all verdicts there are; False if it is there already."""
        with self._database.write() as connection:
            known = connection.execute("SELECT 1 FROM approvals WHERE id = ?", (approval.id,)).fetchone()
            if known:
                return False
            # Takes the next place of the verdicts, which none of them gets any more.
            offset = connection.execute(
                "INSERT INTO verdicts (id, exchange_id, route, perturbation, body) VALUES (?, ?, ?, ?, ?)",
                (f"approval/{approval.id}", "", "", "", ""),
            ).lastrowid
            connection.execute("DELETE FROM verdicts WHERE offset = ?", (offset,))
            connection.execute(
                "INSERT INTO approvals (offset, id, body) VALUES (?, ?, ?)",
                (offset, approval.id, approval.to_json()),
            )
        return True

    def entries_after(self, offset: int, limit: int) -> list[LoggedVerdict | LoggedApproval]:
        """Up to `limit` verdicts and approvals after `offset`, in log order."""
        # One statement, so that both are read as of one moment: none is passed over.
        rows = self._database.connection().execute(
            "SELECT offset, 0, body FROM verdicts WHERE offset > ?1 UNION ALL"
            " SELECT offset, 1, body FROM approvals WHERE offset > ?1 ORDER BY offset LIMIT ?2",
            (offset, limit),
        )
        return [
            LoggedApproval(place, Approval.from_json(body))
            if approved
            else LoggedVerdict(place, self._verdict(body))
            for place, approved, body in rows.fetchall()
        ]

    def approvals(self) -> list[LoggedApproval]:
        """Every approval, in log order."""
        rows = self._database.connection().execute("SELECT offset, body FROM approvals ORDER BY offset")
        return [LoggedApproval(place, Approval.from_json(body)) for place, body in rows.fetchall()]

    def read_before(self, offset: int | None, limit: int, narrow: Narrow = ANYTHING) -> Stretch:
        """Up to `limit` verdicts before `offset` that are looked for, newest first; all that are read."""
        conditions, values = _narrowed(narrow)
        if offset is not None:
            conditions.append("offset < ?")
            values.append(offset)
        chosen = f"SELECT offset FROM verdicts WHERE {' AND '.join(conditions) or '1'}"  # noqa: S608
        rows = (
            self._database.connection()
            .execute(
                "SELECT offset, body FROM verdicts WHERE offset IN "  # noqa: S608 - values are bound
                f"({chosen} ORDER BY offset DESC LIMIT ?) ORDER BY offset DESC",
                (*values, limit),
            )
            .fetchall()
        )
        found = [LoggedVerdict(place, self._verdict(body)) for place, body in rows]
        return Stretch(found, found[-1].offset if len(found) == limit else 0, len(found))

    def latest(
        self, limit: int, *, route: str | None = None, perturbation: str | None = None
    ) -> list[Verdict]:
        """The newest verdicts, newest first."""
        rows = self._database.connection().execute(
            "SELECT body FROM verdicts WHERE (?1 IS NULL OR route = ?1) AND (?2 IS NULL OR perturbation = ?2)"
            " ORDER BY offset DESC LIMIT ?3",
            (route, perturbation, limit),
        )
        return [self._verdict(body) for (body,) in rows.fetchall()]

    def find(self, verdict_id: str) -> Verdict | None:
        """The verdict with this id."""
        row = (
            self._database.connection()
            .execute("SELECT body FROM verdicts WHERE id = ?", (verdict_id,))
            .fetchone()
        )
        return self._verdict(row[0]) if row else None

    def evidence(self, verdict_id: str) -> Evidence | None:
        """Prompts and answers behind a verdict; None once they are no longer kept."""
        row = (
            self._database.connection()
            .execute("SELECT body FROM evidence WHERE verdict_id = ?", (verdict_id,))
            .fetchone()
        )
        if row is None:
            return None
        packed = self._database.seal.open(row[0], f"evidence/{verdict_id}")
        return evidence_from_json(zlib.decompress(packed).decode())

    def _verdict(self, body: str) -> Verdict:
        return sealed_verdict.read(body, self._database.seal)


def _narrowed(narrow: Narrow) -> tuple[list[str], list[str | int]]:
    """Conditions on the columns, and the values bound in them."""
    conditions: list[str] = []
    values: list[str | int] = []
    for column, value in (("route", narrow.route), ("perturbation", narrow.perturbation)):
        if value is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    if narrow.category is not None:
        conditions.append("perturbation >= ? AND perturbation < ?")
        values += [f"{narrow.category}.", f"{narrow.category}/"]  # "/" is the character after "."
    if narrow.ratings is not None:
        given = [rating for rating in narrow.ratings if rating is not None]
        either = [f"rating IN ({','.join('?' * len(given))})"] if given else []
        either += ["rating IS NULL"] if None in narrow.ratings else []
        conditions.append(f"({' OR '.join(either) or '0'})")
        values += given
    return conditions, values


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

    def offset(self) -> int:
        """The log offset that the last committed checkpoint includes; 0 before the first."""
        row = self._database.connection().execute("SELECT offset FROM monitor_state").fetchone()
        return int(row[0]) if row else 0

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
            if events:
                connection.execute(
                    "DELETE FROM alert_events WHERE delivered AND seq <="
                    " (SELECT max(seq) FROM alert_events) - ?",
                    (_ALERTS_KEPT,),
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
