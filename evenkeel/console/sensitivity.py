"""Sensitivity of a route's models: how often an answer moves when another question is asked, as it should."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import CONTRAST
from evenkeel.monitor.estimate.bounded_mean import bounded_mean

if TYPE_CHECKING:
    from evenkeel.core.cells import Estimate
    from evenkeel.stores.verdict_log import VerdictLog

_KINDS: Final = (f"{CONTRAST}.number", f"{CONTRAST}.meaning")
# Contrasts of a kind that are looked at, the newest.
_LATEST: Final = 200
# Probability that an interval misses the truth.
_ERROR_RATE: Final = 0.05


def sensitivities(log: VerdictLog, route: str) -> dict[str, Estimate]:
    """Return the share of a route's latest contrasts whose answer moved, by model; {} without any."""
    moved: dict[str, Counter[float]] = {}
    for kind in _KINDS:
        for verdict in log.latest(_LATEST, route=route, perturbation=kind):
            if verdict.shifted is not None:
                moved.setdefault(verdict.model, Counter())[float(verdict.shifted)] += 1
    estimates = {}
    for model, outcomes in moved.items():
        estimate = bounded_mean(outcomes, low=0.0, alpha=_ERROR_RATE)
        if estimate is not None:
            estimates[model] = estimate
    return estimates
