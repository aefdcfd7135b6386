"""A rate against its line: run lengths, the optimum, and what is used elsewhere.

Evidently's drift checks compare every 100 trials with a reference of 1,000 and forget them. The statistics
of its `z` and `psi` tests for a column of two categories are computed exactly here; they agree with Evidently
0.7.23 to 1e-14 on every count from 0 to 100 (references with 0, 50, 100 and 500 hits). The reference is
assumed to hold exactly the rate before the change, which no real reference does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.stats import binom, norm

from benchmarks.detection.passages import (
    RATES,
    SHIFTS,
    EvidenceRuns,
    Stream,
    WindowRuns,
    best_bet,
    difference,
    lengths,
    optimal,
    passages,
    rate,
    scores,
    tuned,
)
from evenkeel.monitor.detect import Bets, bets_against

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from benchmarks.detection.passages import Lengths, Runs, Tuned


BATCH: Final = 100
REFERENCE: Final = 1000
_EMPTY: Final = 0.0001
"""What Evidently takes for the share of a category that does not occur."""


def z_distance(reference: NDArray[np.float64], current: NDArray[np.float64]) -> NDArray[np.float64]:
    """One minus the p-value of the two-sided z-test of two proportions, from counts of hits."""
    first, second = reference / REFERENCE, current / BATCH
    pooled = (reference + current) / (REFERENCE + BATCH)
    spread = np.sqrt(pooled * (1 - pooled) * (1 / REFERENCE + 1 / BATCH))
    z = np.divide(first - second, spread, out=np.zeros_like(spread), where=spread > 0)
    p_value: NDArray[np.float64] = 2 * (1 - norm.cdf(np.abs(z)))
    return 1 - p_value


def _shares(hits: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    shares = np.stack([1 - hits / size, hits / size])
    return np.where(shares == 0, _EMPTY, shares)


def psi(reference: NDArray[np.float64], current: NDArray[np.float64]) -> NDArray[np.float64]:
    """Population stability index of two categories."""
    first, second = _shares(reference, REFERENCE), _shares(current, BATCH)
    index: NDArray[np.float64] = ((first - second) * np.log(first / second)).sum(axis=0)
    return index


TESTS: Final[dict[str, Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]]] = {
    "z": z_distance,
    "psi": psi,
}


def alarm_chances(name: str, rate: float, run_length: float) -> NDArray[np.float64]:
    """With which probability each count of hits in a batch raises an alarm.

    The largest statistics alarm, as many that the mean run without a change is `run_length` trials;
    the last of them by lot, so that it is so exactly.
    """
    hits = np.arange(BATCH + 1.0)
    distance = TESTS[name](np.full(BATCH + 1, rate * REFERENCE), hits)
    weight = binom.pmf(hits, BATCH, rate)
    left = BATCH / run_length
    chances = np.zeros(BATCH + 1)
    for value in np.unique(distance)[::-1]:
        same = distance == value
        mass = weight[same].sum()
        chances[same] = min(1.0, left / mass) if mass > 0 else 1.0
        left -= mass
        if left <= 0:
            break
    return chances


def mean_delay(name: str, before: float, after: float, run_length: float) -> float:
    """Mean trials from the change to the alarm, over all places in a batch where it can happen."""
    chances = alarm_chances(name, before, run_length)
    hits = np.arange(BATCH + 1)
    later = BATCH / float(chances @ binom.pmf(hits, BATCH, after))
    total = 0.0
    for new in range(1, BATCH + 1):
        old = binom.pmf(np.arange(BATCH - new + 1), BATCH - new, before)
        mixed = np.convolve(old, binom.pmf(np.arange(new + 1), new, after))
        total += new + (1 - float(chances @ mixed)) * later
    return total / BATCH


QUIET: Final = 500
"""Trials without a change before the one that is to be found, where a detector has been running."""

_CAP = 25
"""Longest run without a change, in nominal run lengths."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is simulated."""

    nominal: float
    """Mean trials between false alarms that are aimed at."""
    false_alarms: int
    """Runs for each mean run length of the detector."""
    tuning: int
    """Runs for each curve that something else is tuned by."""
    delays: int
    """Runs for each mean delay."""


@dataclass(frozen=True, slots=True)
class Delays:
    """Mean trials from a change to the alarm. *Fresh*: from the first trial; *running*: after 500 without."""

    rate: float
    shift: float
    own: float
    """Measured mean run of the detector without a change; what stands below is tuned to the same."""
    fresh: float
    running: float
    optimum_fresh: float
    """At the nominal run length instead."""
    optimum_running: float
    """As the one before."""
    equal_fresh: float
    equal_running: float
    window: float
    """Of 100 trials, its line tuned to this very rate; running."""
    one_margin: float
    """Its line at one distance from the rate for all rates; running."""
    z: float
    psi: float

    @property
    def trials_of(self) -> dict[str, float]:
        """By the name of each procedure, running."""
        return {
            "e-detector": self.running,
            "optimum": self.equal_running,
            "window, line of its own": self.window,
            "window, one margin": self.one_margin,
            "z-test": self.z,
            "PSI": self.psi,
        }


def evidence(bets: Bets, stream: Stream) -> Callable[[int], Runs]:
    """Makes detectors with these bets."""
    return partial(EvidenceRuns, bets, stream)


def run_length(
    bets: Bets, stream: Stream, sizes: Sizes, rng: np.random.Generator, *, runs: int | None = None
) -> Lengths:
    """Mean run of the detector to an alarm on this stream."""
    cap = int(_CAP * sizes.nominal)
    passed = passages(
        evidence(bets, stream), stream, stream, [sizes.nominal],
        runs=runs or sizes.false_alarms, cap=cap, rng=rng,
    )  # fmt: skip
    return lengths(passed, cap)


def delay(
    bets: Bets, before: Stream, after: Stream, sizes: Sizes, rng: np.random.Generator, *, quiet: int
) -> float:
    """Mean trials of the detector from the change to the alarm."""
    cap = int(_CAP * sizes.nominal)
    passed = passages(
        evidence(bets, before), before, after, [sizes.nominal],
        runs=sizes.delays, cap=cap, rng=rng, quiet=quiet,
    )  # fmt: skip
    return lengths(passed, cap).mean


def rate_bets(chance: float) -> Bets:
    """The bets that a rise of this rate is looked for with."""
    return bets_against(chance, "above", 0.0, 1.0)


def measure(sizes: Sizes, rng: np.random.Generator) -> list[Delays]:
    """Every rate and shift."""
    own = {chance: run_length(rate_bets(chance), rate(chance), sizes, rng).mean for chance in RATES}
    windows = {chance: _window(chance, own[chance], sizes, rng) for chance in RATES}
    # One margin for all rates must keep the run length where that is hardest.
    margin = max(windows[chance].level(own[chance]) / BATCH - chance for chance in RATES)
    return [
        _measured(chance, shift, own[chance], windows[chance], (chance + margin) * BATCH, sizes, rng)
        for chance in RATES
        for shift in SHIFTS
    ]


def _measured(
    chance: float,
    shift: float,
    own: float,
    window: Tuned,
    line: float,
    sizes: Sizes,
    rng: np.random.Generator,
) -> Delays:
    before, after, bets = rate(chance), rate(chance + shift), rate_bets(chance)
    best = optimal(before, after, sizes.nominal, runs=sizes.tuning, rng=rng)
    aims, runs = (sizes.nominal, own), sizes.delays
    fresh = best.delays(after, aims, runs=runs, quiet=0, rng=rng)
    running = best.delays(after, aims, runs=runs, quiet=QUIET, rng=rng)
    return Delays(
        rate=chance,
        shift=shift,
        own=own,
        fresh=delay(bets, before, after, sizes, rng, quiet=0),
        running=delay(bets, before, after, sizes, rng, quiet=QUIET),
        optimum_fresh=fresh[0],
        optimum_running=running[0],
        equal_fresh=fresh[1],
        equal_running=running[1],
        window=window.delays(after, [own], runs=runs, quiet=QUIET, rng=rng)[0],
        one_margin=_fixed(before, after, line, sizes, rng),
        z=mean_delay("z", chance, chance + shift, own),
        psi=mean_delay("psi", chance, chance + shift, own),
    )


def _window(chance: float, own: float, sizes: Sizes, rng: np.random.Generator) -> Tuned:
    grid = np.arange(np.ceil(chance * BATCH) + 1, BATCH + 1.0)
    before = rate(chance)
    make = partial(WindowRuns, before, BATCH)
    return tuned(make, before, grid, own, runs=sizes.tuning, rng=rng, margin=2)


def _fixed(before: Stream, after: Stream, line: float, sizes: Sizes, rng: np.random.Generator) -> float:
    make = partial(WindowRuns, before, BATCH)
    cap = int(_CAP * sizes.nominal)
    passed = passages(make, before, after, [line], runs=sizes.delays // 4, cap=cap, rng=rng, quiet=QUIET)
    return lengths(passed, cap).mean


THRESHOLD: Final = 0.1
"""Largest excess of paired differences that is tolerated: the default of the settings."""

SCORES: Final = ((0.95, 0.05), (0.85, 0.1), (0.6, 0.2))
"""Mean and spread of scores before a change."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Mean trials from a rise of the excess above the threshold to the alarm, all fresh."""

    baseline: float
    shift: float
    detector: float
    optimum: float
    """Knows both rates of both arms, before and after."""
    best_bet: float
    """Knows what comes after, and of what was before only the threshold."""


@dataclass(frozen=True, slots=True)
class FalseAlarms:
    """A mean exactly on the line: the hardest case of nothing being wrong."""

    observed: str
    settings: tuple[tuple[str, Lengths], ...]


def pairs(sizes: Sizes, rng: np.random.Generator) -> list[Pairs]:
    """Every baseline and shift."""
    bets = bets_against(THRESHOLD)
    measured = []
    for baseline in RATES:
        before = difference(baseline, THRESHOLD)
        for shift in SHIFTS:
            after = difference(baseline, THRESHOLD + shift)
            rivals = (
                optimal(before, after, sizes.nominal, runs=sizes.tuning, rng=rng),
                best_bet(before, after, THRESHOLD, -1, sizes.nominal, runs=sizes.tuning, rng=rng),
            )
            best, bet = (
                rival.delays(after, [sizes.nominal], runs=sizes.delays, quiet=0, rng=rng)[0]
                for rival in rivals
            )
            own = delay(bets, before, after, sizes, rng, quiet=0)
            measured.append(Pairs(baseline, shift, own, best, bet))
    return measured


def false_alarms(sizes: Sizes, rng: np.random.Generator) -> list[FalseAlarms]:
    """Mean run lengths of everything that is watched."""

    def row(observed: str, cases: Sequence[tuple[str, Bets, Stream]]) -> FalseAlarms:
        return FalseAlarms(
            observed, tuple((name, run_length(bets, stream, sizes, rng)) for name, bets, stream in cases)
        )

    chances = [(f"{chance:g}", chance) for chance in RATES]
    return [
        row("rate, looking for a rise", [(name, rate_bets(one), rate(one)) for name, one in chances]),
        row(
            "rate, looking for a fall",
            [(name, bets_against(one, "below", 0, 1), rate(one)) for name, one in chances],
        ),
        row(
            f"excess over the resend's rate at the threshold of {THRESHOLD:g}",
            [(name, bets_against(THRESHOLD), difference(one, THRESHOLD)) for name, one in chances],
        ),
        row(
            "excess over the resend's rate at a threshold of 0",
            [(name, bets_against(0.0), difference(one, 0.0)) for name, one in chances],
        ),
        row(
            "score, looking for a fall",
            [
                (f"{mean:g} ± {spread:g}", bets_against(mean, "below", 0, 1), scores(mean, spread))
                for mean, spread in SCORES
            ],
        ),
    ]


def falling_scores(sizes: Sizes, rng: np.random.Generator) -> list[tuple[str, float, float]]:
    """Of each kind of scores and each fall: its name, the fall, and mean trials to the alarm."""
    return [
        (
            f"{mean:g} ± {spread:g}",
            fall,
            delay(
                bets_against(mean, "below", 0, 1), scores(mean, spread), scores(mean - fall, spread),
                sizes, rng, quiet=0,
            ),
        )
        for mean, spread in SCORES
        for fall in (0.02, 0.05, 0.1, 0.2)
    ]  # fmt: skip
