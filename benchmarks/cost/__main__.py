"""Measure what the uniform and the adaptive plan spend until an alert, and print the tables.

Run from the root of the repository:
python -m benchmarks.cost [--plays 2] [--few] [--jobs 1]

A deployment of three routes with twelve rewordings each goes through a quiet phase of 1,500 sampled
exchanges a route; then the answers of one route change in one of five ways, or not at all. The trials come
from the worker's own stages and the alerts from the monitor's own fold: only the answers are drawn. Every
play takes both plans through the same exchanges, about a minute of one core; every figure follows from
the seeds, 1 to the number of plays.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from benchmarks.cost import checks, tables
from benchmarks.cost.bill import Tariff
from benchmarks.cost.compare import Outcome, Sizes, outcomes
from benchmarks.cost.plans import ADAPTIVE, UNIFORM, UNIFORM_3, Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Task: TypeAlias = tuple[Plan, int]
PAIRS: Final = (("gpt-4.1", "gpt-4.1-mini"), ("gpt-5", "gpt-5-mini"))
_FEW: Final = Sizes(120, 60)


def main() -> None:
    """Print the tables."""
    options = _options()
    checks.verify()
    sizes = _FEW if options.few else Sizes(options.quiet, options.most)
    plans = [
        UNIFORM,
        *([UNIFORM_3] if options.three else []),
        ADAPTIVE._replace(settled_rate=options.settled_rate),
    ]
    tariffs = [Tariff.of(*pair) for pair in PAIRS]
    found: dict[str, list[Outcome]] = {plan.name: [] for plan in plans}
    for some in _map(
        options.jobs,
        partial(_played, sizes),
        [(plan, seed) for seed in range(1, options.plays + 1) for plan in plans],
    ):
        found[some[0].plan] += some
    compared = list(found.values())
    for table in (
        tables.shares(compared, tariffs),
        tables.changes(compared, tariffs[0]),
        tables.quiet(compared, tariffs[0]),
    ):
        print(f"## {table.name}\n\n{table.markdown()}", flush=True)


def _map(
    jobs: int, function: Callable[[_Task], list[Outcome]], tasks: list[_Task]
) -> Iterator[list[Outcome]]:
    """Yield the results in order, each as soon as it is there."""
    if jobs == 1:
        yield from map(function, tasks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(function, tasks)


def _played(sizes: Sizes, task: _Task) -> list[Outcome]:
    started = time.monotonic()
    some = list(outcomes(*task, sizes))
    print(f"{task[0].name}, seed {task[1]}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return some


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cost",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--plays", type=int, default=2, help="of every change, each with a seed of its own")
    parser.add_argument("--quiet", type=int, default=1_500, help="exchanges of a route before the change")
    parser.add_argument("--most", type=int, default=2_500, help="exchanges of a route after it, at most")
    parser.add_argument("--few", action="store_true", help="short phases: does it run? (ten seconds)")
    parser.add_argument("--three", action="store_true", help="also the uniform plan with three rewordings")
    parser.add_argument(
        "--settled-rate", type=float, default=ADAPTIVE.settled_rate, help="of the adaptive plan"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser.parse_args()


if __name__ == "__main__":
    main()
