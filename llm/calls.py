"""Calls to one endpoint: in turn, at its pace, again where that may help, not at all while it is down."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from evenkeel.llm.faults import UNHEALTHY, Fault, pause_s
from evenkeel.llm.limits import Breaker, RateLimits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

T = TypeVar("T")


class _Got(NamedTuple, Generic[T]):
    """What the attempts at one call came to."""

    outcome: T | Fault
    asked: bool = True
    """Whether the endpoint was asked at all, so that the breaker should know."""


class Calls:
    """Makes calls, at most `concurrency` at once.

    A fault that may pass is tried again after a growing pause; one that throttles makes all callers
    wait, as long as the endpoint says. Belongs to one event loop.
    """

    def __init__(
        self,
        *,
        concurrency: int = 4,
        max_retries: int = 2,
        breaker: Breaker | None = None,
        limits: RateLimits | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Set the pace; nothing is sent.

        Args:
            concurrency: Calls under way at the same time.
            max_retries: Attempts after the first, with growing pauses.
            breaker: Default: opens for 30 s after five failures in a row.
            limits: Requests and tokens a minute. Default: none but what `Retry-After` asks for.
            sleep: Waits so many seconds between attempts of one call.
        """
        self.limits = limits or RateLimits()
        self._slots = asyncio.Semaphore(concurrency)
        self._max_retries = max_retries
        self._breaker = breaker or Breaker()
        self._sleep = sleep

    async def make(
        self, send: Callable[[int], Awaitable[T | Fault]], expected_tokens: Callable[[], int]
    ) -> T | Fault:
        """Queue, send, and send again while that may help; the breaker learns how it ended.

        Args:
            send: Makes one attempt; told how many tokens were taken from the limits for it.
            expected_tokens: How many an attempt needs at most, as far as is known by then.

        Returns: what was sent for, or the last attempt's fault. Its reason is "rate_limited" also if
            nothing was sent because that would have meant to wait for longer than the limits allow,
            and "circuit_open" if nothing was sent because the endpoint kept failing.
        """
        got = await self._attempts(send, expected_tokens)
        if got.asked:
            self._breaker.record(ok=not isinstance(got.outcome, Fault) or got.outcome.reason not in UNHEALTHY)
        return got.outcome

    async def _attempts(
        self, send: Callable[[int], Awaitable[T | Fault]], expected_tokens: Callable[[], int]
    ) -> _Got[T]:
        patience_s = self.limits.longest_wait_s
        got: _Got[T] | None = None
        allowed = False
        try:
            for attempt in range(self._max_retries + 1):
                expected = expected_tokens()
                if not self.limits.line_up(expected, patience_s):
                    return got or _Got(self._impatient(), asked=False)
                async with self._turn(expected):
                    waited_s = await self.limits.admit(expected, patience_s)
                    if waited_s is None:
                        # An endpoint that wants such a pause is out of order, as the breaker shall know.
                        return got or _Got(self._impatient())
                    patience_s -= waited_s
                    # Asked behind the queue, so that calls that waited while it opened are held back too.
                    if not allowed and not self._breaker.allow():
                        left_alone = "The endpoint failed repeatedly; it is left alone."
                        return _Got(Fault("circuit_open", left_alone), asked=False)
                    allowed = True
                    got = _Got(await send(expected))
                if not isinstance(got.outcome, Fault):
                    return got
                await self._after(got.outcome, attempt)
                if not got.outcome.passing:
                    return got
        except BaseException:
            if allowed:
                # A trial call that was cancelled tells nothing: the next call may try again soon.
                self._breaker.abandon()
            raise
        assert got is not None
        return got

    @asynccontextmanager
    async def _turn(self, expected: int) -> AsyncIterator[None]:
        """One of the places for calls under way, for one who stood in line."""
        try:
            await self._slots.acquire()
        finally:
            self.limits.step_out(expected)
        try:
            yield
        finally:
            self._slots.release()

    async def _after(self, fault: Fault, attempt: int) -> None:
        """Wait before the next attempt, with all others if the endpoint wants fewer calls."""
        asked_s = fault.asked_pause_s
        wait_s = pause_s(attempt) if asked_s is None else asked_s
        if fault.throttled:
            self.limits.pause(wait_s)
        elif fault.passing and attempt < self._max_retries:
            await self._sleep(wait_s)

    def _impatient(self) -> Fault:
        limit_s = self.limits.longest_wait_s
        return Fault("rate_limited", f"Not asked: it would have had to wait for more than {limit_s:g} s.")
