"""The budgets of one worker, in the embedded store."""

from __future__ import annotations

import datetime as dt
import threading
from typing import TYPE_CHECKING

from evenkeel.core.budget import NOTHING, Spend, day_share_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.core.budget import Budget, Refused, SpendKind
    from evenkeel.stores.sqlite.database import Database


class SqliteCostTracker:
    """`CostTracker` on SQLite, for one worker; survives restarts.

    A caller reserves what a call may cost before making it and books what it did cost afterwards,
    so calls in flight cannot run past a budget together.
    """

    def __init__(
        self,
        database: Database,
        budget: Budget,
        clock: Callable[[], float],
        routes: Mapping[str, Budget] | None = None,
    ) -> None:
        """Open the tracker.

        Args:
            database: Where it is kept.
            budget: The limit of all routes together.
            clock: Unix time in seconds.
            routes: Further limits of single routes.
        """
        self._database = database
        self._budget = budget
        self._clock = clock
        self._routes = dict(routes or {})
        self._lock = threading.Lock()
        self._reserved: dict[str, Spend] = {}
        database.create(
            """CREATE TABLE IF NOT EXISTS spend (
                 day TEXT NOT NULL, route TEXT NOT NULL, kind TEXT NOT NULL, tokens INTEGER NOT NULL,
                 usd REAL NOT NULL, PRIMARY KEY (day, route, kind))"""
        )

    @property
    def budget(self) -> Budget:
        """The limits of all routes together."""
        return self._budget

    def _day(self) -> str:
        return dt.datetime.fromtimestamp(self._clock(), tz=dt.UTC).date().isoformat()

    def today(self, route: str | None = None) -> Spend:
        """What has been booked this UTC day, for one route or over all."""
        tokens, usd = (
            self._database.connection()
            .execute(
                "SELECT coalesce(sum(tokens), 0), coalesce(sum(usd), 0) FROM spend"
                " WHERE day = ? AND (? IS NULL OR route = ?)",
                (self._day(), route, route),
            )
            .fetchone()
        )
        return Spend(tokens, usd)

    def of_kind(self, kind: SpendKind) -> Spend:
        """What has been booked this UTC day for one kind of calls."""
        tokens, usd = (
            self._database.connection()
            .execute(
                "SELECT coalesce(sum(tokens), 0), coalesce(sum(usd), 0) FROM spend"
                " WHERE day = ? AND kind = ?",
                (self._day(), kind),
            )
            .fetchone()
        )
        return Spend(tokens, usd)

    def by_route_and_kind(self) -> dict[tuple[str, SpendKind], Spend]:
        """What has been booked this UTC day for each route and kind of calls of which there is any."""
        rows = self._database.connection().execute(
            "SELECT route, kind, tokens, usd FROM spend WHERE day = ? ORDER BY route, kind", (self._day(),)
        )
        return {(route, kind): Spend(tokens, usd) for route, kind, tokens, usd in rows.fetchall()}

    def reserve(self, estimate: Spend, route: str) -> Refused | None:
        """Set an estimate aside for a route; a reason, setting nothing aside, if a budget forbids it."""
        with self._lock:
            day_share = day_share_of(self._clock())
            reserved = NOTHING
            for amount in self._reserved.values():
                reserved = reserved.plus(amount)
            own = self._reserved.get(route, NOTHING)
            limits: list[tuple[Budget, str | None, Spend]] = [(self._budget, None, reserved)]
            if route in self._routes:
                limits.append((self._routes[route], route, own))
            for budget, name, held in limits:
                planned = self.today(name).plus(held).plus(estimate)
                refused = budget.refusal(planned, day_share)
                if refused is not None:
                    return refused
            self._reserved[route] = own.plus(estimate)
            return None

    def settle(self, estimate: Spend, route: str, spent: Mapping[SpendKind, Spend]) -> None:
        """Release a reservation and book what was really spent."""
        with self._lock:
            self._reserved[route] = self._reserved.get(route, NOTHING).minus(estimate)
            rows = [(self._day(), route, kind, *amount) for kind, amount in spent.items() if any(amount)]
            if rows:
                with self._database.write() as connection:
                    connection.executemany(
                        "INSERT INTO spend (day, route, kind, tokens, usd) VALUES (?, ?, ?, ?, ?)"
                        " ON CONFLICT (day, route, kind) DO UPDATE SET"
                        " tokens = tokens + excluded.tokens, usd = usd + excluded.usd",
                        rows,
                    )
