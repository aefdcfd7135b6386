"""Measure the spending of the uniform and the adaptive plan until an alert, and print the tables.

Run from the root of the repository:
python -m benchmarks.cost [--plays 2] [--few] [--jobs 1]

A deployment of three routes with twelve rewordings each goes through a quiet phase of 1,500 sampled
exchanges a route; then the answers of one route change in one of five ways, or not at all. The trials come
from the worker's own stages and the alerts from the monitor's own fold; only the answers are drawn at random.
Every play takes both plans through the same exchanges, in about a minute of one core. Every figure follows
from the seeds, which run from 1 to the number of plays.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Final

from benchmarks.cost import checks, tables
from benchmarks.cost.bill import Tariff
from benchmarks.cost.compare import ChangeOutcome, PhaseLengths, outcomes
from benchmarks.cost.plans import ADAPTIVE, UNIFORM, UNIFORM_3, Plan

PAIRS: Final = (("gpt-4.1", "gpt-4.1-mini"), ("gpt-5", "gpt-5-mini"))  # models and their judges
_FEW: Final = PhaseLengths(120, 60)  # too short to find anything


def main() -> None:
    """Print the tables."""
    options = _options()
    checks.verify()
    lengths = _FEW if options.few else PhaseLengths(options.quiet, options.most)
    plans = [UNIFORM, ADAPTIVE._replace(settled_rate=options.settled_rate)]
    if options.three:
        plans.insert(1, UNIFORM_3)
    tasks = []
    for seed in range(1, options.plays + 1):
        for plan in plans:
            tasks.append((plan, seed))
    by_plan: dict[str, list[ChangeOutcome]] = {plan.name: [] for plan in plans}
    with ProcessPoolExecutor(options.jobs) as pool:
        for played in pool.map(partial(_play, lengths), tasks):
            by_plan[played[0].plan] += played
    compared = list(by_plan.values())
    tariffs = [Tariff.of(model, judge) for model, judge in PAIRS]
    for table in (
        tables.shares(compared, tariffs),
        tables.changes(compared, tariffs[0]),
        tables.quiet(compared, tariffs[0]),
    ):
        print(f"## {table.name}\n\n{table.markdown()}", flush=True)


def _play(lengths: PhaseLengths, task: tuple[Plan, int]) -> list[ChangeOutcome]:
    plan, seed = task
    started = time.monotonic()
    played = list(outcomes(plan, seed, lengths))
    print(f"{plan.name}, seed {seed}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return played


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cost",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--plays", type=int, default=2, help="plays of every change, each with its own seed")
    parser.add_argument("--quiet", type=int, default=1_500, help="exchanges of a route before the change")
    parser.add_argument("--most", type=int, default=2_500, help="exchanges of a route after it, at most")
    parser.add_argument("--few", action="store_true", help="short phases, to see if it runs (ten seconds)")
    parser.add_argument("--three", action="store_true", help="also the uniform plan with three rewordings")
    parser.add_argument(
        "--settled-rate", type=float, default=ADAPTIVE.settled_rate, help="rate of the adaptive plan"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser.parse_args()


if __name__ == "__main__":
    main()
