"""Money and tokens spent on shadow calls, and the daily budget that stops them."""

from __future__ import annotations

import datetime as dt
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from genai_prices import Usage, calc_price

if TYPE_CHECKING:
    from collections.abc import Callable

    from metrics.stores.sqlite import Database

SpendKind = Literal["replay", "judge"]

_CHARS_PER_TOKEN = 4
"""A usual rule of thumb for English; only used where the endpoint reports no usage."""


class Spend(NamedTuple):
    """Tokens and US dollars."""

    tokens: int
    usd: float


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits per UTC day over all routes. None = no limit."""

    tokens_per_day: int | None = None
    usd_per_day: float | None = None


def price_usd(model: str, prompt_tokens: int, completion_tokens: int) -> float:
    """List price of a call in US dollars; 0 for a model without a public price (self-hosted).

    Source: the price table shipped with genai-prices; nothing is fetched.
    """
    try:
        price = calc_price(Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens), model)
    except LookupError:
        return 0.0
    return float(price.total_price)


def estimate_tokens(text: str) -> int:
    """Rough number of tokens of a text, for endpoints that report no usage."""
    return len(text) // _CHARS_PER_TOKEN + 1


class SpendLedger:
    """Spend of the current UTC day against the budget; survives restarts.

    A caller reserves what a call may cost before making it and books what it did cost afterwards,
    so calls in flight cannot run past the budget together.
    """

    def __init__(self, database: Database, budget: Budget, clock: Callable[[], float]) -> None:
        self._database = database
        self._budget = budget
        self._clock = clock
        self._lock = threading.Lock()
        self._reserved = Spend(0, 0.0)
        database.create(
            """CREATE TABLE IF NOT EXISTS spend (
                 day TEXT NOT NULL, route TEXT NOT NULL, kind TEXT NOT NULL, tokens INTEGER NOT NULL,
                 usd REAL NOT NULL, PRIMARY KEY (day, route, kind))"""
        )

    @property
    def budget(self) -> Budget:
        """The limits in force."""
        return self._budget

    def _day(self) -> str:
        return dt.datetime.fromtimestamp(self._clock(), tz=dt.UTC).date().isoformat()

    def today(self) -> Spend:
        """What has been booked this UTC day, over all routes."""
        tokens, usd = (
            self._database.connection()
            .execute(
                "SELECT coalesce(sum(tokens), 0), coalesce(sum(usd), 0) FROM spend WHERE day = ?",
                (self._day(),),
            )
            .fetchone()
        )
        return Spend(tokens, usd)

    def reserve(self, estimate: Spend) -> bool:
        """Set an estimate aside; False, setting nothing aside, if the budget would be passed."""
        with self._lock:
            spent = self.today()
            tokens = spent.tokens + self._reserved.tokens + estimate.tokens
            usd = spent.usd + self._reserved.usd + estimate.usd
            limits = self._budget
            if limits.tokens_per_day is not None and tokens > limits.tokens_per_day:
                return False
            if limits.usd_per_day is not None and usd > limits.usd_per_day:
                return False
            self._reserved = Spend(self._reserved.tokens + estimate.tokens, self._reserved.usd + estimate.usd)
            return True

    def settle(self, estimate: Spend, route: str, spent: dict[SpendKind, Spend]) -> None:
        """Release a reservation and book what was really spent."""
        with self._lock:
            self._reserved = Spend(self._reserved.tokens - estimate.tokens, self._reserved.usd - estimate.usd)
            rows = [(self._day(), route, kind, *amount) for kind, amount in spent.items() if any(amount)]
            if rows:
                with self._database.write() as connection:
                    connection.executemany(
                        "INSERT INTO spend (day, route, kind, tokens, usd) VALUES (?, ?, ?, ?, ?)"
                        " ON CONFLICT (day, route, kind) DO UPDATE SET"
                        " tokens = tokens + excluded.tokens, usd = usd + excluded.usd",
                        rows,
                    )
