"""Pauses that double with each failure in a row."""

from __future__ import annotations

from typing import Final, NamedTuple

# Number of doublings beyond which a pause no longer grows. Without the limit, the power would overflow.
_MOST_DOUBLINGS: Final = 64


class Backoff(NamedTuple):
    """Exponential backoff. The caller counts the failures and does the waiting."""

    first_s: float
    """Pause after the first failure, in seconds."""
    longest_s: float

    def pause_s(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row; 0 if there is none."""
        if failures <= 0:
            return 0.0
        return min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
