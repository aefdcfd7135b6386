"""The verdict log as a monitor sees it that watches some of the routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metrics.stores.protocols import LoggedVerdict, VerdictLog
    from metrics.verdict import Evidence, Verdict


class RoutesLog:
    """`VerdictLog` without the verdicts of other routes. Offsets are those of the whole log."""

    def __init__(self, log: VerdictLog, routes: Iterable[str]) -> None:
        self._log = log
        self._routes = frozenset(routes)
        self._seen = 0
        """Up to here, from `_from` on, there is nothing of these routes: it need not be read again."""
        self._from = 0

    def append(self, verdict: Verdict, evidence: Evidence | None) -> bool:
        """As `VerdictLog`."""
        return self._log.append(verdict, evidence)

    def of_exchange(self, exchange_id: str) -> list[Verdict]:
        """As `VerdictLog`."""
        return self._log.of_exchange(exchange_id)

    def read_after(self, offset: int, limit: int) -> list[LoggedVerdict]:
        """Up to `limit` verdicts of these routes after `offset`; reads on until there are some."""
        at = self._seen if self._from <= offset <= self._seen else offset
        while True:
            read = self._log.read_after(at, limit)
            if not read:
                self._from, self._seen = offset, at
                return []
            found = [one for one in read if one.verdict.route in self._routes]
            if found:
                return found
            at = read[-1].offset

    def latest(
        self, limit: int, *, route: str | None = None, perturbation: str | None = None
    ) -> list[Verdict]:
        """As `VerdictLog`; of all these routes together, the newest of each are looked through."""
        if route is not None:
            return self._log.latest(limit, route=route, perturbation=perturbation) if self._has(route) else []
        found = [
            verdict
            for name in sorted(self._routes)
            for verdict in self._log.latest(limit, route=name, perturbation=perturbation)
        ]
        found.sort(key=lambda verdict: -verdict.scored_at)
        return found[:limit]

    def find(self, verdict_id: str) -> Verdict | None:
        """As `VerdictLog`."""
        return self._log.find(verdict_id)

    def evidence(self, verdict_id: str) -> Evidence | None:
        """As `VerdictLog`."""
        return self._log.evidence(verdict_id)

    def _has(self, route: str) -> bool:
        return route in self._routes
