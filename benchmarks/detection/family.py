"""Many cells: false alarms, the delay of those that worsened, and baselines that are estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.detection.passages import EvidenceRuns, difference
from evenkeel.monitor.detect import Baseline, DriftAlert, DriftRules, Observable, bets_against, estimate_of
from evenkeel.monitor.detect.e_detector import SHARES
from evenkeel.monitor.detect.family import MOST_TOGETHER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkeel.core.cells import Estimate


CELLS: Final = 40
TRIALS: Final = 20_000
"""Of the family, that is 500 of each cell."""
_BASELINE: Final = 0.1
_THRESHOLD: Final = 0.1
_WORSE_BY: Final = 0.2
"""Above the threshold."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """Families in which nothing changed."""

    excess: float
    level: float
    alerts: float
    """Mean number in all trials, each cell starting again after its alert."""
    groups: float
    """Mean number of moments at which alerts were raised."""
    error: float
    """Standard error of the number of moments."""


@dataclass(frozen=True, slots=True)
class Worse:
    """Families of which some cells worsened before the first trial."""

    cells: int
    alone: float
    """Mean trials of a worsened cell until it alarms by itself."""
    together: float
    """The same by e-BH."""
    false_share: float
    """Mean share of cells without a change in the group, when all that worsened are in it."""


def group_sizes(evidence: NDArray[np.float64], level: float) -> NDArray[np.intp]:
    """Size that each family's group is decided by; families × cells. Agrees with `alarm_set`."""
    ranked = -np.sort(-evidence, axis=1)[:, :MOST_TOGETHER]
    enough = ranked * np.arange(1, ranked.shape[1] + 1) >= level
    return np.where(enough.any(axis=1), ranked.shape[1] - enough[:, ::-1].argmax(axis=1), 0)


def in_alarm(evidence: NDArray[np.float64], level: float) -> NDArray[np.bool_]:
    """Which cells are in the group."""
    size = group_sizes(evidence, level)[:, None]
    return (size > 0) & (evidence * np.maximum(size, 1) >= level)


def quiet(excess: float, level: float, *, families: int, rng: np.random.Generator) -> Quiet:
    """Count alerts while nothing changes; the excess is at the threshold where that is hardest."""
    stream = difference(_BASELINE, excess)
    detectors = EvidenceRuns(bets_against(_THRESHOLD), stream, families * CELLS)
    alerts, groups = np.zeros(families), np.zeros(families)
    for _ in range(TRIALS // CELLS):
        evidence = detectors.step(stream.draw((families * CELLS,), rng)).reshape(families, CELLS)
        raised = in_alarm(evidence, level)
        alerts += raised.sum(axis=1)
        groups += raised.any(axis=1)
        detectors.restart(raised.ravel())
    return Quiet(
        excess, level, float(alerts.mean()), float(groups.mean()), float(groups.std() / np.sqrt(families))
    )


def worse(cells: int, level: float, *, families: int, rng: np.random.Generator) -> Worse:
    """Some cells far beyond their threshold, the others without any excess."""
    changed = np.arange(CELLS) < cells
    bad = difference(_BASELINE, _THRESHOLD + _WORSE_BY)
    good = difference(_BASELINE, 0.0)
    detectors = EvidenceRuns(bets_against(_THRESHOLD), bad, families * CELLS)
    stands = np.zeros((families, CELLS))
    alone = np.full((families, CELLS), np.inf)
    together = alone.copy()
    false = np.full(families, np.nan)
    trial = 0
    while not (np.isfinite(alone[:, changed]).all() and np.isfinite(together[:, changed]).all()):
        trial += 1
        drawn = good.draw((families, CELLS), rng)
        drawn[:, changed] = bad.draw((families, cells), rng)
        evidence = detectors.step(drawn.ravel()).reshape(families, CELLS)
        # What was raised keeps the evidence it had, as in `evenkeel.monitor.detect.Alert`.
        held = np.where(stands > 0, stands, evidence)
        group = in_alarm(held, level)
        stands = np.where(group & (stands == 0), evidence, stands)
        alone[np.isinf(alone) & (evidence >= level)] = trial
        together[np.isinf(together) & group] = trial
        done = np.isnan(false) & np.isfinite(together[:, changed]).all(axis=1)
        false[done] = ((group & ~changed).sum(axis=1) / np.maximum(group.sum(axis=1), 1))[done]
    return Worse(
        cells, float(alone[:, changed].mean()), float(together[:, changed].mean()), float(false.mean())
    )


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
