"""Many detectors at once, on matrices: when the statistic of each first passes each of several levels.

A run length is estimated from trials watched and alarms seen, so that runs which end without an alarm count
with their trials. A rival is tuned to a run length by reading its level off one simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from evenkeel.monitor.detect import bets_against
from evenkeel.monitor.detect.drift import SHARES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenkeel.monitor.detect import AlertRules, DriftRules

    Floats = NDArray[np.float64]
    Draw = Callable[[int, int, np.random.Generator], NDArray[np.float64]]
    """Draws one trial, by its number from the change on, of so many runs."""


class Rate:
    """Something that happens or not."""

    def __init__(self, *chances: float, each: int = 100) -> None:
        """The chance becomes the next one after so many trials; the last one stays."""
        self._chances = chances
        self._each = each

    def chance(self, trial: int) -> float:
        """Of a trial, by its number from the change on."""
        return self._chances[min(max(trial - 1, 0) // self._each, len(self._chances) - 1)]

    def __call__(self, trial: int, runs: int, rng: np.random.Generator) -> Floats:
        """Draw one trial of so many runs."""
        return (rng.random(runs) < self.chance(trial)).astype(float)


class Runs(Protocol):
    """Several runs of one detector."""

    def step(self, observed: Floats) -> Floats:
        """Take one trial of each run; returns the statistic of each."""


class DriftRuns:
    """`DriftAlert` of one stratum until its alarm, on a matrix: bets by runs."""

    def __init__(self, rules: DriftRules, runs: int) -> None:
        self._rules = rules
        self._trials = 0
        self._hits = np.zeros(runs)
        self._shares = np.array(SHARES)[:, None]
        self._wealth = np.zeros((2, len(SHARES), runs))
        self._sums = np.zeros((2, runs))
        self._tallies = np.zeros((2, 3, runs))
        """Of the run of each side: trials, hits and expected hits."""

    def step(self, observed: Floats) -> Floats:
        """The evidence."""
        before = self._trials
        if before >= self._rules.provisional_after:
            self._bet(observed == 1, observed)
        self._trials += 1
        self._hits = self._hits + observed
        if before < self._rules.provisional_after:
            return np.zeros_like(observed)
        return self._held()

    def restart(self, over: NDArray[np.bool_]) -> None:
        """Let some of the runs start from nothing, with the trials they have."""
        self._wealth[:, :, over] = 0.0
        self._sums[:, over] = 0.0
        self._tallies[:, :, over] = 0.0

    def _bet(self, hit: NDArray[np.bool_], observed: Floats) -> None:
        line = (self._hits + 0.5) / (self._trials + 1.0)
        odds = ((1 - line) / line, line / (1 - line))
        for side, sign in enumerate((1, -1)):
            gain = np.where(hit if sign > 0 else ~hit, odds[side], -1.0)
            self._wealth[side] = (0.5 / len(SHARES) + self._wealth[side]) * (1 + self._shares * gain)
            trials, hits, expected = self._tallies[side]
            self._clear(side, trials > 4 * (self._trials - trials))
            usual = (self._hits - hits + 0.5) / (self._trials - trials + 1.0)
            self._sums[side] += sign * (observed - usual) - self._rules.tolerance / 2
            trials += 1
            hits += observed
            expected += usual
            self._clear(side, self._sums[side] <= 0)

    def _clear(self, side: int, over: NDArray[np.bool_]) -> None:
        self._sums[side, over] = 0.0
        self._tallies[side][:, over] = 0.0

    def _held(self) -> Floats:
        sides = self._wealth.sum(axis=1)
        evidence: Floats = sides[0] + sides[1]
        level = self._rules.mean_trials_between_false_alarms
        high = np.flatnonzero(evidence >= level)
        for run in high:
            side = 0 if sides[0, run] >= evidence[run] / 2 else 1
            trials, hits, expected = self._tallies[side, :, run]
            shift = (1 - 2 * side) * (hits - expected) / trials if trials else 0.0
            if shift < self._rules.tolerance:
                held = self._wealth[:, :, run] * 0.999 * level / evidence[run]
                self._wealth[:, :, run] = held
                evidence[run] = sum(held[0]) + sum(held[1])
        return evidence


class AlertRuns:
    """`Alert` until it is raised, on a matrix; trials are measures × runs, in the order of the rules."""

    def __init__(self, rules: AlertRules, runs: int) -> None:
        bets = [bets_against(limit.value, "above", one.low, 1.0) for one, limit in rules.limits.items()]
        self._weights = list(rules.weights.values())
        self._bets = [(np.array(one.stakes)[:, None], one.line) for one in bets]
        self._wealth = [np.zeros((len(one.stakes), runs)) for one in bets]

    def step(self, observed: Floats) -> Floats:
        """The evidence."""
        evidence = np.zeros(observed.shape[1])
        for place, (stakes, line) in enumerate(self._bets):
            wealth = (1 / len(stakes) + self._wealth[place]) * (1 + stakes * (observed[place] - line))
            self._wealth[place] = wealth
            evidence = evidence + self._weights[place] * wealth.sum(axis=0)
        return evidence

    def restart(self, over: NDArray[np.bool_]) -> None:
        """Let some of the runs start from nothing."""
        for wealth in self._wealth:
            wealth[:, over] = 0.0


class PageHinkleyRuns:
    """Page-Hinkley's test of both sides, with the arithmetic of river 0.26."""

    def __init__(self, delta: float, runs: int) -> None:
        self._delta = delta
        self._trials = 0
        self._mean = np.zeros(runs)
        self._rise, self._fall, self._low, self._high = np.zeros((4, runs))

    def step(self, observed: Floats) -> Floats:
        """The larger of the two sums since their extremes; nothing in the first 30 trials."""
        self._trials += 1
        self._mean = self._mean + (observed - self._mean) / self._trials
        away = observed - self._mean
        self._rise = 0.9999 * self._rise + away - self._delta
        self._fall = 0.9999 * self._fall + away + self._delta
        self._low = np.minimum(self._low, self._rise)
        self._high = np.maximum(self._high, self._fall)
        statistic: Floats = np.maximum(self._rise - self._low, self._high - self._fall)
        return statistic if self._trials >= 30 else np.zeros_like(statistic)  # noqa: PLR2004 - as river does


class WindowRuns:
    """The last trials against all before them, in standard errors of the difference; both sides."""

    def __init__(self, width: int, runs: int) -> None:
        self._ring = np.zeros((width, runs))
        self._recent, self._former = np.zeros((2, runs))
        self._trials = 0

    def step(self, observed: Floats) -> Floats:
        """Nothing before there are a hundred trials to compare with."""
        width = len(self._ring)
        place = self._trials % width
        self._former = self._former + self._ring[place]
        self._recent = self._recent + observed - self._ring[place]
        self._ring[place] = observed
        self._trials += 1
        former = self._trials - width
        if former < 100:  # noqa: PLR2004 - as many as the detector of drift asks for
            return np.zeros_like(observed)
        pooled = (self._former + self._recent + 0.5) / (self._trials + 1)
        error = np.sqrt(pooled * (1 - pooled) * (1 / width + 1 / former))
        statistic: Floats = np.abs(self._recent / width - self._former / former) / error
        return statistic


def passages(
    make: Callable[[int], Runs],
    before: Draw,
    after: Draw,
    levels: Sequence[float] | Floats,
    *,
    runs: int,
    cap: int,
    rng: np.random.Generator,
    quiet: int = 0,
) -> Floats:
    """Trials from the change until each run first passes each level; levels × runs.

    Args:
        make: Gives the detectors, as many as are asked for.
        before: Draws the first `quiet` trials.
        after: Draws those from then on.
        levels: Growing.
        runs: How many detectors.
        cap: Trials after the change until they are given up.
        rng: Draws everything.
        quiet: Trials before the change.

    Returns: 0 or less where a level was passed before the change, infinity where it never was.
    """
    ahead = np.append(levels, np.inf)
    times = np.full((len(levels), runs), np.inf)
    following = np.zeros(runs, dtype=np.intp)
    detectors = make(runs)
    for trial in range(1 - quiet, cap + 1):
        # A run that has alarmed goes on unseen; its evidence may overflow, which harms nobody.
        with np.errstate(over="ignore", invalid="ignore"):
            statistic = detectors.step((after if trial > 0 else before)(trial, runs, rng))
        hit = np.flatnonzero(statistic >= ahead[following])
        if hit.size:
            reached = np.searchsorted(levels, statistic[hit], side="right")
            for run, begin, end in zip(hit, following[hit], reached, strict=True):
                times[begin:end, run] = trial
            following[hit] = reached
            if (following == len(levels)).all():
                break
    return times


@dataclass(frozen=True, slots=True)
class Length:
    """Mean trials to an alarm."""

    mean: float
    alarms: int

    @property
    def error(self) -> float:
        """Standard error, as of waiting times without memory."""
        return self.mean / np.sqrt(max(self.alarms, 1))


def run_length(times: Floats, cap: int, after: int = 0) -> Length:
    """Mean trials to an alarm from the trial `after` on, of the runs without an alarm until then."""
    still = times[times > after]
    alarms = int((still <= cap).sum())
    return Length(float((np.minimum(still, cap) - after).sum()) / max(alarms, 1), alarms)


def tuned(
    make: Callable[[int], Runs],
    before: Draw,
    grid: Floats,
    target: float,
    *,
    runs: int,
    cap: int,
    rng: np.random.Generator,
) -> float:
    """The lowest level of the grid whose mean run is at least `target`.

    Raises:
        ValueError: if there is none.
    """
    times = passages(make, before, before, grid, runs=runs, cap=cap, rng=rng)
    for level, row in zip(grid, times, strict=True):
        if run_length(row, cap).mean >= target:
            return float(level)
    raise ValueError(f"no level up to {grid[-1]:g} has a mean run of {target:,.0f}")
