"""The file that outlives a killed run: answers, rulings, rewritten texts, and what calls did cost."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from evenkeel.llm.price import Expense
from evenkeel.settings import SettingsError
from evenkeel.stores.sqlite import Database, StoreError

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
    """How far the rules of thumb were off, and what was spent, by plan."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            "CREATE TABLE IF NOT EXISTS bench_factors (plan TEXT PRIMARY KEY, factors TEXT NOT NULL)"
            " WITHOUT ROWID"
        )
        database.create(
            "CREATE TABLE IF NOT EXISTS bench_estimates (plan TEXT PRIMARY KEY, usd REAL NOT NULL)"
            " WITHOUT ROWID"
        )
        database.create(
            "CREATE TABLE IF NOT EXISTS bench_spent (plan TEXT, payee TEXT, tokens INTEGER NOT NULL,"
            " usd REAL NOT NULL, PRIMARY KEY (plan, payee)) WITHOUT ROWID"
        )

    def get(self, plan: str) -> dict[str, float] | None:
        """The factors by payee; None before they were measured."""
        row = self._row("SELECT factors FROM bench_factors WHERE plan = ?", plan)
        return None if row is None else dict(json.loads(row[0]))

    def put(self, plan: str, factors: Mapping[str, float], estimated_usd: float | None) -> None:
        """Remember them, and the estimate of the whole run that they led to."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO bench_factors (plan, factors) VALUES (?, ?)",
                (plan, json.dumps(dict(factors))),
            )
            if estimated_usd is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO bench_estimates (plan, usd) VALUES (?, ?)", (plan, estimated_usd)
                )

    def estimate_usd(self, plan: str) -> float | None:
        """Of the whole run, made on its first issues; None if there was none."""
        row = self._row("SELECT usd FROM bench_estimates WHERE plan = ?", plan)
        return None if row is None else float(row[0])

    def add_spent(self, plan: str, spent: Mapping[str, Expense]) -> None:
        """Book what was spent since the last time, by payee: a killed run has spent it too."""
        rows = [(plan, payee, one.tokens, one.usd) for payee, one in spent.items() if one.tokens or one.usd]
        if rows:
            with self._database.write() as connection:
                connection.executemany(
                    "INSERT INTO bench_spent (plan, payee, tokens, usd) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (plan, payee) DO UPDATE"
                    " SET tokens = tokens + excluded.tokens, usd = usd + excluded.usd",
                    rows,
                )

    def spent(self, plan: str) -> dict[str, Expense]:
        """All that was booked, by payee."""
        query = "SELECT payee, tokens, usd FROM bench_spent WHERE plan = ? ORDER BY payee"
        rows = self._database.connection().execute(query, (plan,)).fetchall()
        return {payee: Expense(tokens, usd) for payee, tokens, usd in rows}

    def _row(self, query: str, plan: str) -> Any:
        return self._database.connection().execute(query, (plan,)).fetchone()

    def answers(self) -> int:
        """Answers in the journal, whoever asked for them."""
        row = self._database.connection().execute("SELECT count(*) FROM gate_answers").fetchone()
        return int(row[0])
