"""Budgets that all processes share, in the embedded store."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING

from evenkeel.core.budget import (
    FORGOTTEN_S,
    NOTHING,
    SILENT_S,
    CostTracker,
    Spend,
    beyond_share,
    passed,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.budget import Bound, Budget, Refused, SpendKind
    from evenkeel.stores.sqlite.database import Database

_BOOK = (
    "INSERT INTO spend (day, route, kind, tokens, usd) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (day, route, kind) DO UPDATE SET"
    " tokens = tokens + excluded.tokens, usd = usd + excluded.usd"
)
_HOLD = (
    "INSERT INTO spend_aside (holder, route, at, tokens, usd) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (holder, route) DO UPDATE SET"
    " at = excluded.at, tokens = tokens + excluded.tokens, usd = usd + excluded.usd"
)


class SqliteCostTracker(CostTracker):
    """`CostTracker` on SQLite, which keeps worker and monitor together within the budgets.

    What one of them has set aside counts for all; what a dead one has set aside is booked as lost after a
    quarter of an hour.
    """

    def __init__(
        self,
        database: Database,
        budget: Budget,
        clock: Callable[[], float],
        routes: Mapping[str, Budget] | None = None,
        sharing: Sequence[str] = (),
    ) -> None:
        """Open the tracker in a database; the other arguments are those of `CostTracker`."""
        super().__init__(budget, clock, routes, sharing)
        self._database = database
        self._holder = secrets.token_hex(8)
        self._lock = threading.Lock()
        database.create(
            """CREATE TABLE IF NOT EXISTS spend (
                 day TEXT NOT NULL, route TEXT NOT NULL, kind TEXT NOT NULL, tokens INTEGER NOT NULL,
                 usd REAL NOT NULL, PRIMARY KEY (day, route, kind))""",
            """CREATE TABLE IF NOT EXISTS spend_aside (
                 holder TEXT NOT NULL, route TEXT NOT NULL, tokens INTEGER NOT NULL, usd REAL NOT NULL,
                 at REAL NOT NULL, PRIMARY KEY (holder, route))""",
        )

    def by_route_and_kind(self) -> dict[tuple[str, SpendKind], Spend]:
        """Return the day's spending. See `CostTracker.by_route_and_kind`."""
        rows = self._database.rows(
            "SELECT route, kind, tokens, usd FROM spend WHERE day = ? ORDER BY route, kind",
            (self._day(),),
        )
        spends: dict[tuple[str, SpendKind], Spend] = {}
        for route, kind, tokens, usd in rows:
            spends[route, kind] = Spend(tokens, usd)
        return spends

    def reserve(
        self, estimate: Spend, route: str, *, urgent: bool = False, paced: bool = True, watch: bool = False
    ) -> Refused | None:
        """Set an estimate aside if the limits allow it. See `CostTracker.reserve`."""
        now = self._clock()
        bounds = self._bounds(estimate, route, urgent=urgent, paced=paced, watch=watch)
        others = self._others(route, urgent=urgent, paced=paced, watch=watch)
        # The write lock is held from the look at the spend to the reservation, so that two callers cannot
        # both find room for themselves. The other lock keeps threads of this process from waiting in SQLite.
        with self._lock, self._database.write() as connection:
            self._book_lost(connection, now)
            taken = self._taken(connection)
            for name in (None, route):
                taken[name] = taken.get(name, NOTHING).plus(estimate)
            refused = _refused(taken[None], bounds[0]) or _refused(taken[route], bounds[1])
            if refused is None and others and beyond_share(taken, route, others, bounds[0][-1].limit):
                refused = "budget_share"
            if refused is None:
                connection.execute(_HOLD, (self._holder, route, now, *estimate))
        return refused

    def settle(self, estimate: Spend, route: str, spent: Mapping[SpendKind, Spend]) -> None:
        """Replace an estimate by what was spent. See `CostTracker.settle`."""
        own = (self._holder, route)
        with self._lock, self._database.write() as connection:
            connection.execute(
                "UPDATE spend_aside SET at = ?, tokens = tokens - ?, usd = usd - ?"
                " WHERE holder = ? AND route = ?",
                (self._clock(), *estimate, *own),
            )
            connection.execute(
                # Sums of floats seldom come back to zero.
                "DELETE FROM spend_aside WHERE holder = ? AND route = ? AND tokens <= 0 AND usd < 1e-9",
                own,
            )
            day = self._day()
            for kind, amount in spent.items():
                if any(amount):
                    connection.execute(_BOOK, (day, route, kind, *amount))

    def _taken(self, connection: sqlite3.Connection) -> dict[str | None, Spend]:
        """Return the amounts booked or set aside by route; the key None holds the total."""
        rows = connection.execute(
            "SELECT route, SUM(tokens), SUM(usd) FROM (SELECT route, tokens, usd FROM spend"
            " WHERE day = ? UNION ALL SELECT route, tokens, usd FROM spend_aside) GROUP BY route",
            (self._day(),),
        )
        taken: dict[str | None, Spend] = {None: NOTHING}
        for route, tokens, usd in rows:
            taken[route] = Spend(tokens, usd)
            taken[None] = taken[None].plus(taken[route])
        return taken

    def _book_lost(self, connection: sqlite3.Connection, now: float) -> None:
        """Book the amounts that dead processes had set aside, and forget those set aside too long ago."""
        dead = connection.execute(
            "DELETE FROM spend_aside WHERE at NOT BETWEEN ? AND ? RETURNING route, at, tokens, usd",
            (now - SILENT_S, now + FORGOTTEN_S),
        ).fetchall()
        for route, at, tokens, usd in dead:
            if at >= now - FORGOTTEN_S:
                connection.execute(_BOOK, (self._day(), route, "lost", tokens, usd))


def _refused(taken: Spend, bounds: Sequence[Bound]) -> Refused | None:
    return next((bound.refused for bound in bounds if passed(taken, bound.limit)), None)
