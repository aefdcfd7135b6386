"""Pauses that double with each failure in a row."""

from __future__ import annotations

from typing import Final, NamedTuple

_MOST_DOUBLINGS: Final = 64
"""No pause is as long as that; more would overflow."""


class Backoff(NamedTuple):
    """How long to leave alone what keeps failing. The caller counts its failures and does the waiting."""

    first_s: float
    """After the first failure."""
    longest_s: float

    def pause_s(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row; 0 if there is none."""
        if failures <= 0:
            return 0.0
        return min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
