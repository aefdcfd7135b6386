"""What else looks for a change of a rate: ADWIN, Page-Hinkley and a window, on many runs at a time.

Each looks both ways and is tuned to a mean run of the same length without a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.traffic.measures import CAP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from benchmarks.traffic.measures import Step

    Statistic = Callable[[NDArray[np.bool_]], NDArray[np.float64]]
    """Evidence of a change after each trial, for each of several runs."""


def page_hinkley(drift: float) -> Statistic:
    """The test of Page and Hinkley, both ways, against the running mean."""

    def statistic(shifted: NDArray[np.bool_]) -> NDArray[np.float64]:
        places = np.arange(1, shifted.shape[1] + 1)
        means = np.cumsum(shifted, axis=1) / places
        away = shifted - means
        found = np.zeros(shifted.shape)
        for side in (1, -1):
            total = np.cumsum(side * away - drift, axis=1)
            found = np.maximum(found, total - np.minimum.accumulate(total, axis=1))
        return found

    return statistic


def window(size: int) -> Statistic:
    """The latest trials against the mean of all before them, in standard errors."""

    def statistic(shifted: NDArray[np.bool_]) -> NDArray[np.float64]:
        sums = np.cumsum(shifted, axis=1, dtype=np.float64)
        found = np.zeros(shifted.shape)
        places = np.arange(2 * size, shifted.shape[1])
        late = (sums[:, places] - sums[:, places - size]) / size
        early = sums[:, places - size] / (places - size + 1)
        spread = np.sqrt(np.maximum(early * (1 - early), 1e-3) * (1 / size + 1 / (places - size + 1)))
        found[:, places] = np.abs(late - early) / spread
        return found

    return statistic


_LAGS: Final = np.unique(np.geomspace(8, 12_000, 36).astype(int))
_CHECKED: Final = 8
"""Trials between two checks of ADWIN."""


def adwin(shifted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """ADWIN until its first cut: the largest log-evidence of any split, by the bound of Bifet and Gavaldà.

    Splits are at 36 distances from the end in place of its buckets; its statistic is solved for the
    confidence, so that one level stands for every delta.
    """
    sums = np.cumsum(shifted, axis=1, dtype=np.float64)
    found = np.zeros(shifted.shape)
    for place in range(_CHECKED - 1, shifted.shape[1], _CHECKED):
        n = place + 1
        lags = _LAGS[n - 8 >= _LAGS]
        if not len(lags):
            continue
        total = sums[:, place][:, np.newaxis]
        late_sum = total - sums[:, place - lags]
        late, early = late_sum / lags, (total - late_sum) / (n - lags)
        variance = (total / n) * (1 - total / n)
        harmonic = 1 / (1 / lags + 1 / (n - lags))
        # |late − early| = √(2/m · v · L) + 2/(3m) · L, for L.
        linear, root = 2 / (3 * harmonic), np.sqrt(2 * variance / harmonic)
        distance = np.abs(late - early)
        solved = (-root + np.sqrt(root**2 + 4 * linear * distance)) / (2 * linear)
        found[:, place] = (solved**2).max(axis=1)
    return found


RIVALS: Final[dict[str, tuple[Statistic, ...]]] = {
    "ADWIN": (adwin,),
    "Page-Hinkley": tuple(page_hinkley(drift) for drift in (0.01, 0.025, 0.05)),
    "window": tuple(window(size) for size in (50, 100, 200, 400)),
}
"""By name; of several settings the one that finds the change first."""


RATES: Final = (0.02, 0.05, 0.1, 0.2, 0.5)
"""At which a setting has to keep the run length, if it is to be used without knowing the rate."""


@dataclass(frozen=True, slots=True)
class Rival:
    """How late a rival is, with the best of its settings."""

    name: str
    knowing: float
    """Tuned at the rate that there is before the change: an advantage that no installation has."""
    unknowing: float
    """With a level that keeps the run length at every rate."""


def rivals(
    steps: Sequence[Step], quiet: int, run: float, *, runs: int, rng: np.random.Generator
) -> dict[Step, list[Rival]]:
    """The delays of all rivals; runs with an alarm before the change are left out.

    Args:
        steps: What happens.
        quiet: Trials before it.
        run: Mean trials to a false alarm, to which each is tuned.
        runs: Simulated for each level and each delay.
        rng: Chance.
    """
    levels = {
        (name, place, rate): _level(statistic, rate, quiet, run, runs, rng)
        for name, settings in RIVALS.items()
        for place, statistic in enumerate(settings)
        for rate in RATES
    }
    found: dict[Step, list[Rival]] = {}
    for step in steps:
        rates = np.array([step.before] * quiet + [step.rate(trial) for trial in range(1, CAP + 1)])
        shifted = rng.random((runs, len(rates))) < rates
        found[step] = []
        for name, settings in RIVALS.items():
            knowing, unknowing = [], []
            for place, statistic in enumerate(settings):
                evidence = statistic(shifted)
                highest = max(levels[name, place, rate] for rate in RATES)
                knowing.append(_delay(evidence, levels[name, place, step.before], quiet))
                unknowing.append(_delay(evidence, highest, quiet))
            found[step].append(Rival(name, min(knowing), min(unknowing)))
    return found


def _level(
    statistic: Statistic, rate: float, quiet: int, run: float, runs: int, rng: np.random.Generator
) -> float:
    """The level that is passed within the quiet trials and `CAP` more as often as a run length says.

    That is with the probability that an exponential run length of this mean has.
    """
    shifted = rng.random((runs, quiet + CAP)) < rate
    highest = statistic(shifted).max(axis=1)
    return float(np.quantile(highest, np.exp(-(quiet + CAP) / run)))


def _delay(evidence: NDArray[np.float64], level: float, quiet: int) -> float:
    calm = evidence[:, :quiet].max(axis=1) <= level
    after = evidence[calm][:, quiet:] > level
    first = np.where(after.any(axis=1), after.argmax(axis=1) + 1, CAP)
    return float(first.mean()) if len(first) else float("inf")
