"""The verdict log as a monitor sees it that watches some of the routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkeel.stores.protocols import ANYTHING, LoggedApproval, Stretch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.verdict import Evidence, Verdict
    from evenkeel.monitor.approval import Approval
    from evenkeel.stores.protocols import LoggedVerdict, Narrow, VerdictLog


class _Nothing(NamedTuple):
    """Behind `start` up to `end` there is nothing of these routes: it need not be read again."""

    start: int = 0
    end: int = 0

    def after(self, offset: int) -> int:
        """Where to read on from an offset."""
        return self.end if self.start <= offset <= self.end else offset


class RoutesLog:
    """`VerdictLog` without the verdicts of other routes. Offsets are those of the whole log."""

    def __init__(self, log: VerdictLog, routes: Iterable[str]) -> None:
        self._log = log
        self._routes = frozenset(routes)
        self._verdicts, self._entries = _Nothing(), _Nothing()

    def append(self, verdict: Verdict, evidence: Evidence | None) -> bool:
        """As `VerdictLog`."""
        return self._log.append(verdict, evidence)

    def of_exchange(self, exchange_id: str) -> list[Verdict]:
        """As `VerdictLog`."""
        return self._log.of_exchange(exchange_id)

    def read_after(self, offset: int, limit: int) -> list[LoggedVerdict]:
        """Up to `limit` verdicts of these routes after `offset`; reads on until there are some."""
        at = self._verdicts.after(offset)
        while True:
            read = self._log.read_after(at, limit)
            if not read:
                self._verdicts = _Nothing(offset, at)
                return []
            found = [one for one in read if one.verdict.route in self._routes]
            if found:
                return found
            at = read[-1].offset

    def approve(self, approval: Approval) -> bool:
        """As `VerdictLog`."""
        return self._log.approve(approval)

    def entries_after(self, offset: int, limit: int) -> list[LoggedVerdict | LoggedApproval]:
        """Up to `limit` entries of these routes after `offset`; reads on until there are some."""
        at = self._entries.after(offset)
        while True:
            read = self._log.entries_after(at, limit)
            if not read:
                self._entries = _Nothing(offset, at)
                return []
            found = [one for one in read if _route_of(one) in self._routes]
            if found:
                return found
            at = read[-1].offset

    def approvals(self) -> list[LoggedApproval]:
        """As `VerdictLog`."""
        return [one for one in self._log.approvals() if one.approval.route in self._routes]

    def read_before(self, offset: int | None, limit: int, narrow: Narrow = ANYTHING) -> Stretch:
        """As `VerdictLog`; of the other routes nothing is given."""
        read = self._log.read_before(offset, limit, narrow)
        found = [one for one in read.verdicts if one.verdict.route in self._routes]
        return Stretch(found, read.reached, read.looked_at)

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


def _route_of(entry: LoggedVerdict | LoggedApproval) -> str:
    return entry.approval.route if isinstance(entry, LoggedApproval) else entry.verdict.route
