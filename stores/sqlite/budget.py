"""The budgets of one worker, in the embedded store."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from evenkeel.core.budget import NOTHING, CostTracker, Spend, day_share_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.core.budget import Budget, Refused, SpendKind
    from evenkeel.stores.sqlite.database import Database


class SqliteCostTracker(CostTracker):
    """`CostTracker` on SQLite, for one worker; survives restarts."""

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
        self._reserved: dict[str, Spend] = {}
        database.create(
            """CREATE TABLE IF NOT EXISTS spend (
                 day TEXT NOT NULL, route TEXT NOT NULL, kind TEXT NOT NULL, tokens INTEGER NOT NULL,
                 usd REAL NOT NULL, PRIMARY KEY (day, route, kind))"""
        )

    def by_route_and_kind(self) -> dict[tuple[str, SpendKind], Spend]:
        """As `CostTracker.by_route_and_kind`."""
        rows = self._database.rows(
            "SELECT route, kind, tokens, usd FROM spend WHERE day = ? ORDER BY route, kind", (self._day(),)
        )
        return {(route, kind): Spend(tokens, usd) for route, kind, tokens, usd in rows}

    def reserve(self, estimate: Spend, route: str) -> Refused | None:
        """As `CostTracker.reserve`."""
        with self._lock:
            day_share = day_share_of(self._clock())
            reserved = NOTHING
            for amount in self._reserved.values():
                reserved = reserved.plus(amount)
            own = self._reserved.get(route, NOTHING)
            limits: list[tuple[Budget, str | None, Spend]] = [(self.budget, None, reserved)]
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
        """As `CostTracker.settle`."""
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
