"""The daily budgets: tokens and US dollars spent on shadow calls, and the limits that stop them."""

from __future__ import annotations

import abc
import asyncio
import datetime as dt
import threading
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SpendKind = Literal["replay", "golden", "reference", "judge", "rewriter", "lost"]
"""What a call was for: replays of sampled requests, goldens or reference prompts asked again, ratings, texts
of the rewriter. "lost" is what a process had set aside when it was killed: nobody knows what it spent."""

Refused = Literal["budget", "budget_pace"]
"""Why a reservation is turned down: the day's budget is used up, or used faster than the day goes."""

_HEAD_START: Final = 0.25
"""Share of a spread budget that is free from the first second of the day on."""
_SECONDS_PER_DAY: Final = 86_400
SILENT_S: Final = 900
"""A process that has neither reserved nor settled for so long is dead: no trial takes that long. What it had
set aside is booked as "lost"."""
DAYS_AHEAD: Final = 7
"""What is booked on so many days after today counts as well: the clock was set back since."""
FORGOTTEN_S: Final = 2 * _SECONDS_PER_DAY
"""What a process set aside so long ago was spent on no day that counts."""


class Spend(NamedTuple):
    """Tokens and US dollars."""

    tokens: int
    usd: float

    def plus(self, other: Spend) -> Spend:
        """The sum of both."""
        return Spend(self.tokens + other.tokens, self.usd + other.usd)

    def minus(self, other: Spend) -> Spend:
        """What is left without the other."""
        return Spend(self.tokens - other.tokens, self.usd - other.usd)

    def times(self, count: int) -> Spend:
        """The same so many times."""
        return Spend(count * self.tokens, count * self.usd)


NOTHING: Final = Spend(0, 0.0)


class Limit(NamedTuple):
    """The most that may be spent; None = no limit."""

    tokens: float | None
    usd: float | None


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits per UTC day. None = no limit."""

    tokens_per_day: int | None = None
    usd_per_day: float | None = None
    spread: bool = False
    """Whether a quarter is free at once and the rest as the day goes, so that there is something
    left at night."""

    def refusal(self, spent: Spend, day_share: float, *, paced: bool = True) -> Refused | None:
        """Why so much may not be spent by now; None if it may.

        Args:
            spent: Everything of the day, what is planned included.
            day_share: How much of the day has passed, in [0, 1].
            paced: Whether what is held back for later counts.
        """
        if self._passed(spent, 1.0):
            return "budget"
        if paced and self.spread and self._passed(spent, _HEAD_START + (1 - _HEAD_START) * day_share):
            return "budget_pace"
        return None

    def limit(self, share: float) -> Limit:
        """What may be spent in a share of the day's budget."""
        tokens, usd = self.tokens_per_day, self.usd_per_day
        return Limit(None if tokens is None else tokens * share, None if usd is None else usd * share)

    def paced_limit(self, day_share: float) -> Limit:
        """What may be spent by now; no limit of its own for a budget that is not spread."""
        return self.limit(_HEAD_START + (1 - _HEAD_START) * day_share) if self.spread else Limit(None, None)

    def _passed(self, spent: Spend, share: float) -> bool:
        tokens, usd = self.limit(share)
        return (tokens is not None and spent.tokens > tokens) or (usd is not None and spent.usd > usd)


def day_share_of(now: float) -> float:
    """How much of the UTC day has passed at a Unix time, in [0, 1)."""
    return now % _SECONDS_PER_DAY / _SECONDS_PER_DAY


class CostTracker(abc.ABC):
    """Spend of the current UTC day against the budgets. Calls block on storage.

    A caller reserves what a call may cost before making it and books what it did cost afterwards,
    so calls in flight cannot run past a budget together.
    """

    def __init__(
        self, budget: Budget, clock: Callable[[], float], routes: Mapping[str, Budget] | None = None
    ) -> None:
        """Set the limits.

        Args:
            budget: The limits of all routes together.
            clock: Unix time in seconds.
            routes: Further limits of single routes.
        """
        self.budget = budget
        self._clock = clock
        self._routes = dict(routes or {})

    def today(self, route: str | None = None) -> Spend:
        """What has been booked this UTC day, for one route or over all."""
        return _sum(spent for (one, _), spent in self.by_route_and_kind().items() if route in {None, one})

    def of_kind(self, kind: SpendKind) -> Spend:
        """What has been booked this UTC day for one kind of calls."""
        return _sum(spent for (_, one), spent in self.by_route_and_kind().items() if one == kind)

    @abc.abstractmethod
    def by_route_and_kind(self) -> dict[tuple[str, SpendKind], Spend]:
        """What has been booked this UTC day for each route and kind of calls of which there is any."""

    @abc.abstractmethod
    def reserve(self, estimate: Spend, route: str, *, paced: bool = True) -> Refused | None:
        """Set an estimate aside for a route; a reason, setting nothing aside, if a budget forbids it.

        It is written down before this returns, so that it counts even if the process is killed.

        Args:
            estimate: What is set aside.
            route: Whose it is.
            paced: Whether it has to fit in what is free by now, or only in the whole day's budget.
        """

    @abc.abstractmethod
    def settle(self, estimate: Spend, route: str, spent: Mapping[SpendKind, Spend]) -> None:
        """Release a reservation and book what was really spent."""

    def _day(self, ahead: int = 0) -> str:
        today = dt.datetime.fromtimestamp(self._clock(), tz=dt.UTC).date()
        return (today + dt.timedelta(days=ahead)).isoformat()


def _sum(amounts: Iterable[Spend]) -> Spend:
    total = NOTHING
    for amount in amounts:
        total = total.plus(amount)
    return total


class CallBudget(Protocol):
    """The budget of one caller's calls to models. Its methods may block; they are called in a thread."""

    def reserve(self, estimate: Spend) -> bool:
        """Set aside what one call may cost; False, setting nothing aside, if that is too much."""
        ...

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """Release what was set aside and book what was spent."""
        ...


async def set_aside(budget: CallBudget, estimate: Spend) -> bool:
    """As `CallBudget.reserve`, in a thread. Who is cancelled meanwhile has set nothing aside."""
    asked = asyncio.ensure_future(asyncio.to_thread(budget.reserve, estimate))
    try:
        return await asyncio.shield(asked)
    except asyncio.CancelledError:
        if await asked:
            await asyncio.to_thread(budget.settle, estimate, NOTHING)
        raise


class Allowance:
    """A `CallBudget` of some calls for one route that are settled together at the end.

    Each call counts at its full estimate from before it is sent until its real cost is proven; one whose
    cost never is stays at its estimate. More is set aside as soon as a call does not fit: by the day's whole
    budget, since what has been begun is worth finishing.
    """

    def __init__(self, costs: CostTracker, route: str, held: Spend = NOTHING) -> None:
        """Open it.

        Args:
            costs: Tracks the daily budgets.
            route: Whose calls they are.
            held: What has been set aside for them already; released with the rest.
        """
        self.held = held
        """Set aside so far."""
        self.spent = NOTHING
        """Proven costs, and the estimates of all other calls that were sent."""
        self._costs = costs
        self._route = route
        self._lock = threading.Lock()
        self._closed = False

    def reserve(self, estimate: Spend) -> bool:
        """As `CallBudget.reserve`; False if a budget of the day forbids it, or it is closed."""
        with self._lock:
            if self._closed:
                return False
            needed = self.spent.plus(estimate)
            held = Spend(max(needed.tokens, self.held.tokens), max(needed.usd, self.held.usd))
            further = held.minus(self.held)
            if any(further) and self._costs.reserve(further, self._route, paced=False) is not None:
                return False
            self.held, self.spent = held, needed
            return True

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """Replace a call's estimate with what it is proven to have cost."""
        with self._lock:
            self.spent = self.spent.minus(estimate).plus(spent)

    def close(self) -> Spend:
        """Allow no further call; returns what was set aside, for the caller to settle."""
        with self._lock:
            self._closed = True
            return self.held


SCORING_BUDGET: Final[ContextVar[CallBudget | None]] = ContextVar("scoring_budget", default=None)
"""Pays for the judge's calls of whoever scores a pair now; None = nobody counts them.

Scorers are shared by all routes and know no budget, so that none is handed through them.
"""


class RouteBudget:
    """A `CallBudget`: what one kind of calls may spend for one route, out of the daily budgets."""

    def __init__(
        self,
        costs: CostTracker,
        route: str,
        kind: SpendKind,
        booked: Callable[[Spend], None] = lambda _: None,
    ) -> None:
        """Open the budget.

        Args:
            costs: Tracks the daily budgets.
            route: Whose calls they are.
            kind: What they are for.
            booked: Called with each amount that is booked.
        """
        self._costs = costs
        self._route = route
        self._kind = kind
        self._booked = booked

    def reserve(self, estimate: Spend) -> bool:
        """As `CallBudget.reserve`; False if a budget of the day forbids it, all of it counted."""
        return self._costs.reserve(estimate, self._route, paced=False) is None

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """As `CallBudget.settle`."""
        self._costs.settle(estimate, self._route, {self._kind: spent})
        self._booked(spent)
