"""Budgets that all processes of an installation share."""

from __future__ import annotations

import datetime as dt
import secrets
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.budget import (
    FORGOTTEN_S,
    NOTHING,
    SILENT_S,
    Budget,
    Spend,
    SpendKind,
    day_share_of,
    total,
)
from evenkeel.stores.documents import Collection, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.budget import Refused
    from evenkeel.stores.documents import Change, Documents


class _Day(NamedTuple):
    day: str
    booked: dict[str, dict[SpendKind, Spend]]
    """Spend by route and kind."""


class _Aside(NamedTuple):
    """Amounts that one process has set aside, by route."""

    holder: str
    at: float
    """Unix time in seconds of its latest reservation or settlement."""
    held: dict[str, Spend]


_DAYS: Final = Collection(name="spend_of_days", key=("day",), kept=40, body=plain(_Day), group="spend")
_ASIDE: Final = Collection(name="spend_set_aside", key=("holder",), body=plain(_Aside), group="spend")
# Dollars that are left of a sum which comes to nothing: sums of floats seldom come back to zero.
_LEFT_USD: Final = 1e-9


class SharedCostTracker:
    """`CostTracker` in a store, which keeps any number of processes together within the budgets.

    What one of them has set aside counts for all; what a dead one has set aside is booked as lost after a
    quarter of an hour. The day is the one that the clock shows: one that runs a day ahead for a while spends
    that day's budget.
    """

    def __init__(
        self,
        documents: Documents,
        budget: Budget,
        clock: Callable[[], float],
        routes: Mapping[str, Budget] | None = None,
    ) -> None:
        """Open the tracker: `budget` limits all routes together, and `routes` has further limits of some.

        `clock` gives Unix time in seconds.
        """
        self.budget = budget
        self._clock = clock
        self._routes = dict(routes or {})
        self._documents = documents
        self._holder = secrets.token_hex(8)
        # Threads of this process wait here, and not in the store.
        self._lock = threading.Lock()
        documents.open(_DAYS, _ASIDE)

    def today(self) -> Spend:
        """Return the spend booked this UTC day, for all routes."""
        return total(self.by_route_and_kind().values())

    def by_route_and_kind(self) -> dict[tuple[str, SpendKind], Spend]:
        """Return the spend booked today for each route and kind of call that has any."""
        spends: dict[tuple[str, SpendKind], Spend] = {}
        for route, kinds in sorted(self._booked().items()):
            for kind, spend in sorted(kinds.items()):
                spends[route, kind] = spend
        return spends

    def reserve(
        self, estimate: Spend, route: str, *, urgent: bool = False, paced: bool = True
    ) -> Refused | None:
        """Set an estimate aside if the limits allow it. See `CostTracker.reserve`."""
        now = self._clock()
        day_share, whole, own_limits = day_share_of(now), self.budget, self._routes.get(route, Budget())
        if not estimate.usd:
            # A free call needs no dollars: a price that was set to 0 helps also where they are spent.
            whole, own_limits = replace(whole, usd_per_day=None), replace(own_limits, usd_per_day=None)

        def work(change: Change) -> Refused | None:
            booked, held = self._counted(change, now)
            taken = taken_by_route = estimate
            for spends in (booked, *(aside.held for aside in held)):
                taken = taken.plus(total(spends.values()))
                taken_by_route = taken_by_route.plus(spends.get(route, NOTHING))
            refused = whole.refusal(taken, day_share, urgent=urgent, paced=paced)
            refused = refused or own_limits.refusal(taken_by_route, day_share, urgent=urgent, paced=paced)
            if refused is None:
                own = self._own(held)
                own[route] = own.get(route, NOTHING).plus(estimate)
                change.put(_ASIDE, _Aside(self._holder, now, own))
            return refused

        with self._lock:
            return self._documents.change(_DAYS, work)

    def settle(self, estimate: Spend, route: str, spent: Mapping[SpendKind, Spend]) -> None:
        """Replace an estimate by what was spent. See `CostTracker.settle`."""

        def work(change: Change) -> None:
            own = self._own(self._documents.history(_ASIDE, self._holder))
            if route in own:
                own[route] = own[route].minus(estimate)
                if own[route].tokens <= 0 and own[route].usd < _LEFT_USD:
                    del own[route]
            change.put(_ASIDE, _Aside(self._holder, self._clock(), own))
            if any(any(amount) for amount in spent.values()):
                booked = self._booked()
                for kind, amount in spent.items():
                    _book(booked, route, kind, amount)
                change.put(_DAYS, _Day(self._day(), booked))

        with self._lock:
            self._documents.change(_DAYS, work)

    def _booked(self) -> dict[str, dict[SpendKind, Spend]]:
        day = self._documents.find(_DAYS, self._day())
        return day.booked if day else {}

    def _counted(self, change: Change, now: float) -> tuple[dict[str, Spend], list[_Aside]]:
        """Return what is booked today by route, and what living processes have set aside.

        Books what dead ones had set aside, and forgets what was set aside too long ago.
        """
        booked, living, lost = self._booked(), [], False
        for aside in self._documents.history(_ASIDE):
            if now - SILENT_S <= aside.at <= now + FORGOTTEN_S:
                living.append(aside)
                continue
            change.drop(_ASIDE, aside.holder)
            if aside.at >= now - FORGOTTEN_S:
                for route, spend in aside.held.items():
                    _book(booked, route, "lost", spend)
                    lost = True
        if lost:
            change.put(_DAYS, _Day(self._day(), booked))
        totals = {}
        for route, kinds in booked.items():
            totals[route] = total(kinds.values())
        return totals, living

    def _day(self) -> str:
        return dt.datetime.fromtimestamp(self._clock(), tz=dt.UTC).date().isoformat()

    def _own(self, held: Sequence[_Aside]) -> dict[str, Spend]:
        return next((aside.held for aside in held if aside.holder == self._holder), {})


def _book(booked: dict[str, dict[SpendKind, Spend]], route: str, kind: SpendKind, amount: Spend) -> None:
    if any(amount):
        kinds = booked.setdefault(route, {})
        kinds[kind] = kinds.get(kind, NOTHING).plus(amount)
