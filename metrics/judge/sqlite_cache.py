"""Rulings kept in the embedded store: they outlive the process and are shared by all of a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.metrics.judge.reply import Ruling

if TYPE_CHECKING:
    from evenkeel.stores.sqlite.database import Database

_KEPT = 20_000
"""As many as pieces of evidence; with explanations of usual length some 10 MB."""


class SqliteJudgeCache:
    """The newest rulings, by the time they were put. Explanations may quote what was judged."""

    def __init__(self, database: Database, *, kept: int = _KEPT) -> None:
        self._database = database
        self._kept = kept
        database.create(
            """CREATE TABLE IF NOT EXISTS judge_rulings (
                 seq INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, rating INTEGER NOT NULL,
                 explanation TEXT NOT NULL)"""
        )

    def __len__(self) -> int:
        row = self._database.connection().execute("SELECT count(*) FROM judge_rulings").fetchone()
        return int(row[0])

    def get(self, key: str) -> Ruling | None:
        """The ruling, None if there is none (any more)."""
        row = (
            self._database.connection()
            .execute("SELECT rating, explanation FROM judge_rulings WHERE key = ?", (bytes.fromhex(key),))
            .fetchone()
        )
        return Ruling(row[0], self._database.seal.open_text(row[1], f"ruling/{key}")) if row else None

    def put(self, key: str, ruling: Ruling) -> None:
        """Remember a ruling and forget the oldest beyond the number kept."""
        explanation = self._database.seal.close_text(ruling.explanation, f"ruling/{key}")
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO judge_rulings (key, rating, explanation) VALUES (?, ?, ?)"
                " ON CONFLICT (key) DO UPDATE"
                " SET rating = excluded.rating, explanation = excluded.explanation",
                (bytes.fromhex(key), ruling.rating, explanation),
            )
            # Row numbers are given without gaps, so those above the limit are `kept` rows.
            connection.execute(
                "DELETE FROM judge_rulings WHERE seq <= (SELECT max(seq) FROM judge_rulings) - ?",
                (self._kept,),
            )
