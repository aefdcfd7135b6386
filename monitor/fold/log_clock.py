"""The time of the verdict log: what "the last hour" is counted back from."""

from __future__ import annotations

from collections import deque
from math import isfinite
from typing import Final

_VOTES: Final = 9


class LogClock:
    """The median time of the last nine verdicts.

    The fold may not look at a clock, or a replay would end differently. The newest verdict's time
    would let one worker whose clock is wrong move every window; the largest so far would never come back.
    The median follows the log within four verdicts, over idle nights too, and in both directions.
    """

    __slots__ = ("_times", "now")

    def __init__(self, times: list[float] | None = None) -> None:
        self._times = deque(times or (), maxlen=_VOTES)
        self.now = self._median()

    def add(self, at: float) -> float:
        """Take the time of the next verdict, in Unix seconds; returns the log's time."""
        if isfinite(at):
            self._times.append(at)
            self.now = self._median()
        return self.now

    def _median(self) -> float:
        return sorted(self._times)[(len(self._times) - 1) // 2] if self._times else 0.0

    def to_json(self) -> list[float]:
        """The times that vote, oldest first."""
        return list(self._times)
