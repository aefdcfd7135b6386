"""Levels at which a detector has a given mean run without a change, and its delays there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.detection.passages import passages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from benchmarks.detection.passages import Runs
    from benchmarks.detection.streams import Stream

_PILOT_RUNS = 100
_PILOT_CAP = 3
_CAP = 12
"""Longest run, in the run length aimed at."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """A detector's mean runs over levels, all without a change."""

    make: Callable[[int], Runs]
    before: Stream
    levels: NDArray[np.float64]
    run_lengths: NDArray[np.float64]

    def delays(
        self,
        after: Stream,
        run_lengths: Sequence[float],
        *,
        runs: int,
        quiet: int,
        rng: np.random.Generator,
    ) -> list[float]:
        """Mean trials from the change to the alarm, at mean run lengths without a change.

        A level between two that were measured is taken to mix them: for discrete observations there
        is often none that has exactly the run length asked for.
        """
        cap = int(_CAP * self.run_lengths.max())
        passed = passages(
            self.make, self.before, after, self.levels, runs=runs, cap=cap, rng=rng, quiet=quiet
        )
        means = np.nanmean(passed.times, axis=0)
        return [float(np.interp(np.log(one), np.log(self.run_lengths), means)) for one in run_lengths]

    def level(self, run_length: float) -> float:
        """Where the mean run is that long."""
        return float(np.interp(np.log(run_length), np.log(self.run_lengths), self.levels))


def tuned(
    make: Callable[[int], Runs],
    before: Stream,
    grid: NDArray[np.float64],
    target: float,
    *,
    runs: int,
    rng: np.random.Generator,
    margin: int = 8,
) -> Tuned:
    """Measure mean runs at the levels of the grid around the one where it is `target`.

    Args:
        make: gives the detectors.
        before: what is observed.
        grid: levels that may serve, growing.
        target: mean run length that must lie between two of the levels.
        runs: how many detectors.
        rng: draws everything.
        margin: levels of the grid on either side of the one that a few runs point to.

    Raises:
        ValueError: if the run length is not within what the grid has.
    """
    cap = int(_PILOT_CAP * target)
    pilot = passages(make, before, before, grid, runs=_PILOT_RUNS, cap=cap, rng=rng).times.mean(axis=0)
    near = int(np.searchsorted(pilot, target))
    while True:
        levels = grid[max(0, near - margin) : near + margin]
        passed = passages(make, before, before, levels, runs=runs, cap=int(_CAP * target), rng=rng)
        run_lengths = passed.times.mean(axis=0)
        if run_lengths[0] > target and levels[0] > grid[0]:
            near -= margin
        elif run_lengths[-1] < target and levels[-1] < grid[-1]:
            near += margin
        else:
            break
    if not run_lengths[0] <= target <= run_lengths[-1]:
        raise ValueError(f"mean runs {run_lengths[0]:.0f} to {run_lengths[-1]:.0f} miss {target:.0f}")
    return Tuned(make, before, levels, run_lengths)
