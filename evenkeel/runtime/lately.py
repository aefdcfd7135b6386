"""What takes a store to find out, found out beforehand: a scrape must not wait for a Redis that is gone."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from evenkeel.core.trouble import Trouble

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

Found = TypeVar("Found")

log = logging.getLogger("evenkeel.monitor")

_EVERY_S: Final = 1.0
_STALE_S: Final = 30.0


class Lately(Generic[Found]):
    """Something as it was a moment ago; nothing once that is half a minute ago."""

    def __init__(
        self, read: Callable[[], Found], nothing: Found, timer: Callable[[], float] = time.monotonic
    ) -> None:
        """Wire it.

        Args:
            read: Finds it out; may block and fail.
            nothing: What there is while nothing was found.
            timer: Seconds since some moment.
        """
        self._read = read
        self._nothing = nothing
        self._timer = timer
        self._found = nothing
        self._found_at = timer()

    def __call__(self) -> Found:
        """What was found last. Never waits."""
        return self._found if self._timer() - self._found_at < _STALE_S else self._nothing

    def look(self) -> None:
        """Find it out now."""
        found = self._read()
        self._found, self._found_at = found, self._timer()

    def run(self, stop: threading.Event) -> None:
        """Look every second until `stop` is set. A store in trouble is tried again."""
        trouble = Trouble(log, "figures of queue, spend and changes cannot be read (%s)")
        while True:
            with trouble:
                self.look()
            if stop.wait(_EVERY_S):
                return
