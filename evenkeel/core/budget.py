"""The daily budgets: tokens and US dollars spent on shadow calls, and the limits that stop them."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeVar

from evenkeel.core.tiers import SCORING_WAITS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping

T = TypeVar("T")

SpendKind = Literal["replay", "golden", "reference", "judge", "rewriter", "challenge", "lost"]
"""Purpose of a call: replays of sampled requests, repeats of goldens or reference prompts, ratings, texts of
the rewriter, or everything about a challenger. "lost" is the reservation of a process that was killed: its
real spend is unknown."""

Refused = Literal["budget", "budget_reserve", "budget_pace"]
"""Reason for refusing a reservation. "budget": the day's budget is used up. "budget_reserve": only the
reserve is left. "budget_pace": the budget is used faster than the day passes."""

# Share of a spread budget that is free from the first second of the day on: a busy morning needs no hours of
# waiting, and three quarters are left for the day.
_HEAD_START: Final = 0.25
_SECONDS_PER_DAY: Final = 86_400
SILENT_S: Final = 900
"""Seconds without a reservation or settlement after which a process counts as dead; no trial takes that long.
Its reservations are booked as "lost"."""
FORGOTTEN_S: Final = 2 * _SECONDS_PER_DAY
"""Age in seconds at which a reservation is dropped: it belongs to a day that no longer counts."""


class Spend(NamedTuple):
    """Tokens and US dollars."""

    tokens: int
    usd: float

    def plus(self, other: Spend) -> Spend:
        """The sum of both."""
        return Spend(self.tokens + other.tokens, self.usd + other.usd)

    def minus(self, other: Spend) -> Spend:
        """Return this amount less the other."""
        return Spend(self.tokens - other.tokens, self.usd - other.usd)

    def times(self, count: int) -> Spend:
        """Return the amount multiplied by a count."""
        return Spend(count * self.tokens, count * self.usd)

    def parts(self, count: int) -> list[Spend]:
        """Split the amount into parts that add up to it exactly; the first ones may be a token larger."""
        if not count:
            return []
        tokens, further = divmod(self.tokens, count)
        usd = self.usd / count
        equal = []
        for index in range(count - 1):
            equal.append(Spend(tokens + (index < further), usd))
        # What rounding leaves goes to the last part, so that the sum is exact.
        return [*equal, Spend(tokens, self.usd - (count - 1) * usd)]


NOTHING: Final = Spend(0, 0.0)


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits per UTC day. None = no limit."""

    tokens_per_day: int | None = None
    usd_per_day: float | None = None
    spread: bool = False
    """True if a quarter of the budget is free at once and the rest becomes free over the day, so that some is
    left at night."""
    reserve: float = 0.0
    """Share of the limits that only urgent calls may use, in [0, 1]: it is there when something changes."""

    def refusal(
        self, taken: Spend, day_share: float, *, urgent: bool = False, paced: bool = True
    ) -> Refused | None:
        """Return why the spend may not become this much by now; None if it may.

        Args:
            taken: Spend booked and set aside, with what is asked for.
            day_share: Share of the day that has passed, in [0, 1].
            urgent: True if the reserve may be used.
            paced: True if the budget held back for later in the day may not be used.
        """
        ordinary = 1 - self.reserve
        by_now = ordinary * (_HEAD_START + (1 - _HEAD_START) * day_share)
        if self._exceeded(taken, 1.0):
            return "budget"
        if not urgent and self._exceeded(taken, ordinary):
            return "budget_reserve"
        if self.spread and paced and self._exceeded(taken, by_now + self.reserve if urgent else by_now):
            return "budget_pace"
        return None

    def _exceeded(self, taken: Spend, share: float) -> bool:
        """Return whether a spend exceeds a share of the day's budget."""
        tokens, usd = self.tokens_per_day, self.usd_per_day
        return (tokens is not None and taken.tokens > tokens * share) or (
            usd is not None and taken.usd > usd * share
        )


def day_share_of(now: float) -> float:
    """Return the share of the UTC day that has passed at a Unix time, in [0, 1)."""
    return now % _SECONDS_PER_DAY / _SECONDS_PER_DAY


class CostTracker(Protocol):
    """Tracker of the current UTC day's spend against the budgets. Calls block on storage.

    A caller reserves what a call may cost before making it and books what it did cost afterwards,
    so calls in flight cannot run past a budget together.
    """

    def reserve(
        self, estimate: Spend, route: str, *, urgent: bool = False, paced: bool = True
    ) -> Refused | None:
        """Set an estimate aside for a route; a reason, setting nothing aside, if a budget forbids it.

        It is written down before this returns, so that it counts even if the process is killed.

        Args:
            estimate: Amount to set aside.
            route: Route that it is set aside for.
            urgent: True if it may use the reserve: because a change of the route was detected or is
                suspected, and for reference prompts and the judge's panel, which keep a pace of their own.
            paced: True if it has to fit in the budget that is free by now; False if only in the whole day's.
        """
        ...

    def settle(self, estimate: Spend, route: str, spent: Mapping[SpendKind, Spend]) -> None:
        """Release a reservation and book what was really spent."""
        ...


def total(amounts: Iterable[Spend]) -> Spend:
    """Return the sum of amounts; `NOTHING` if there are none."""
    summed = NOTHING
    for amount in amounts:
        summed = summed.plus(amount)
    return summed


class CallBudget(Protocol):
    """The budget of one caller's calls to models. Its methods may block; they are called in a thread."""

    def reserve(self, estimate: Spend) -> bool:
        """Set aside what one call may cost; False, setting nothing aside, if that is too much."""
        ...

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """Release what was set aside and book what was spent."""
        ...


async def booked(
    budget: CallBudget,
    estimate: Spend,
    send: Callable[[], Awaitable[T]],
    proven: Callable[[T], Spend],
) -> T | None:
    """Send a call that is booked at its full estimate before, and at what it is proven to have cost after.

    A call that is given up (timeout, lost connection, cancellation) may have to be paid for all the same, so
    it stays booked at its estimate.

    Returns: the result of `send`; None, with nothing sent, if the budget does not allow it.
    """
    if not await set_aside(
        partial(budget.reserve, estimate),
        lambda allowed: budget.settle(estimate, NOTHING) if allowed else None,
    ):
        return None
    # Until something else is proven, also if `send` raises or is cancelled.
    spent = estimate
    try:
        outcome = await send()
        spent = proven(outcome)
        return outcome
    finally:
        await asyncio.to_thread(budget.settle, estimate, spent)


async def set_aside(reserve: Callable[[], T], give_back: Callable[[T], None]) -> T:
    """Reserve in a thread and return what `reserve` does.

    A thread cannot be cancelled: what it reserves after its task has gone is given back.
    """
    reserving = asyncio.ensure_future(asyncio.to_thread(reserve))
    try:
        return await asyncio.shield(reserving)
    except asyncio.CancelledError:
        await asyncio.to_thread(give_back, await reserving)
        raise


class Allowance:
    """Budget of several calls of one route, which are settled together at the end.

    Each call counts at its full estimate from before it is sent until its real cost is proven, or forever if
    it never is. More is set aside as soon as a call does not fit, within the whole day's budget: a trial that
    has begun is worth finishing.
    """

    def __init__(self, costs: CostTracker, route: str, held: Spend, *, urgent: bool = False) -> None:
        """Open it for calls of a route. `held` is set aside for them; `urgent` is as for `CostTracker`."""
        self._costs = costs
        self._route = route
        self._held = held
        self._urgent = urgent
        self._accounts: list[BudgetAccount] = []
        self._lock = threading.Lock()
        self._closed = False

    def account(self, kind: SpendKind) -> BudgetAccount:
        """Return a budget for some of the calls."""
        account = BudgetAccount(self, kind)
        self._accounts.append(account)
        return account

    def reserve(self, account: BudgetAccount, estimate: Spend) -> bool:
        """Reserve the estimate of a call; False if a daily budget forbids it or the allowance is closed."""
        with self._lock:
            if self._closed:
                return False
            # Set aside call by call, since nobody knows at the start how many calls a trial will need.
            needed = total(account.spent for account in self._accounts).plus(estimate)
            held = Spend(max(needed.tokens, self._held.tokens), max(needed.usd, self._held.usd))
            further = held.minus(self._held)
            if any(further) and self._costs.reserve(further, self._route, urgent=self._urgent, paced=False):
                return False
            self._held, account.spent = held, account.spent.plus(estimate)
            return True

    def settle(self, account: BudgetAccount, estimate: Spend, spent: Spend) -> None:
        """Replace a call's estimate with what it is proven to have cost."""
        with self._lock:
            account.spent = account.spent.minus(estimate).plus(spent)

    def close(self) -> None:
        """Allow no further call, book what was spent and release the rest."""
        booked: dict[SpendKind, Spend] = {}
        with self._lock:
            self._closed = True
            for account in self._accounts:
                booked[account.kind] = booked.get(account.kind, NOTHING).plus(account.spent)
        self._costs.settle(self._held, self._route, booked)


class BudgetAccount:
    """A `CallBudget` for calls of one kind, out of an allowance."""

    def __init__(self, allowance: Allowance, kind: SpendKind) -> None:
        self.kind = kind
        self.spent = NOTHING
        """Proven costs, and the estimates of all other calls that were sent."""
        self._allowance = allowance

    def reserve(self, estimate: Spend) -> bool:
        """Reserve the estimate of one call. See `Allowance.reserve`."""
        return self._allowance.reserve(self, estimate)

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """Book what a call has cost. See `Allowance.settle`."""
        self._allowance.settle(self, estimate, spent)


@asynccontextmanager
async def allowed(
    costs: CostTracker, estimate: Spend, route: str, *, urgent: bool = False, paced: bool = True
) -> AsyncIterator[Allowance | Refused]:
    """Set an estimate aside for the calls in the block, and book behind it what they have cost.

    Yields: the allowance, or the reason why a daily budget forbids it. `CostTracker` explains both.
    """

    def reserve() -> Allowance | Refused:
        refused = costs.reserve(estimate, route, urgent=urgent, paced=paced)
        return refused or Allowance(costs, route, estimate, urgent=urgent)

    def close(opened: Allowance | Refused) -> None:
        if isinstance(opened, Allowance):
            opened.close()

    opened = await set_aside(reserve, close)
    try:
        yield opened
    finally:
        await asyncio.to_thread(close, opened)


SCORING_BUDGET: Final[ContextVar[CallBudget | None]] = ContextVar("scoring_budget", default=None)
"""Budget that pays for the judge's calls while a pair is scored; None = the calls are not counted.

Scorers are shared by all routes and know no budget, so that none is handed through them.
"""


@contextmanager
def scoring_paid_by(budget: CallBudget, *, can_wait: bool = False) -> Iterator[None]:
    """Let a budget pay for what is scored in the block, in a cheaper tier if it can wait."""
    paying, waiting = SCORING_BUDGET.set(budget), SCORING_WAITS.set(can_wait)
    try:
        yield
    finally:
        SCORING_BUDGET.reset(paying)
        SCORING_WAITS.reset(waiting)


class RouteBudget:
    """A `CallBudget` for one kind of call of one route, out of the whole day's budgets."""

    def __init__(self, costs: CostTracker, route: str, kind: SpendKind, *, urgent: bool = False) -> None:
        """Open the budget. `urgent` is true if the calls may use the reserve."""
        self._costs = costs
        self._route = route
        self._kind = kind
        self._urgent = urgent

    def reserve(self, estimate: Spend) -> bool:
        """Reserve the estimate of one call; False if a budget forbids it."""
        return self._costs.reserve(estimate, self._route, urgent=self._urgent, paced=False) is None

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """Release a reservation and book the spend."""
        self._costs.settle(estimate, self._route, {self._kind: spent})
