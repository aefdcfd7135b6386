"""The optimum: CUSUM of the log likelihood ratio, by someone who knows both distributions.

Of all procedures with the same mean run to a false alarm it has the shortest worst-case delay
(Moustakides 1986). No monitor can have it: it needs the rates before and after the change.
"""

from __future__ import annotations

from functools import partial
from math import log
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

from benchmarks.detection.passages import SumRuns
from benchmarks.detection.tuning import tuned

if TYPE_CHECKING:
    from benchmarks.detection.streams import Stream
    from benchmarks.detection.tuning import Tuned

_GRID = np.arange(0.5, 14.0, 0.05)


def optimal(before: Stream, after: Stream, target: float, *, runs: int, rng: np.random.Generator) -> Tuned:
    """CUSUM for this very change, tuned by simulation to a mean run without it."""
    scores = [
        log(late / early) if early > 0 else 0.0
        for early, late in zip(before.chances, after.chances, strict=True)
    ]
    return tuned(partial(SumRuns, scores), before, _GRID, target, runs=runs, rng=rng)


def best_bet(
    before: Stream,
    after: Stream,
    line: float,
    low: float,
    target: float,
    *,
    runs: int,
    rng: np.random.Generator,
) -> Tuned:
    """CUSUM of the bet that grows fastest after this very change.

    Who may assume nothing about the distribution before the change but its mean cannot do better to
    first order: the growth of this bet is the smallest divergence of what is observed after the
    change from any distribution with a harmless mean.
    """

    def growth(stake: float) -> float:
        return sum(
            chance * log(1 + stake * (value - line))
            for value, chance in zip(after.values, after.chances, strict=True)
            if chance > 0
        )

    found = minimize_scalar(lambda stake: -growth(stake), bounds=(0, 0.999 / (line - low)), method="bounded")
    scores = [log(1 + found.x * (value - line)) for value in before.values]
    return tuned(partial(SumRuns, scores), before, _GRID, target, runs=runs, rng=rng)
