"""Widths and coverage of the monitor's intervals, against a betting confidence sequence from the literature.

Run: python -m benchmarks.intervals [--streams 2000] [--looks 20000] [--samples 40]

Widths: mean over samples of our interval at n observations, and how many times as wide it is as the hedged
capital confidence sequence with predictable plug-in bets (Waudby-Smith, Ramdas 2024, truncated at ½), which
depends on the order of observations. Coverage: the share of streams whose interval holds the truth at every
one of the first `--looks` observations.
"""

from __future__ import annotations

import argparse
import sys
from math import log
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenkeel.monitor.estimate import bounded_mean
from evenkeel.monitor.estimate.bounded_mean import SHARES, WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ALPHA: Final = 0.05
SIZES: Final = (100, 1_000, 20_000)
_PLACES: Final = 400
_GRID: Final = np.arange(-100, 101) / 100


class Source(NamedTuple):
    """Where observations come from: values in [low, 1], each with its probability."""

    name: str
    low: float
    values: NDArray[np.float64]
    chances: NDArray[np.float64]


def rate(chance: float) -> Source:
    """Shifted or not."""
    return Source(f"rate {chance}", 0.0, np.array([0.0, 1.0]), np.array([1 - chance, chance]))


def paired(floor: float, excess: float) -> Source:
    """Differences of a variant and a resend that shift independently of each other."""
    plus, minus = (floor + excess) * (1 - floor), floor * (1 - floor - excess)
    chances = np.array([minus, 1 - plus - minus, plus])
    name = f"paired, floor {floor}, {excess * 100:g} points above it"
    return Source(name, -1.0, np.array([-1.0, 0.0, 1.0]), chances)


def graded(name: str, low: float, centre: float, spread: float) -> Source:
    """Scores on a grid of hundredths, bell-shaped and cut off at the ends."""
    values = _GRID[low - 1e-9 <= _GRID]
    chances = np.exp(-(((values - centre) / spread) ** 2) / 2)
    return Source(name, low, values, chances / chances.sum())


SOURCES: Final = (
    rate(0.02),
    rate(0.1),
    rate(0.3),
    rate(0.5),
    paired(0.02, 0.0),
    paired(0.02, 0.1),
    paired(0.1, 0.05),
    paired(0.3, 0.1),
    paired(0.84, 0.0),
    graded("similarity, mean .85", 0.0, 0.9, 0.15),
    graded("similarity, mean .5", 0.0, 0.5, 0.2),
    graded("graded loss, spread .2", -1.0, 0.05, 0.2),
    graded("graded loss, spread .05", -1.0, 0.01, 0.05),
)


def sample(source: Source, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Observations in the order in which they came."""
    return rng.choice(source.values, size=n, p=source.chances)


def ours(source: Source, seen: NDArray[np.float64]) -> float:
    """The width of our interval."""
    values, counts = np.unique(seen, return_counts=True)
    histogram = dict(zip(values.tolist(), counts.tolist(), strict=True))
    found = bounded_mean(histogram, low=source.low, alpha=ALPHA)
    assert found is not None
    return found.upper - found.lower


def hedged(source: Source, seen: NDArray[np.float64], reach: float) -> float:
    """The width of the hedged capital confidence sequence at the last observation.

    Args:
        source: of the observations.
        seen: in order.
        reach: the set is looked for so far from the mean on either side.
    """
    placed = (seen - source.low) / (1 - source.low)
    times = np.arange(1, len(placed) + 1)
    means = (0.5 + np.cumsum(placed)) / (times + 1)
    variances = (0.25 + np.cumsum((placed - means) ** 2)) / (times + 1)
    known = np.append(0.25, variances[:-1])
    bets = np.sqrt(2 * log(2 / ALPHA) / (known * times * np.log1p(times)))
    centre, half = placed.mean(), reach / (1 - source.low)
    lowest, highest = max(1e-6, centre - half), min(1 - 1e-6, centre + half)
    step = (highest - lowest) / (_PLACES - 1)
    inside = 0
    for place in np.linspace(lowest, highest, _PLACES):
        above = np.log1p(np.minimum(bets, 0.5 / place) * (placed - place)).sum()
        below = np.log1p(-np.minimum(bets, 0.5 / (1 - place)) * (placed - place)).sum()
        inside += max(above, below) < log(2 / ALPHA)
    return float(inside * step * (1 - source.low))


def covered(source: Source, streams: int, looks: int, rng: np.random.Generator) -> float:
    """The share of streams whose interval holds the truth after each of the first `looks` observations."""
    placed = (source.values - source.low) / (1 - source.low)
    truth = float(placed @ source.chances)
    shares = np.array(SHARES)[:, np.newaxis]
    # The truth is outside exactly if one side's capital has reached the limit.
    gains = [np.log1p(shares * (placed / truth - 1)), np.log1p(shares * ((1 - placed) / (1 - truth) - 1))]
    weights, limit = np.array(WEIGHTS)[:, np.newaxis], 2 / ALPHA
    missed = 0
    for _ in range(streams):
        drawn = rng.choice(len(placed), size=looks, p=source.chances)
        missed += any(
            bool((weights * np.exp(np.cumsum(side[:, drawn], axis=1))).sum(axis=0).max() >= limit)
            for side in gains
        )
    return 1 - missed / streams


def microseconds(source: Source, rng: np.random.Generator) -> float:
    """Of one interval that is not in the cache, at 1,000 observations; the median of fifty."""
    taken = []
    for _ in range(50):
        values, counts = np.unique(sample(source, 1_000, rng), return_counts=True)
        histogram = dict(zip(values.tolist(), counts.tolist(), strict=True))
        # Another error each time, so that nothing is remembered.
        alpha = ALPHA + rng.random() * 1e-6
        begun = perf_counter()
        bounded_mean(histogram, low=source.low, alpha=alpha)
        taken.append(perf_counter() - begun)
    return float(np.median(taken)) * 1e6


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--streams", type=int, default=2_000)
    parser.add_argument("--looks", type=int, default=20_000)
    parser.add_argument("--samples", type=int, default=40)
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(17)
    sizes = " | ".join(f"{n:,}: width, ratio" for n in SIZES)
    print(f"| observations | {sizes} | covered at every time | µs |")
    print("|---|" + "---|" * (len(SIZES) + 2))
    for source in SOURCES:
        cells = []
        for n in SIZES:
            samples = max(2, options.samples // (1 if n < SIZES[-1] else 10))
            widths = []
            for _ in range(samples):
                seen = sample(source, n, rng)
                width = ours(source, seen)
                widths.append((width, hedged(source, seen, 1.5 * width)))
            mean, other = np.mean(widths, axis=0)
            cells.append(f"{mean:.4f}, {mean / other:.2f}")
        share = covered(source, options.streams, options.looks, rng)
        took = microseconds(source, rng)
        print(f"| {source.name} | {' | '.join(cells)} | {share:.3f} | {took:.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
