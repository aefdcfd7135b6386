"""Suspicion: the likelihood ratio of the latest trials under a risen rate of moved answers."""

from __future__ import annotations

from math import log
from typing import Final

MOST_SUSPICION: Final = 10.0
"""Limit on suspicion. Without it, suspicion would take too long to end."""


def risen_log_ratio(usual: float, rise: float, *, hit: bool) -> float:
    """Return the log-likelihood ratio of a trial under a risen rate against the usual one.

    The risen rate has twice the odds of the usual one. Below a usual rate of ½ it is at least `rise` higher;
    at higher rates, a fixed rise is so small against random variation that most findings would be chance.

    Args:
        usual: Usual rate of moved answers, in (0, 1).
        rise: Smallest rise of the rate, in (0, ½).
        hit: True if the answer moved.
    """
    risen = 2 * usual / (1 + usual)
    if usual < 0.5:  # noqa: PLR2004 - even
        risen = max(risen, usual + rise)
    return log(risen / usual if hit else (1 - risen) / (1 - usual))
