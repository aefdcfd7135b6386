"""A circuit breaker: an endpoint that keeps failing is left alone for a while."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


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
    def is_open(self) -> bool:
        """Whether calls are being held back, a single trial call aside."""
        return self._in_a_row >= self._failures

    def allow(self) -> bool:
        """Whether a call may go out now. While open, True is a trial and given once per pause."""
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
