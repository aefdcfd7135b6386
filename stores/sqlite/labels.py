"""Labels in the embedded store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenkeel.stores.labels import pack_label, pack_texts, says_the_same, unpack_label, unpack_texts
from evenkeel.stores.labels import unknown_label as unknown

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterable

    from evenkeel.core.verdict import Evidence
    from evenkeel.stores.labels import Label
    from evenkeel.stores.sealing import Seal
    from evenkeel.stores.sqlite.database import Database

_IDS_AT_ONCE = 500


class SqliteLabels:
    """`LabelStore` on SQLite. Any number of processes may share it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            """CREATE TABLE IF NOT EXISTS labels (
                 seq INTEGER PRIMARY KEY AUTOINCREMENT, verdict_id TEXT NOT NULL, by TEXT NOT NULL,
                 version INTEGER NOT NULL, route TEXT NOT NULL, counts INTEGER NOT NULL, body TEXT NOT NULL,
                 UNIQUE (verdict_id, by, version))""",
            "CREATE TABLE IF NOT EXISTS label_texts (verdict_id TEXT PRIMARY KEY, body BLOB NOT NULL)",
        )

    def put(self, label: Label, texts: Evidence | None) -> Label:
        """As `LabelStore`."""
        seal = self._database.seal
        with self._database.write() as connection:
            newest = _newest(connection, seal, label.verdict_id, label.by)
            given = replace(label, version=newest.version + 1 if newest else 1, withdrawn_at=None)
            if newest is not None and says_the_same(newest, given):
                return newest
            _insert(connection, seal, given)
            if texts is not None:
                connection.execute(
                    "INSERT OR IGNORE INTO label_texts (verdict_id, body) VALUES (?, ?)",
                    (_column(label.verdict_id), pack_texts(texts, label.verdict_id, seal)),
                )
        return given

    def withdraw(self, verdict_id: str, by: str, *, at: float) -> Label:
        """As `LabelStore`."""
        seal = self._database.seal
        with self._database.write() as connection:
            newest = _newest(connection, seal, verdict_id, by)
            if newest is None:
                raise unknown(verdict_id, by)
            if newest.withdrawn_at is not None:
                return newest
            withdrawn = replace(newest, version=newest.version + 1, withdrawn_at=at)
            _insert(connection, seal, withdrawn)
        return withdrawn

    def of_verdict(self, verdict_id: str) -> tuple[Label, ...]:
        """As `LabelStore`."""
        newest = {label.by: label for label in self.history(verdict_id)}
        return tuple(newest.values())

    def history(self, verdict_id: str) -> tuple[Label, ...]:
        """As `LabelStore`."""
        return self._read("WHERE verdict_id = ? ORDER BY seq", (_column(verdict_id),))

    def select(self, *, route: str | None = None, limit: int | None = None) -> tuple[Label, ...]:
        """As `LabelStore`."""
        return self._read(
            "WHERE counts AND (?1 IS NULL OR route = ?1) AND version = (SELECT MAX(version) FROM labels"
            " AS other WHERE other.verdict_id = labels.verdict_id AND other.by = labels.by)"
            " ORDER BY seq DESC LIMIT ?2",
            (None if route is None else _column(route), -1 if limit is None else limit),
        )

    def texts(self, verdict_id: str) -> Evidence | None:
        """As `LabelStore`."""
        row = (
            self._database.connection()
            .execute("SELECT body FROM label_texts WHERE verdict_id = ?", (_column(verdict_id),))
            .fetchone()
        )
        return unpack_texts(row[0], verdict_id, self._database.seal) if row else None

    def labelled(self, verdict_ids: Collection[str]) -> frozenset[str]:
        """As `LabelStore`."""
        wanted = [_column(one) for one in verdict_ids]
        found: set[str] = set()
        for start in range(0, len(wanted), _IDS_AT_ONCE):
            part = wanted[start : start + _IDS_AT_ONCE]
            places = ",".join("?" * len(part))
            rows = self._database.connection().execute(
                "SELECT verdict_id FROM labels WHERE counts AND version = (SELECT MAX(version) FROM labels"  # noqa: S608 - question marks
                " AS other WHERE other.verdict_id = labels.verdict_id AND other.by = labels.by)"
                f" AND verdict_id IN ({places})",
                part,
            )
            found.update(verdict_id for (verdict_id,) in rows)
        return frozenset(one for one in verdict_ids if _column(one) in found)

    def revision(self) -> int:
        """As `LabelStore`."""
        row = self._database.connection().execute("SELECT MAX(seq) FROM labels").fetchone()
        return row[0] or 0

    def _read(self, rest: str, values: tuple[object, ...]) -> tuple[Label, ...]:
        rows: Iterable[tuple[str]] = self._database.connection().execute(
            f"SELECT body FROM labels {rest}",  # noqa: S608 - the parts are written above
            values,
        )
        return tuple(unpack_label(body, self._database.seal) for (body,) in rows)


def _newest(connection: sqlite3.Connection, seal: Seal, verdict_id: str, by: str) -> Label | None:
    row = connection.execute(
        "SELECT body FROM labels WHERE verdict_id = ? AND by = ? ORDER BY version DESC LIMIT 1",
        (_column(verdict_id), _column(by)),
    ).fetchone()
    return unpack_label(row[0], seal) if row else None


def _insert(connection: sqlite3.Connection, seal: Seal, label: Label) -> None:
    connection.execute(
        "INSERT INTO labels (verdict_id, by, version, route, counts, body) VALUES (?, ?, ?, ?, ?, ?)",
        (
            _column(label.verdict_id),
            _column(label.by),
            label.version,
            _column(label.route),
            label.withdrawn_at is None,
            pack_label(label, seal),
        ),
    )


def _column(text: str) -> str:
    """Text as a column can hold it: half a surrogate pair becomes "?"."""
    return text.encode("utf-8", "replace").decode()
