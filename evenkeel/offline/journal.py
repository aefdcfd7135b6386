"""The file that outlives a killed run: answers, rulings, rewritten texts, and what calls did cost."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from evenkeel.settings import SettingsError
from metrics.stores.sqlite import Database, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def open_journal(path: Path) -> Database:
    """Open a journal, or begin one.

    Raises: SettingsError in one line.
    """
    if path.is_dir():
        raise SettingsError(f"--journal {path}: is a folder; name a file")
    try:
        return Database(path)
    except StoreError as error:
        raise SettingsError(f"--journal {path}: cannot be used; name another file ({error})") from error


def plan_key(parts: Mapping[str, object]) -> str:
    """Names a plan by everything that decides what its calls cost."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Measured:
    """How far the rules of thumb were off, by plan."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            "CREATE TABLE IF NOT EXISTS bench_factors (plan TEXT PRIMARY KEY, factors TEXT NOT NULL)"
            " WITHOUT ROWID"
        )

    def get(self, plan: str) -> dict[str, float] | None:
        """The factors by payee; None before they were measured."""
        row = (
            self._database.connection()
            .execute("SELECT factors FROM bench_factors WHERE plan = ?", (plan,))
            .fetchone()
        )
        return None if row is None else dict(json.loads(row[0]))

    def put(self, plan: str, factors: Mapping[str, float]) -> None:
        """Remember them."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO bench_factors (plan, factors) VALUES (?, ?)",
                (plan, json.dumps(dict(factors))),
            )

    def answers(self) -> int:
        """Answers in the journal, whoever asked for them."""
        row = self._database.connection().execute("SELECT count(*) FROM gate_answers").fetchone()
        return int(row[0])
