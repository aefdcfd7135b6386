"""Baselines that are estimates: alerts without a change, and delays with one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from evenkeel.monitor.detect import (
    Baseline,
    DriftAlert,
    DriftRules,
    Observable,
    bets_against,
    estimate_of,
)
from evenkeel.monitor.detect.e_detector import SHARES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkeel.core.cells import Estimate

TOLERANCE: Final = 0.05
LEVEL: Final = 10_000.0
UNCHANGED: Final = 2000
"""Trials without a change after the baseline."""
_ALPHA: Final = 0.1
_MOST: Final = 20_000


@dataclass(frozen=True, slots=True)
class Drift:
    """Cells with baselines of their own trials."""

    rate: float
    trials: int
    """Of a baseline."""
    unchanged: float
    """Share of cells with an alert in so many trials without a change."""
    naive: float
    """The same if the line above were the estimate itself, without interval and tolerance."""
    rise: float
    """Mean trials until a rise by 0.15 is found."""
    known: float
    """The same with the true rate as the baseline."""


class BothSides:
    """`DriftAlert` while it is level, on a matrix: each run has lines of its own."""

    def __init__(self, lines: NDArray[np.float64]) -> None:
        below, above = lines
        shares = np.array(SHARES)[:, None]
        # A line at the end of the range is not watched; the other one then has all the weight.
        watched = np.array([below > 0, above < 1])
        self._weights = watched / np.maximum(watched.sum(axis=0), 1)
        self._lines = lines
        self._stakes = np.array(
            [-shares / (1 - below), shares / np.maximum(above, 1e-9)],
        )
        self._wealth = np.zeros(self._stakes.shape)

    def step(self, observed: NDArray[np.float64]) -> NDArray[np.float64]:
        """The evidence."""
        self._wealth += 1 / len(SHARES)
        self._wealth *= 1 + self._stakes * (observed - self._lines)[:, None, :]
        evidence: NDArray[np.float64] = (self._wealth.sum(axis=1) * self._weights).sum(axis=0)
        return evidence


def estimate(hits: int, trials: int) -> Estimate:
    """What a provisional baseline is made of."""
    found = estimate_of(Observable.RATE, {1: hits, 0: trials - hits}, alpha=_ALPHA)
    assert found is not None
    return found


def lines_of(hits: NDArray[np.intp], trials: int, tolerance: float) -> NDArray[np.float64]:
    """Lines below and above of baselines with so many hits: what `DriftAlert` makes of them."""
    by_hits = {
        count: DriftAlert(DriftRules(tolerance, LEVEL), Baseline.of(estimate(int(count), trials))).lines
        for count in np.unique(hits)
    }
    return np.array([by_hits[count] for count in hits]).T


def measure(rate: float, trials: int, *, cells: int, rng: np.random.Generator) -> Drift:
    """Draw baselines, then go on with and without a change."""
    hits = rng.binomial(trials, rate, cells)
    lines = lines_of(hits, trials, TOLERANCE)
    known = np.tile([[max(0.0, rate - TOLERANCE)], [min(1.0, rate + TOLERANCE)]], cells)
    return Drift(
        rate,
        trials,
        _alerted(BothSides(lines), rate, cells, rng),
        _naive(np.clip(hits / trials, 0.5 / trials, 1 - 0.5 / trials), rate, rng),
        _mean_delay(BothSides(lines), rate + 0.15, cells, rng),
        _mean_delay(BothSides(known), rate + 0.15, cells, rng),
    )


def _alerted(detectors: BothSides, rate: float, cells: int, rng: np.random.Generator) -> float:
    alerted = np.zeros(cells, dtype=bool)
    for _ in range(UNCHANGED):
        evidence = detectors.step((rng.random(cells) < rate).astype(float))
        alerted |= evidence >= LEVEL
    return float(alerted.mean())


def _naive(estimates: NDArray[np.float64], rate: float, rng: np.random.Generator) -> float:
    bets = [bets_against(float(one), "above", 0, 1) for one in estimates]
    factors = np.array([[bet.factors(0), bet.factors(1)] for bet in bets]).transpose(1, 2, 0)
    wealth = np.zeros(factors.shape[1:])
    alerted = np.zeros(len(estimates), dtype=bool)
    for _ in range(UNCHANGED):
        hit = rng.random(len(estimates)) < rate
        wealth = (wealth + 1 / len(SHARES)) * np.where(hit, factors[1], factors[0])
        alerted |= wealth.sum(axis=0) >= LEVEL
        wealth[:, alerted] = 0.0
    return float(alerted.mean())


def _mean_delay(detectors: BothSides, rate: float, cells: int, rng: np.random.Generator) -> float:
    taken = np.full(cells, np.nan)
    for trial in range(1, _MOST + 1):
        # An alarmed cell goes on unseen; its evidence may overflow to infinity, which harms nobody.
        with np.errstate(over="ignore", invalid="ignore"):
            evidence = detectors.step((rng.random(cells) < rate).astype(float))
        taken[np.isnan(taken) & (evidence >= LEVEL)] = trial
        if not np.isnan(taken).any():
            break
    return float(np.where(np.isnan(taken), _MOST, taken).mean())
