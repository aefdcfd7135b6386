"""Budgets that all workers share, on Redis."""

from __future__ import annotations

import os
import re
import secrets
from typing import TYPE_CHECKING, Final, cast

from evenkeel.core.budget import (
    FORGOTTEN_S,
    LEFT_TO_OTHERS,
    MOST_LEFT,
    SILENT_S,
    CostTracker,
    Spend,
)
from evenkeel.stores.payloads import storable
from evenkeel.stores.redis.connection import Script, process_name, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.budget import Budget, BudgetLimit, Refused, SpendKind
    from evenkeel.stores.redis.connection import RedisStore, Value

_DAYS_KEPT_S: Final = 40 * 86_400
# Seconds for which a command is recognised if it is sent again because its answer was lost.
_REMEMBERED_S: Final = 300

# Pattern of a field: its kind and its route.
_SPLIT: Final = re.compile(r"tokens on (\w+) of (.*)", re.DOTALL)


class RedisCostTracker(CostTracker):
    """`CostTracker` on Redis, which keeps any number of workers together within the budgets.

    What one of them has set aside counts for all; what a dead one has set aside is booked as lost after a
    quarter of an hour.
    """

    def __init__(
        self,
        store: RedisStore,
        budget: Budget,
        clock: Callable[[], float],
        routes: Mapping[str, Budget] | None = None,
        sharing: Sequence[str] = (),
    ) -> None:
        """Open the tracker; nothing is sent yet. Arguments as of `SqliteCostTracker`."""
        super().__init__(budget, clock, routes, sharing)
        self._store = store
        self._worker = f"{process_name(os.getpid())}:{secrets.token_hex(4)}"
        self._reserve = Script(store, "budget_reserve")
        self._settle = Script(store, "budget_settle")

    def by_route_and_kind(self) -> dict[tuple[str, SpendKind], Spend]:
        """Return the day's spending. See `CostTracker.by_route_and_kind`."""
        spend: dict[tuple[str, SpendKind], Spend] = {}
        fields = self._store.client.hgetall(self._booked())
        for raw, tokens in fields.items():
            name = text(raw)
            # A kind is one word, so that what follows is the route, whatever it is called.
            # The other fields hold sums over kinds, or over routes.
            match = _SPLIT.fullmatch(name)
            if match is not None:
                usd = fields.get(f"usd{name.removeprefix('tokens')}".encode(), 0.0)
                spend[match[2], cast("SpendKind", match[1])] = Spend(int(tokens), float(usd))
        return dict(sorted(spend.items()))

    def reserve(
        self, estimate: Spend, route: str, *, urgent: bool = False, paced: bool = True, watch: bool = False
    ) -> Refused | None:
        """Set an estimate aside if the limits allow it. See `CostTracker.reserve`."""
        bounds = self._bounds(estimate, route, urgent=urgent, paced=paced, watch=watch)
        others = self._others(route, urgent=urgent, paced=paced, watch=watch)
        limits: list[Value] = [sum(map(len, bounds))]
        for whose, limits_of_one in enumerate(bounds, 1):
            for bound in limits_of_one:
                limits += (whose, bound.refused, *_limit(bound.limit))
        if others:
            limits += (*_limit(bounds[0][-1].limit), *map(storable, others))
        answer = self._reserve(
            self._keys(),
            self._worker,
            storable(route),
            *_plain(estimate),
            SILENT_S,
            _REMEMBERED_S,
            FORGOTTEN_S,
            _DAYS_KEPT_S,
            LEFT_TO_OTHERS,
            MOST_LEFT,
            *limits,
        )
        return cast("Refused | None", text(answer) or None)

    def settle(self, estimate: Spend, route: str, spent: Mapping[SpendKind, Spend]) -> None:
        """Replace an estimate by what was spent. See `CostTracker.settle`."""
        booked: list[Value] = []
        for kind, amount in spent.items():
            if any(amount):
                booked += (kind, *_plain(amount))
        self._settle(
            self._keys(),
            self._worker,
            storable(route),
            *_plain(estimate),
            _DAYS_KEPT_S,
            _REMEMBERED_S,
            *booked,
        )

    def _keys(self) -> tuple[str, ...]:
        # A call has a name, so that one that is sent again is done once.
        call_name = f"call:{secrets.token_hex(8)}"
        return self._booked(), *self._store.keys("spend", "aside", "workers", call_name)

    def _booked(self) -> str:
        return self._store.key("spend", self._day())


def _plain(amount: Spend) -> tuple[str, str]:
    return str(amount.tokens), repr(float(amount.usd))


def _limit(limit: BudgetLimit) -> tuple[str, ...]:
    return tuple("" if number is None else repr(number) for number in limit)
