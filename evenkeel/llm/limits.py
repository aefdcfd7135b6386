"""The pace of calls to an endpoint: pauses it asks for, a circuit breaker."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


# Longest silence that a `Retry-After` brings about; then the endpoint is tried again.
_LONGEST_PAUSE_S = 60.0


class Pauses:
    """The silence that an endpoint asks for, kept by all who call it. Belongs to one event loop."""

    def __init__(
        self,
        *,
        longest_wait_s: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Begin without a pause.

        Args:
            longest_wait_s: A call that would wait for longer, all its attempts together, is turned down.
                Waiting until the judge has one of its places free (`concurrency`) is not counted.
            clock: Seconds, never going back.
            sleep: Waits so many seconds.
        """
        self.longest_wait_s = longest_wait_s
        self._clock = clock
        self._sleep = sleep
        self._quiet_until = clock()

    def pause(self, seconds: float) -> None:
        """Keep everybody from calling for so long, a minute at most."""
        self._quiet_until = max(self._quiet_until, self._clock() + min(seconds, _LONGEST_PAUSE_S))

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
        # Clock time at which the next trial call may go out, while open.
        self._next_trial_at = 0.0

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
