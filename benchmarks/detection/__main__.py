"""Measure the detectors, print the tables, and write them into the documentation.

Run from the root of the repository: python -m benchmarks.detection [--seed 1] [--runs 200] [--write]

About three minutes of one core with the default number of runs, in proportion to it with others. Every figure
follows from the seed. ADWIN takes part where river is installed.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.detection import alerts, drift
from benchmarks.kit import DOCS, filled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.kit import Table

PAGE: Final = DOCS / "research" / "detection.md"


def main() -> None:
    """Print the tables."""
    options = _options()
    drift.verify()
    alerts.verify()
    measured = []
    for table in _tables(options.nominal, options.runs, np.random.default_rng(options.seed)):
        print(f"## {table.name}\n\n{table.markdown()}", flush=True)
        print(f"{time.process_time():.0f} s of processor time", file=sys.stderr, flush=True)
        measured.append(table)
    if options.write:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")
        print(f"written to {PAGE}", file=sys.stderr)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=200, help="simulated detectors for each figure")
    parser.add_argument("--nominal", type=float, default=10_000, help="mean trials between false alarms")
    parser.add_argument("--write", action="store_true", help="write the page in docs/")
    return parser.parse_args()


def _tables(between: float, runs: int, rng: np.random.Generator) -> Iterator[Table]:
    """Every table as soon as it is measured."""
    level = 2 * between
    yield alerts.lengths_table(level, runs, rng)
    yield alerts.cells_table(between, runs, rng)
    yield alerts.floor_table(level, max(10, runs // 4), rng)
    yield alerts.content_table(level, runs, rng)
    found = drift.lengths(level, runs, rng)
    yield drift.lengths_table(found, level)
    yield drift.mixtures_table(runs, rng)
    yield drift.delays_table(drift.delays(found, level, runs, rng))


if __name__ == "__main__":
    main()
