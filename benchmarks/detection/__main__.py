"""Measure the detectors, print the tables, and write them into the documentation.

Run from the root of the repository: python -m benchmarks.detection [--seed 1] [--runs 4000] [--write]

About two minutes of one core with the default number of runs, in proportion to it with others. Every
figure follows from the seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.detection import rates, tables
from benchmarks.kit import DOCS, filled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.detection.rates import Delays, Sizes
    from benchmarks.kit import Table

PAGE: Final = DOCS / "detection.md"


def main() -> None:
    """Print the tables."""
    options = _options()
    runs = options.runs
    sizes = rates.Sizes(options.nominal, runs, max(100, runs // 4), runs)
    rng = np.random.default_rng(options.seed)
    delays = rates.measure(sizes, rng)
    measured = list(_tables(delays, sizes, rng))
    if options.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")
        print(f"written to {PAGE}", file=sys.stderr)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=4000, help="simulated detectors for each figure")
    parser.add_argument("--nominal", type=float, default=10_000, help="mean trials between false alarms")
    parser.add_argument("--write", action="store_true", help="write the page in docs/")
    return parser.parse_args()


def _tables(delays: list[Delays], sizes: Sizes, rng: np.random.Generator) -> Iterator[Table]:
    """Every table as soon as it is measured, printed."""

    def shown(table: Table) -> Table:
        print(f"## {table.name}\n\n{table.markdown()}", flush=True)
        print(f"{time.process_time():.0f} s of processor time", file=sys.stderr, flush=True)
        return table

    yield shown(tables.summary(delays))
    yield shown(tables.delays(delays))
    yield shown(tables.rivals(delays))
    yield shown(tables.false_alarms(rates.false_alarms(sizes, rng), sizes))
    yield shown(tables.pairs(rates.pairs(sizes, rng)))
    yield shown(tables.scores(rates.falling_scores(sizes, rng)))


if __name__ == "__main__":
    main()
