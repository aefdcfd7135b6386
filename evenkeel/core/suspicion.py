"""Suspicion: the likelihood ratio of the latest trials under a risen rate of moved answers."""

from __future__ import annotations

from math import log
from typing import Final

MOST_SUSPICION: Final = 10.0
"""Limit on suspicion. Without it, suspicion would take too long to end."""


def risen_log_ratio(usual: float, rise: float, *, hit: bool) -> float:
    """Return the log-likelihood ratio of a trial under a risen rate against the usual one.

    The risen rate has twice the odds, or is `rise` higher if that is more and the usual rate below even: at
    high rates a fixed rise is so small against chance that what is found is mostly chance.

    Args:
        usual: Above 0 and below 1.
        rise: Above 0, below one half.
        hit: Whether the answer moved.
    """
    risen = 2 * usual / (1 + usual)
    if usual < 0.5:  # noqa: PLR2004 - even
        risen = max(risen, usual + rise)
    return log(risen / usual if hit else (1 - risen) / (1 - usual))
