"""Paired differences, scores and other bets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.detection.passages import RATES, SHIFTS, Stream, best_bet, difference, optimal, rate, scores
from benchmarks.detection.rates import delay, rate_bets, run_length
from evenkeel.monitor.detect import Bets, bets_against

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from benchmarks.detection.passages import Lengths
    from benchmarks.detection.rates import Delays, Sizes

THRESHOLD: Final = 0.1
"""Largest excess of paired differences that is tolerated: the default of the settings."""

SCORES: Final = ((0.95, 0.05), (0.85, 0.1), (0.6, 0.2))
"""Mean and spread of scores before a change."""

GRIDS: Final = {
    "8 bets, 0.06 to 0.8 (shipped)": (8, 0.06, 0.8),
    "4 bets, 0.06 to 0.8": (4, 0.06, 0.8),
    "16 bets, 0.06 to 0.8": (16, 0.06, 0.8),
    "8 bets, 0.05 to 0.98": (8, 0.05, 0.98),
    "8 bets, 0.03 to 0.98": (8, 0.03, 0.98),
    "8 bets, 0.12 to 0.8": (8, 0.12, 0.8),
}
"""Number of bets, smallest and largest share."""


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


def grids(
    sizes: Sizes, optimum: Sequence[Delays], rng: np.random.Generator
) -> list[tuple[str, dict[tuple[float, float], float]]]:
    """Of other bets: their name, and the ratio of their delay to the optimum's by rate and shift."""
    measured = []
    for name, (count, smallest, largest) in GRIDS.items():
        shares = [smallest * (largest / smallest) ** (number / (count - 1)) for number in range(count)]
        ratios = {}
        for one in optimum:
            bets = Bets(one.rate, 0.0, 1.0, tuple(share / one.rate for share in shares))
            taken = delay(bets, rate(one.rate), rate(one.rate + one.shift), sizes, rng, quiet=0)
            ratios[one.rate, one.shift] = taken / one.optimum_fresh
        measured.append((name, ratios))
    return measured
