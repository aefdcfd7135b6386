"""Fold generated traffic into the monitor, and print the tables of `docs/research/detection.md`.

Run from the root of the repository: python -m benchmarks.detection [--seed 1] [--runs 8] [--exchanges 5000]

About ten minutes of one core with the default number of runs. Every figure follows from the seed.
"""

from __future__ import annotations

import argparse

from benchmarks.detection.traffic import KINDS, coverage_table, delays_table, quiet_table


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=8, help="logs for each figure")
    parser.add_argument("--exchanges", type=int, default=5_000, help="exchanges of a quiet log")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), metavar="KIND", help="kinds of traffic")
    parser.add_argument("--without-delays", action="store_true")
    parser.add_argument(
        "--coverage", type=int, metavar="LOGS", help="only the coverage of intervals, in this many logs"
    )
    options = parser.parse_args()
    if options.coverage:
        table = coverage_table(options.coverage, options.exchanges, options.seed, options.kinds)
        print(f"## Coverage\n\n{table.markdown()}", flush=True)
        return
    if not options.without_delays:
        print(f"## Delays\n\n{delays_table(options.runs, options.seed).markdown()}", flush=True)
    if options.kinds:
        table = quiet_table(options.runs, options.exchanges, options.seed, options.kinds)
        print(f"## Quiet\n\n{table.markdown()}", flush=True)


if __name__ == "__main__":
    main()
