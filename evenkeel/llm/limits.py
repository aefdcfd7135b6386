"""The pace of calls to an endpoint: requests a minute, pauses it asks for, a circuit breaker."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


_BURST = 0.1
"""Share of a minute's allowance that may be used at once after a quiet time."""
_MINUTE_S = 60.0
_LONGEST_PAUSE_S = 60.0
"""Longest silence that a `Retry-After` brings about; then the endpoint is tried again."""


class Bucket:
    """A token bucket with a queue: who takes more than is there waits until it has run in again.

    Those who wait as asked take at most `per_minute` in any 60 seconds. Only a single one that wants more
    than the tenth that fits in may exceed it, and waits longer for it. Does no I/O.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        if not per_minute >= 1:
            raise ValueError(f"a rate limit is at least 1 a minute, not {per_minute}")
        self._size = max(1.0, per_minute * _BURST)
        # A full bucket and a minute's inflow together are the limit: who takes at the very end of
        # the minute (one unit) belongs to the next one.
        self._per_s = (per_minute - self._size + 1) / _MINUTE_S
        self._clock = clock
        self._level = self._size
        self._at = clock()

    def wait_s(self, amount: float) -> float:
        """Seconds until so much is available, behind all who took before."""
        return max(0.0, (amount - self._now()) / self._per_s)

    def take(self, amount: float) -> None:
        """Take so much, now or (after `wait_s`) later; a negative amount gives back."""
        self._level = min(self._now() - amount, self._size)

    def _now(self) -> float:
        now = self._clock()
        self._level = min(self._size, self._level + (now - self._at) * self._per_s)
        self._at = now
        return self._level


class RateLimits:
    """Lets calls through at the pace an endpoint allows. Shared by all who call that endpoint.

    Belongs to one event loop.
    """

    def __init__(
        self,
        *,
        requests_per_minute: float | None = None,
        longest_wait_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Set the pace.

        Args:
            requests_per_minute: At least 1. None = no limit.
            longest_wait_s: A call that would queue for longer, all its attempts together, is turned down.
                Waiting until the judge has one of its places free (`concurrency`) is not counted.
            clock: Seconds, never going back.
            sleep: Waits so many seconds.
            jitter: Draws the share by which a pause is prolonged, so that processes do not return together.

        Raises: ValueError for a limit below 1.
        """
        self.longest_wait_s = longest_wait_s
        self._requests = Bucket(requests_per_minute, clock) if requests_per_minute is not None else None
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        self._quiet_until = clock()
        self._lined_up = 0

    def line_up(self, patience_s: float) -> bool:
        """Stand in line for a call; `step_out` follows in any case.

        Returns: False, not standing in line, if all those ahead and this one would take more than
            `patience_s` at the pace allowed.
        """
        if self._wait_s(self._lined_up + 1) > patience_s:
            return False
        self._lined_up += 1
        return True

    def step_out(self) -> None:
        """Leave the line, to call or because the call was given up."""
        self._lined_up -= 1

    async def admit(self, patience_s: float) -> float | None:
        """Wait until a call may be sent: to be asked right before, as calls held up elsewhere would pile up.

        Returns: seconds waited; None if the endpoint wants to be left alone for more than `patience_s`.
        """
        rested_s = await self.rest(patience_s)
        if rested_s is None:
            return None
        wait_s = self._wait_s(1)
        self.count(1)
        try:
            if wait_s > 0:
                await self._sleep(wait_s)
            again_s = await self.rest(patience_s - rested_s - wait_s)
        except BaseException:
            self.count(-1)
            raise
        if again_s is None:
            self.count(-1)
            return None
        return rested_s + wait_s + again_s

    def _wait_s(self, requests: int) -> float:
        return self._requests.wait_s(requests) if self._requests else 0.0

    def count(self, requests: int) -> None:
        """Note calls that did not queue; a negative number gives back."""
        if self._requests:
            self._requests.take(requests)

    def pause(self, seconds: float) -> None:
        """Keep everybody from calling for so long, a minute at most, and by the jitter longer."""
        pause_s = min(seconds, _LONGEST_PAUSE_S) * (1 + self._jitter())
        self._quiet_until = max(self._quiet_until, self._clock() + pause_s)

    @property
    def pause_left_s(self) -> float:
        """Seconds until the endpoint may be called again, 0 if it may."""
        return max(0.0, self._quiet_until - self._clock())

    async def rest(self, patience_s: float) -> float | None:
        """Wait until no pause is left, those that begin meanwhile included.

        Returns: seconds waited; None, as soon as that is clear, if it takes more than `patience_s`.
        """
        rested_s = 0.0
        while (left_s := self.pause_left_s) > 0:
            if rested_s + left_s > patience_s:
                return None
            await self._sleep(left_s)
            rested_s += left_s
        return rested_s


class Breaker:
    """Opens after a run of failures; after a pause lets one call through to try.

    Does no I/O and takes no lock: it belongs to one event loop.
    """

    def __init__(
        self,
        *,
        failures: int = 5,
        open_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._failures = failures
        self._open_s = open_s
        self._clock = clock
        self._in_a_row = 0
        self._next_trial_at = 0.0
        """Clock time at which the next trial call may go out, while open."""

    @property
    def failures_in_a_row(self) -> int:
        """Calls that have failed since the last success."""
        return self._in_a_row

    @property
    def opens_next(self) -> bool:
        """True if another failure opens it, or keeps it open."""
        return self._in_a_row + 1 >= self._failures

    @property
    def is_open(self) -> bool:
        """True while calls are being held back, a single trial call aside."""
        return self._in_a_row >= self._failures

    def allow(self) -> bool:
        """Return whether a call may go out now. While open, True is a trial and given once per pause."""
        if not self.is_open:
            return True
        now = self._clock()
        if now < self._next_trial_at:
            return False
        self._next_trial_at = now + self._open_s
        return True

    def abandon(self) -> None:
        """Note that a call ended without telling anything (it was cancelled): give its trial back."""
        if self.is_open:
            self._next_trial_at = min(self._next_trial_at, self._clock())

    def record(self, *, ok: bool) -> None:
        """Note how a call ended. One success closes; each failure while open extends the pause."""
        if ok:
            self._in_a_row = 0
            return
        self._in_a_row += 1
        if self.is_open:
            self._next_trial_at = self._clock() + self._open_s
