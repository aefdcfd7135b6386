"""A rate against its line: run lengths, the optimum, and what is used elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.detection.batches import BATCH, mean_delay
from benchmarks.detection.passages import (
    RATES,
    SHIFTS,
    EvidenceRuns,
    WindowRuns,
    lengths,
    optimal,
    passages,
    rate,
    tuned,
)
from evenkeel.monitor.detect import bets_against

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.detection.passages import Lengths, Runs, Stream, Tuned
    from evenkeel.monitor.detect import Bets

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
