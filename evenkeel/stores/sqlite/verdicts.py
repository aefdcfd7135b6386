"""Verdict log in a SQLite file."""

from __future__ import annotations

import json
import time
from math import inf
from typing import TYPE_CHECKING, Final

from evenkeel.stores.payloads import (
    pack_evidence,
    pack_verdict,
    storable,
    unpack_evidence,
    unpack_verdict,
)
from evenkeel.stores.trial_index import ANYTHING, COLUMNS, Narrow
from evenkeel.stores.verdict_log import (
    LoggedNote,
    LoggedVerdict,
    Stretch,
    approvals_in,
    is_kept,
    note_of_text,
    note_to_text,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

    from evenkeel.core.approval import Approval
    from evenkeel.core.verdict import Evidence, Verdict
    from evenkeel.stores.sqlite.database import Database
    from evenkeel.stores.trial_index import Value
    from evenkeel.stores.verdict_log import Logged, Note


_VERDICTS_KEPT = 500_000
_EVIDENCE_KEPT = 20_000
# Trimming looks for the oldest rows; once in so many verdicts its cost does not show.
_TRIM_EVERY = 500
# Verdicts removed at once: more than arrive between two trims, so that a lowered limit is reached.
_TRIMMED_AT_ONCE = 2_000


class SqliteVerdictLog:
    """Verdict log on SQLite. Offsets are the table's row ids, which SQLite never reuses.

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
                 body TEXT NOT NULL)""",
            "CREATE INDEX IF NOT EXISTS verdicts_exchange ON verdicts (exchange_id)",
            # Narrow rows beside the bodies: without a better index, going through all of them is fast.
            f"""CREATE TABLE IF NOT EXISTS trials (
                 offset INTEGER PRIMARY KEY, scored_at REAL NOT NULL, {", ".join(COLUMNS)})""",
            "CREATE INDEX IF NOT EXISTS trials_route ON trials (route)",
            "CREATE INDEX IF NOT EXISTS trials_cell ON trials (route, perturbation)",
            "CREATE INDEX IF NOT EXISTS trials_perturbation ON trials (perturbation)",
            "CREATE INDEX IF NOT EXISTS trials_client ON trials (client)",
            "CREATE INDEX IF NOT EXISTS trials_session ON trials (session)",
            """CREATE TABLE IF NOT EXISTS evidence (
                 offset INTEGER PRIMARY KEY, verdict_id TEXT NOT NULL UNIQUE, body BLOB NOT NULL)""",
            "CREATE TABLE IF NOT EXISTS log_figures (name TEXT PRIMARY KEY, number INTEGER NOT NULL)",
            """CREATE TABLE IF NOT EXISTS notes (
                 offset INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kept INTEGER NOT NULL,
                 body TEXT NOT NULL)""",
            "CREATE INDEX IF NOT EXISTS notes_kept ON notes (kept, offset)",
        )

    def append(self, verdict: Verdict, evidence: Evidence | None) -> bool:
        """Store a verdict and its evidence in one transaction; False if the id is there already."""
        seal, name = self._database.seal, storable(verdict.id)
        packed = pack_evidence(evidence, f"evidence/{verdict.id}", seal) if evidence else None
        with self._database.write() as connection:
            # Not `INSERT OR IGNORE`: that takes an offset even if it ignores, and the limit counts offsets.
            if connection.execute("SELECT 1 FROM verdicts WHERE id = ?", (name,)).fetchone():
                return False
            cursor = connection.execute(
                "INSERT INTO verdicts (id, exchange_id, body) VALUES (?, ?, ?)",
                (name, storable(verdict.exchange_id), pack_verdict(verdict, seal)),
            )
            offset = cursor.lastrowid
            assert offset is not None
            connection.execute(_INDEX, (offset, verdict.scored_at, *map(_stored, _values(verdict))))
            if packed is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO evidence (offset, verdict_id, body) VALUES (?, ?, ?)",
                    (offset, name, packed),
                )
            self._trim_now_and_then(connection, offset)
        return True

    def _trim_now_and_then(self, connection: sqlite3.Connection, newest: int) -> None:
        self._appended += 1
        if self._appended % _TRIM_EVERY == 0:
            self._trim(connection, newest)

    def trim(self) -> int:
        """Remove everything no longer kept, as after a limit was lowered. Return the number of verdicts."""
        total = 0
        while True:
            with self._database.write() as connection:
                (newest,) = connection.execute("SELECT coalesce(max(offset), 0) FROM verdicts").fetchone()
                removed = self._trim(connection, newest)
            total += removed
            if removed < _TRIMMED_AT_ONCE:
                return total

    def trimmed(self) -> int:
        """Count the verdicts that are no longer kept."""
        row = self._database.row("SELECT number FROM log_figures WHERE name = 'verdicts_trimmed'")
        return int(row[0]) if row else 0

    def _trim(self, connection: sqlite3.Connection, newest: int) -> int:
        """Remove a bounded number of verdicts, so that no other process waits long for the file."""
        last = newest - self._kept
        # A monitor that is behind must find what it has not folded, but may not hold up the limit for ever.
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
            # Offsets have no gaps but notes, so everything below the oldest verdict belongs to removed ones.
            for table in ("trials", "evidence"):
                connection.execute(
                    f"DELETE FROM {table} WHERE offset < (SELECT coalesce(min(offset), ?) FROM verdicts)",  # noqa: S608 - ours
                    (newest + 1,),
                )
        connection.execute("DELETE FROM notes WHERE NOT kept AND offset <= ?", (last,))
        connection.execute(
            "DELETE FROM evidence WHERE offset <= ? OR offset IN"
            " (SELECT offset FROM evidence JOIN trials USING (offset) WHERE scored_at < ?)",
            (newest - self._evidence_kept, self._clock() - self._evidence_s),
        )
        return removed

    def of_exchange(self, exchange_id: str) -> list[Verdict]:
        """Return the verdicts already logged for an exchange, oldest first."""
        rows = self._database.rows(
            "SELECT body FROM verdicts WHERE exchange_id = ? ORDER BY offset", (storable(exchange_id),)
        )
        return [self._verdict(body) for (body,) in rows]

    def note(self, note: Note) -> bool:
        """Store a note behind all verdicts so far. Return False if it exists already."""
        name = storable(note.id)
        with self._database.write() as connection:
            if connection.execute("SELECT 1 FROM notes WHERE id = ?", (name,)).fetchone():
                return False
            # Takes the next place of the verdicts, which none of them gets any more.
            offset = connection.execute(
                "INSERT INTO verdicts (id, exchange_id, body) VALUES (?, ?, ?)", (f"note/{name}", "", "")
            ).lastrowid
            connection.execute("DELETE FROM verdicts WHERE offset = ?", (offset,))
            connection.execute(
                "INSERT INTO notes (offset, id, kept, body) VALUES (?, ?, ?, ?)",
                (offset, name, is_kept(note), storable(note_to_text(note))),
            )
            assert offset is not None
            self._trim_now_and_then(connection, offset)
        return True

    def entries_after(self, offset: int, limit: int) -> list[Logged]:
        """Return up to `limit` entries of any kind after `offset`, in log order."""
        # One statement, so that all are read as of one moment: none is passed over.
        rows = self._database.rows(
            "SELECT offset, 0, body FROM verdicts WHERE offset > ?1 UNION ALL"
            " SELECT offset, 1, body FROM notes WHERE offset > ?1 ORDER BY offset LIMIT ?2",
            (offset, limit),
        )
        entries: list[Logged] = []
        for entry_offset, noted, body in rows:
            if noted:
                entries.append(LoggedNote(entry_offset, note_of_text(body)))
            else:
                entries.append(LoggedVerdict(entry_offset, self._verdict(body)))
        return entries

    def approvals(self) -> list[Approval]:
        """Return every approval, in log order."""
        rows = self._database.rows("SELECT body FROM notes WHERE kept ORDER BY offset")
        return approvals_in(body for (body,) in rows)

    def read_before(self, offset: int | None, limit: int, narrow: Narrow = ANYTHING) -> Stretch:
        """Return up to `limit` verdicts before `offset` that `narrow` admits, newest first."""
        condition, values = _condition(narrow)
        if offset is not None:
            condition += " AND offset < ?"
            values.append(offset)
        # Chosen among the narrow rows of the index, so that bodies are read only of what is returned.
        chosen = f"SELECT offset FROM trials WHERE {condition} ORDER BY offset DESC LIMIT ?"  # noqa: S608
        rows = self._database.rows(
            f"SELECT offset, body FROM verdicts WHERE offset IN ({chosen}) ORDER BY offset DESC",  # noqa: S608
            (*values, limit),
        )
        verdicts = []
        for entry_offset, body in rows:
            verdicts.append(LoggedVerdict(entry_offset, self._verdict(body)))
        if not verdicts:
            return Stretch([], 0, 0)
        reached = verdicts[-1].offset if len(verdicts) == limit else 0
        return Stretch(verdicts, reached, len(verdicts))

    def latest(
        self, limit: int, *, route: str | None = None, perturbation: str | None = None
    ) -> list[Verdict]:
        """Return the newest verdicts, newest first."""
        narrow = Narrow.by(route=route, perturbation=perturbation)
        verdicts: list[Verdict] = []
        for logged in self.read_before(None, limit, narrow).verdicts:
            verdicts.append(logged.verdict)
        return verdicts

    def find(self, verdict_id: str) -> Verdict | None:
        """Return the verdict with this id."""
        row = self._database.row("SELECT body FROM verdicts WHERE id = ?", (storable(verdict_id),))
        return self._verdict(row[0]) if row else None

    def evidence(self, verdict_id: str) -> Evidence | None:
        """Return the prompts and answers behind a verdict; None once they are no longer kept."""
        row = self._database.row("SELECT body FROM evidence WHERE verdict_id = ?", (storable(verdict_id),))
        if row is None:
            return None
        return unpack_evidence(row[0], f"evidence/{verdict_id}", self._database.seal)

    def _verdict(self, body: str) -> Verdict:
        return unpack_verdict(body, self._database.seal)


# Statement that adds a trial to the index; it names the columns, as a file may have more of them.
_INDEX: Final = (
    f"INSERT INTO trials (offset, scored_at, {', '.join(COLUMNS)})"  # noqa: S608 - constants and marks only
    f" VALUES ({', '.join('?' * (2 + len(COLUMNS)))})"
)


def _values(verdict: Verdict) -> Iterator[Value]:
    return (column(verdict) for column in COLUMNS.values())


def _stored(value: Value) -> Value:
    return storable(value) if isinstance(value, str) else value


def _condition(narrow: Narrow) -> tuple[str, list[Value | float]]:
    parts: list[str] = []
    values: list[Value | float] = []
    for column, allowed in narrow.allowed:
        values_allowed = []
        for value in allowed:
            if value is not None:
                values_allowed.append(_stored(value))
        either = [f"{column} IN ({','.join('?' * len(values_allowed))})"] if values_allowed else []
        either += [f"{column} IS NULL"] if None in allowed else []
        parts.append(f"({' OR '.join(either) or '0'})")
        values += values_allowed
    for operator, moment in ((">=", narrow.since), ("<=", narrow.until)):
        if moment is not None:
            parts.append(f"scored_at {operator} ?")
            values.append(moment)
    if narrow.ids is not None:
        parts.append("offset IN (SELECT offset FROM verdicts WHERE id IN (SELECT value FROM json_each(?)))")
        values.append(json.dumps([storable(each) for each in sorted(narrow.ids)]))
    return " AND ".join(parts) or "1", values
