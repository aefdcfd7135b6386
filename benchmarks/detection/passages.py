"""Many detectors at once: when the statistic of each first passes each of several levels.

One run of a detector says this for every level, so a curve of mean run lengths over levels costs one
simulation, and a detector is tuned to a run length by reading off its curve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from benchmarks.detection.streams import Stream
    from evenkeel.monitor.detect import Bets

_BLOCK = 256


class Runs(Protocol):
    """Several runs of one detector."""

    def step(self, drawn: NDArray[np.intp]) -> NDArray[np.float64]:
        """Take one value of each run, by its number; returns the statistic of each."""

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Go on with some of the runs."""


class EvidenceRuns:
    """The arithmetic of `evenkeel.monitor.detect.EDetector` on a matrix, bets by runs."""

    def __init__(self, bets: Bets, stream: Stream, runs: int) -> None:
        self._factors = np.array([bets.factors(value) for value in stream.values]).T.copy()
        self._entering = 1 / len(bets.stakes)
        self._wealth = np.zeros((len(bets.stakes), runs))

    def step(self, drawn: NDArray[np.intp]) -> NDArray[np.float64]:
        """The evidence."""
        self._wealth += self._entering
        self._wealth *= self._factors[:, drawn]
        evidence: NDArray[np.float64] = self._wealth.sum(axis=0)
        return evidence

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Go on with some of the runs."""
        self._wealth = self._wealth[:, mask]

    def restart(self, mask: NDArray[np.bool_]) -> None:
        """Let some of the runs start from nothing."""
        self._wealth[:, mask] = 0.0


class SumRuns:
    """CUSUM: the sum of the values' scores since it was last below zero."""

    def __init__(self, scores: Sequence[float], runs: int) -> None:
        self._scores = np.array(scores)
        self._sums = np.zeros(runs)

    def step(self, drawn: NDArray[np.intp]) -> NDArray[np.float64]:
        """The sum."""
        self._sums += self._scores[drawn]
        np.maximum(self._sums, 0.0, out=self._sums)
        return self._sums

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Go on with some of the runs."""
        self._sums = self._sums[mask]


class WindowRuns:
    """The sum of the last `width` values, nothing before there are so many."""

    def __init__(self, stream: Stream, width: int, runs: int) -> None:
        self._values = np.array(stream.values)
        self._ring = np.zeros((width, runs))
        self._sums = np.zeros(runs)
        self._taken = 0

    def step(self, drawn: NDArray[np.intp]) -> NDArray[np.float64]:
        """The sum, minus infinity while the window is not full."""
        slot = self._taken % len(self._ring)
        value = self._values[drawn]
        self._sums += value - self._ring[slot]
        self._ring[slot] = value
        self._taken += 1
        if self._taken < len(self._ring):
            return np.full(self._sums.shape, -np.inf)
        return self._sums

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Go on with some of the runs."""
        self._ring, self._sums = self._ring[:, mask], self._sums[mask]


@dataclass(frozen=True, slots=True)
class Passed:
    """When levels were passed, and how high."""

    times: NDArray[np.float64]
    """Runs × levels, in trials after the change; the cap where that was reached, and NaN where a run
    passed the level before the change: it had its alarm."""
    last: NDArray[np.float64]
    """The statistic of each run when it passed the last level; NaN if it did not."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Run lengths at one level."""

    mean: float
    error: float
    """Standard error of the mean."""
    height: float
    """Mean statistic at the alarm."""
    censored: int
    """Runs that reached the cap and are counted with its length, which makes the mean too small."""


def passages(
    make: Callable[[int], Runs],
    before: Stream,
    after: Stream,
    levels: Sequence[float] | NDArray[np.float64],
    *,
    runs: int,
    cap: int,
    rng: np.random.Generator,
    quiet: int = 0,
) -> Passed:
    """When each run first passes each level.

    Args:
        make: gives the detectors, as many as are asked for.
        before: what is observed in the first `quiet` trials.
        after: what is observed from then on; the same values.
        levels: growing.
        runs: how many detectors.
        cap: trials after which a run is given up and counted as if it had passed every level.
        rng: draws everything.
        quiet: trials before the change.
    """
    height = np.asarray(levels, dtype=np.float64)
    # A value beyond the last level, so that who has passed all is not asked again.
    ahead = np.append(height, np.inf)
    times = np.full((runs, len(height)), float(cap))
    last = np.full(runs, np.nan)
    alive = np.arange(runs)
    following = np.zeros(runs, dtype=np.intp)
    detectors = make(runs)
    trial = -quiet
    while alive.size and trial < cap:
        size = min(_BLOCK, -trial if trial < 0 else cap - trial)
        drawn = (before if trial < 0 else after).draw((size, alive.size), rng)
        for row in drawn:
            trial += 1
            statistic = detectors.step(row)
            hit = np.flatnonzero(statistic >= ahead[following])
            if hit.size:
                reached = np.searchsorted(height, statistic[hit], side="right")
                for run, begin, end in zip(hit, following[hit], reached, strict=True):
                    times[alive[run], begin:end] = trial if trial > 0 else np.nan
                following[hit] = reached
                done = hit[reached == len(height)]
                last[alive[done]] = statistic[done]
        running = following < len(height)
        if not running.all():
            detectors.keep(running)
            alive, following = alive[running], following[running]
    return Passed(times, last)


def lengths(passed: Passed, cap: int) -> Lengths:
    """Means over the runs that had no alarm before the change, at the only level there is."""
    counted = passed.times[~np.isnan(passed.times)]
    return Lengths(
        mean=float(counted.mean()),
        error=float(counted.std() / np.sqrt(counted.size)),
        height=float(np.nanmean(passed.last)),
        censored=int((counted >= cap).sum()),
    )
