"""Money and tokens spent on shadow calls, and the daily budgets that stop them."""

from __future__ import annotations

import datetime as dt
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from genai_prices import Usage, calc_price

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.stores.sqlite import Database

SpendKind = Literal["replay", "golden", "judge", "rewriter"]
"""What a call was for: replays of sampled requests, goldens asked again, ratings, texts of the rewriter."""

Refused = Literal["budget", "budget_pace"]
"""Why a reservation is turned down: the day's budget is used up, or used faster than the day goes."""

_CHARS_PER_TOKEN = 4
"""A usual rule of thumb for English; only used where the endpoint reports no usage."""
_HEAD_START: Final = 0.25
"""Share of a spread budget that is free from the first second of the day on."""
_SECONDS_PER_DAY: Final = 86_400
_MILLION: Final = 1e6


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

    def refusal(self, spent: Spend, day_share: float) -> Refused | None:
        """Why so much may not be spent by now; None if it may.

        Args:
            spent: Everything of the day, what is planned included.
            day_share: How much of the day has passed, in [0, 1].
        """
        if self._passed(spent, 1.0):
            return "budget"
        if self.spread and self._passed(spent, _HEAD_START + (1 - _HEAD_START) * day_share):
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


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """What a model costs, in US dollars per million tokens."""

    input_usd: float
    output_usd: float


def price_usd(model: str, prompt_tokens: int, completion_tokens: int) -> float:
    """List price of a call in US dollars; 0 for a model without a public price (self-hosted).

    Source: the price table shipped with genai-prices; nothing is fetched.
    """
    try:
        price = calc_price(Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens), model)
    except LookupError:
        return 0.0
    return float(price.total_price)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of calls: those configured, else the public list."""

    configured: Mapping[str, ModelPrice] = field(default_factory=dict)

    def usd(self, model: str, prompt_tokens: int, completion_tokens: int) -> float:
        """Price of a call in US dollars: as configured, else as listed."""
        own = self.configured.get(model)
        if own is not None:
            return (prompt_tokens * own.input_usd + completion_tokens * own.output_usd) / _MILLION
        return price_usd(model, prompt_tokens, completion_tokens)


def estimate_tokens(text: str) -> int:
    """Rough number of tokens of a text, for endpoints that report no usage."""
    return len(text) // _CHARS_PER_TOKEN + 1


def day_share_of(now: float) -> float:
    """How much of the UTC day has passed at a Unix time, in [0, 1)."""
    return now % _SECONDS_PER_DAY / _SECONDS_PER_DAY


class Ledger(Protocol):
    """Spend of the current UTC day against the budgets. Calls block on storage."""

    @property
    def budget(self) -> Budget:
        """The limits of all routes together."""
        ...

    def today(self, route: str | None = None) -> Spend:
        """What has been booked this UTC day, for one route or over all."""
        ...

    def of_kind(self, kind: SpendKind) -> Spend:
        """What has been booked this UTC day for one kind of calls."""
        ...

    def by_route_and_kind(self) -> dict[tuple[str, SpendKind], Spend]:
        """What has been booked this UTC day for each route and kind of calls of which there is any."""
        ...

    def reserve(self, estimate: Spend, route: str) -> Refused | None:
        """Set an estimate aside for a route; a reason, setting nothing aside, if a budget forbids it."""
        ...

    def settle(self, estimate: Spend, route: str, spent: Mapping[SpendKind, Spend]) -> None:
        """Release a reservation and book what was really spent."""
        ...


class SpendLedger:
    """`Ledger` on SQLite, for one worker; survives restarts.

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
        """Open the ledger.

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


class RewriterPurse:
    """What the rewriter may spend for one route, from the common ledger. Calls block on storage."""

    def __init__(self, ledger: Ledger, route: str, booked: Callable[[Spend], None] = lambda _: None) -> None:
        """Open it.

        Args:
            ledger: Where the money is.
            route: Who pays.
            booked: Told of each amount that is booked.
        """
        self._ledger = ledger
        self._route = route
        self._booked = booked

    def reserve(self, estimate: Spend) -> bool:
        """Set an estimate aside; False, setting nothing aside, if a budget forbids it."""
        return self._ledger.reserve(estimate, self._route) is None

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """Release a reservation and book what was really spent."""
        self._ledger.settle(estimate, self._route, {"rewriter": spent})
        self._booked(spent)
