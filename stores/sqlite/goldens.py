"""Goldens in the embedded store."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from evenkeel.stores.goldens import (
    Deed,
    Entry,
    Imported,
    already_there,
    as_imported,
    check_approvable,
    pack_golden,
    says_the_same,
    unknown,
    unpack_golden,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    from evenkeel.stores.goldens import Golden
    from evenkeel.stores.sealing import Seal
    from evenkeel.stores.sqlite.database import Database

_IDS_AT_ONCE = 500


class SqliteGoldens:
    """`GoldenStore` on SQLite. Any number of processes may share it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            """CREATE TABLE IF NOT EXISTS goldens (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, version INTEGER NOT NULL,
                 route TEXT NOT NULL, task TEXT, retired INTEGER NOT NULL, body BLOB NOT NULL,
                 UNIQUE (id, version))""",
            "CREATE INDEX IF NOT EXISTS goldens_route ON goldens (route, seq)",
            """CREATE TABLE IF NOT EXISTS golden_trail (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, golden_id TEXT NOT NULL, body TEXT NOT NULL)""",
            "CREATE INDEX IF NOT EXISTS golden_trail_golden ON golden_trail (golden_id, seq)",
        )

    def approve(self, golden: Golden, *, by: str, at: float) -> Golden:
        """As `GoldenStore`."""
        check_approvable(golden, by)
        with self._database.write() as connection:
            newest = _newest(connection, self._database.seal, golden.id)
            if newest is not None and says_the_same(newest, golden):
                return _in_use_again(connection, self._database.seal, newest, by, at)
            approved = replace(
                golden,
                version=newest.version + 1 if newest else 1,
                approved_by=by,
                approved_at=at,
                retired_by=None,
                retired_at=None,
            )
            _insert(connection, self._database.seal, approved)
            _note(connection, approved, Deed.APPROVED, by, at)
        return approved

    def retire(self, golden_id: str, *, by: str, at: float) -> Golden:
        """As `GoldenStore`."""
        with self._database.write() as connection:
            newest = _newest(connection, self._database.seal, golden_id)
            if newest is None:
                raise unknown(golden_id)
            check_approvable(newest, by)
            if newest.retired_at is not None:
                return newest
            retired = replace(newest, retired_by=by, retired_at=at)
            _update(connection, self._database.seal, retired)
            _note(connection, retired, Deed.RETIRED, by, at)
        return retired

    def unretire(self, golden_id: str, *, by: str, at: float) -> Golden:
        """As `GoldenStore`."""
        with self._database.write() as connection:
            newest = _newest(connection, self._database.seal, golden_id)
            if newest is None:
                raise unknown(golden_id)
            check_approvable(newest, by)
            return _in_use_again(connection, self._database.seal, newest, by, at)

    def add(self, goldens: Sequence[Golden], *, by: str, at: float) -> Imported:
        """As `GoldenStore`."""
        added = known = 0
        with self._database.write() as connection:
            for given in goldens:
                golden = as_imported(given, by=by, at=at)
                there = _version(connection, self._database.seal, golden.id, golden.version)
                if there is None:
                    _insert(connection, self._database.seal, golden)
                    _note(connection, golden, Deed.IMPORTED, by, at)
                    added += 1
                elif says_the_same(there, golden):
                    known += 1
                else:
                    highest = _newest(connection, self._database.seal, golden.id)
                    assert highest is not None
                    raise already_there(golden, highest.version)
        return Imported(added, known)

    def select(
        self,
        *,
        route: str | None = None,
        task: str | None = None,
        active: bool = True,
        limit: int | None = None,
    ) -> tuple[Golden, ...]:
        """As `GoldenStore`."""
        rows = self._database.connection().execute(
            "SELECT body FROM goldens WHERE (?1 IS NULL OR route = ?1) AND (?2 IS NULL OR task = ?2)"
            " AND NOT (?3 AND retired)"
            " AND version = (SELECT MAX(version) FROM goldens AS other WHERE other.id = goldens.id)"
            " ORDER BY seq DESC LIMIT ?4",
            (_column(route), _column(task), active, -1 if limit is None else limit),
        )
        return tuple(unpack_golden(body, self._database.seal) for (body,) in rows.fetchall())

    def find(self, golden_id: str, version: int | None = None) -> Golden | None:
        """As `GoldenStore`."""
        connection = self._database.connection()
        return (
            _newest(connection, self._database.seal, golden_id)
            if version is None
            else _version(connection, self._database.seal, golden_id, version)
        )

    def history(self, golden_id: str) -> tuple[Golden, ...]:
        """As `GoldenStore`."""
        rows = self._database.connection().execute(
            "SELECT body FROM goldens WHERE id = ? ORDER BY version", (_column(golden_id),)
        )
        return tuple(unpack_golden(body, self._database.seal) for (body,) in rows.fetchall())

    def trail(self, golden_id: str) -> tuple[Entry, ...]:
        """As `GoldenStore`."""
        rows = self._database.connection().execute(
            "SELECT body FROM golden_trail WHERE golden_id = ? ORDER BY seq", (_column(golden_id),)
        )
        entries = (json.loads(body) for (body,) in rows.fetchall())
        return tuple(Entry(**{**entry, "deed": Deed(entry["deed"])}) for entry in entries)

    def labels(self) -> tuple[tuple[str, str | None], ...]:
        """As `GoldenStore`."""
        rows = self._database.connection().execute(
            "SELECT DISTINCT route, task FROM goldens ORDER BY route, task"
        )
        return tuple((route, task) for route, task in rows.fetchall())

    def known_ids(self, ids: Iterable[str]) -> frozenset[str]:
        """As `GoldenStore`."""
        wanted = list(ids)
        found: set[str] = set()
        for start in range(0, len(wanted), _IDS_AT_ONCE):
            rows = self._database.connection().execute(
                "SELECT DISTINCT id FROM goldens WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps([_column(one) for one in wanted[start : start + _IDS_AT_ONCE]]),),
            )
            found.update(name for (name,) in rows.fetchall())
        return frozenset(found)


def _newest(connection: sqlite3.Connection, seal: Seal, golden_id: str) -> Golden | None:
    row = connection.execute(
        "SELECT body FROM goldens WHERE id = ? ORDER BY version DESC LIMIT 1", (_column(golden_id),)
    ).fetchone()
    return unpack_golden(row[0], seal) if row else None


def _version(connection: sqlite3.Connection, seal: Seal, golden_id: str, version: int) -> Golden | None:
    row = connection.execute(
        "SELECT body FROM goldens WHERE id = ? AND version = ?", (_column(golden_id), version)
    ).fetchone()
    return unpack_golden(row[0], seal) if row else None


def _in_use_again(connection: sqlite3.Connection, seal: Seal, newest: Golden, by: str, at: float) -> Golden:
    if newest.retired_at is None:
        return newest
    back = replace(newest, retired_by=None, retired_at=None)
    _update(connection, seal, back)
    _note(connection, back, Deed.UNRETIRED, by, at)
    return back


def _insert(connection: sqlite3.Connection, seal: Seal, golden: Golden) -> None:
    connection.execute(
        "INSERT INTO goldens (id, version, route, task, retired, body) VALUES (?, ?, ?, ?, ?, ?)",
        (
            golden.id,
            golden.version,
            _column(golden.route),
            _column(golden.task),
            golden.retired_at is not None,
            pack_golden(golden, seal),
        ),
    )


def _update(connection: sqlite3.Connection, seal: Seal, golden: Golden) -> None:
    connection.execute(
        "UPDATE goldens SET retired = ?, body = ? WHERE id = ? AND version = ?",
        (golden.retired_at is not None, pack_golden(golden, seal), golden.id, golden.version),
    )


def _note(connection: sqlite3.Connection, golden: Golden, deed: Deed, by: str, at: float) -> None:
    entry = Entry(golden.id, golden.version, deed, by, at, golden.model, golden.prompt_version)
    connection.execute(
        "INSERT INTO golden_trail (golden_id, body) VALUES (?, ?)", (golden.id, json.dumps(asdict(entry)))
    )


def _column(text: str | None) -> str | None:
    """Text as SQLite can hold it: half a surrogate pair, which clients can send, becomes "?"."""
    return None if text is None else text.encode("utf-8", "replace").decode()
