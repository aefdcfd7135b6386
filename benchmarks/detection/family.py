"""Many cells: how often any of them alarms, and how soon those that worsened are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.detection.passages import EvidenceRuns, difference
from evenkeel.monitor.detect import bets_against
from evenkeel.monitor.detect.family import MOST_TOGETHER

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
