"""Many detectors at once: when the statistic of each first passes each of several levels.

A stream is independent draws from few values. One run of a detector gives its run length at every level, so
a curve of mean run lengths over levels costs one simulation, and a detector is tuned to a run length by
reading it off the curve.

The optimum is CUSUM of the log likelihood ratio, which knows both distributions. Of all procedures with
the same mean run to a false alarm it has the shortest worst-case delay (Moustakides 1986). No monitor can
have it: it needs the rates before and after the change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import log
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
from scipy.optimize import minimize_scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenkeel.monitor.detect import Bets


RATES: Final = (0.05, 0.1, 0.2, 0.3, 0.5)
SHIFTS: Final = (0.05, 0.1, 0.15, 0.2, 0.3)


@dataclass(frozen=True, slots=True)
class Stream:
    """A distribution on few values."""

    values: tuple[float, ...]
    chances: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Of an observation."""
        return sum(value * chance for value, chance in zip(self.values, self.chances, strict=True))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.intp]:
        """Numbers of values."""
        edges = np.cumsum(self.chances[:-1])
        drawn = rng.random(shape)
        index: NDArray[np.intp] = (drawn >= edges[0]).astype(np.intp)
        for edge in edges[1:]:
            index += drawn >= edge
        return index


def rate(chance: float) -> Stream:
    """Something that happens or not."""
    return Stream((0.0, 1.0), (1 - chance, chance))


def difference(baseline: float, excess: float) -> Stream:
    """Paired differences: the resend shifts at the baseline rate, the variant more often, independently."""
    variant = baseline + excess
    plus, minus = variant * (1 - baseline), baseline * (1 - variant)
    return Stream((0.0, 1.0, -1.0), (1 - plus - minus, plus, minus))


def scores(mean: float, spread: float) -> Stream:
    """Scores in [0, 1]: a beta distribution of that mean and standard deviation, in 101 steps.

    The mean of the steps is then moved to the one asked for, by moving a little weight to an end.
    """
    size = mean * (1 - mean) / spread**2 - 1
    values = np.linspace(0, 1, 101)
    inner = values[1:-1]
    logs = (mean * size - 1) * np.log(inner) + ((1 - mean) * size - 1) * np.log(1 - inner)
    chances = np.zeros(101)
    chances[1:-1] = np.exp(logs - logs.max())
    chances /= chances.sum()
    have = float(values @ chances)
    end, weight = (-1, (mean - have) / (1 - have)) if have < mean else (0, (have - mean) / have)
    chances *= 1 - weight
    chances[end] += weight
    return Stream(tuple(values), tuple(chances))


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
