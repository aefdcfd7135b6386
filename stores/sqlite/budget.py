"""The budgets of all processes together, in the embedded store."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Final

from evenkeel.core.budget import NOTHING, CostTracker, Spend, day_share_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping

    from evenkeel.core.budget import Budget, Refused, SpendKind
    from evenkeel.stores.sqlite.database import Database

_SILENT_S: Final = 900.0
"""A process that holds something and has neither reserved nor settled for so long is dead: no trial takes that
long."""
_LEAST_USD: Final = 1e-9
"""Less is what sums of floats leave over."""


class SqliteCostTracker(CostTracker):
    """`CostTracker` on SQLite: worker and monitor together keep to the budgets; survives restarts.

    What one of them has set aside counts for all. What a dead one has set aside is booked as spent after a
    quarter of an hour: nobody knows which of its calls were made.
    """

    def __init__(
        self,
        database: Database,
        budget: Budget,
        clock: Callable[[], float],
        routes: Mapping[str, Budget] | None = None,
    ) -> None:
        """Open the tracker in a database; further arguments as of `CostTracker`."""
        super().__init__(budget, clock, routes)
        self._database = database
        self._lock = threading.Lock()
        self._holder = secrets.token_hex(8)
        self._reserved: dict[str, Spend] = {}
        database.create(
            """CREATE TABLE IF NOT EXISTS spend (
                 day TEXT NOT NULL, route TEXT NOT NULL, kind TEXT NOT NULL, tokens INTEGER NOT NULL,
                 usd REAL NOT NULL, PRIMARY KEY (day, route, kind))""",
            """CREATE TABLE IF NOT EXISTS spend_aside (
                 holder TEXT NOT NULL, route TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL,
                 at REAL NOT NULL, PRIMARY KEY (holder, route))""",
        )

    def by_route_and_kind(self) -> dict[tuple[str, SpendKind], Spend]:
        """As `CostTracker.by_route_and_kind`."""
        rows = self._database.rows(
            "SELECT route, kind, tokens, usd FROM spend WHERE day = ? ORDER BY route, kind", (self._day(),)
        )
        return {(route, kind): Spend(tokens, usd) for route, kind, tokens, usd in rows}

    def reserve(self, estimate: Spend, route: str) -> Refused | None:
        """As `CostTracker.reserve`."""
        with self._lock, self._database.write() as connection:
            self._book_the_dead(connection)
            day_share = day_share_of(self._clock())
            limits: list[tuple[Budget, str | None]] = [(self.budget, None)]
            if route in self._routes:
                limits.append((self._routes[route], route))
            for budget, name in limits:
                planned = self.today(name).plus(_aside(connection, name)).plus(estimate)
                refused = budget.refusal(planned, day_share)
                if refused is not None:
                    return refused
            held = self._reserved.get(route, NOTHING).plus(estimate)
            self._hold(connection, route, held)
            self._reserved[route] = held
            return None

    def settle(self, estimate: Spend, route: str, spent: Mapping[SpendKind, Spend]) -> None:
        """As `CostTracker.settle`."""
        with self._lock:
            held = self._reserved[route] = self._reserved.get(route, NOTHING).minus(estimate)
            with self._database.write() as connection:
                self._hold(connection, route, held)
                self._book(connection, route, spent)

    def _hold(self, connection: sqlite3.Connection, route: str, held: Spend) -> None:
        """Note for the other processes what this one has set aside."""
        if held.tokens <= 0 and held.usd < _LEAST_USD:
            drop = "DELETE FROM spend_aside WHERE holder = ? AND route = ?"
            connection.execute(drop, (self._holder, route))
            return
        connection.execute(
            "INSERT OR REPLACE INTO spend_aside (holder, route, tokens, usd, at) VALUES (?, ?, ?, ?, ?)",
            (self._holder, route, *held, self._clock()),
        )

    def _book(self, connection: sqlite3.Connection, route: str, spent: Mapping[SpendKind, Spend]) -> None:
        connection.executemany(
            "INSERT INTO spend (day, route, kind, tokens, usd) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (day, route, kind) DO UPDATE SET"
            " tokens = tokens + excluded.tokens, usd = usd + excluded.usd",
            [(self._day(), route, kind, *amount) for kind, amount in spent.items() if any(amount)],
        )

    def _book_the_dead(self, connection: sqlite3.Connection) -> None:
        dead = "FROM spend_aside WHERE at < ? AND holder != ?"
        bounds = (self._clock() - _SILENT_S, self._holder)
        for route, *held in connection.execute(f"SELECT route, tokens, usd {dead}", bounds).fetchall():
            self._book(connection, route, {"replay": Spend(*held)})
        connection.execute(f"DELETE {dead}", bounds)


def _aside(connection: sqlite3.Connection, route: str | None) -> Spend:
    """What all processes have set aside, for one route or all."""
    sums = "SELECT coalesce(sum(tokens), 0), coalesce(sum(usd), 0.0) FROM spend_aside"
    if route is None:
        return Spend(*connection.execute(sums).fetchone())
    return Spend(*connection.execute(f"{sums} WHERE route = ?", (route,)).fetchone())
