"""Measure the monitor on simulated traffic, print the tables, and write them into the documentation.

Run from the root of the repository: python -m benchmarks.traffic [--show 1|2|3|4|5] [--runs 10] [--write]

About five minutes of two cores with the default number of runs, in proportion to it with others. Every
figure follows from the seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.kit import DOCS, filled
from benchmarks.traffic import measures, rivals, streams, tables
from benchmarks.traffic.measures import Coverage, Delays, FalseAlarms
from benchmarks.traffic.mistakes import MISTAKES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.kit import Table

    Task = tuple[Callable[..., Any], tuple[Any, ...]]

PAGE: Final = DOCS / "research" / "backtests.md"
_LOGS: Final = 3
"""Logs a run, where intervals are looked at."""
_TRIALS: Final = 20_000
"""Trials a run, where alerts are counted."""
_LONG: Final = 40_000
"""Trials of one log of these, so that few logs are at their beginning."""
_FLOOR_QUIETS: Final = (0, 500)
_RIVAL_RUNS: Final = 100
_RUN_LENGTH: Final = 2 * measures.STATED
"""Stated for a detector of one cell."""


def main() -> None:
    """Print the tables."""
    options = _options()
    shows = {1: _coverage, 2: _false_alarms, 3: _delays, 4: _mistakes, 5: _plan}
    measured: list[Table] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for number in [options.show] if options.show else sorted(shows):
            started = time.monotonic()
            for table in shows[number](pool, options):
                print(f"## {table.name}\n\n{table.markdown()}", flush=True)
                measured.append(table)
            print(f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(filled(page, measured, keep=options.show is not None), encoding="utf-8")
        print(f"written to {PAGE}", file=sys.stderr)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--show",
        type=int,
        choices=(1, 2, 3, 4, 5),
        help="only intervals, false alarms, delays, mistakes or the adaptive plan",
    )
    parser.add_argument("--runs", type=int, default=10, help="of each figure")
    parser.add_argument("--trials", type=int, default=_TRIALS, help="of a run of the second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--write", action="store_true", help="write the page in docs/")
    return parser.parse_args()


def _done(task: Task) -> Any:
    function, arguments = task
    return function(*arguments)


def _coverage(pool: ProcessPoolExecutor, options: argparse.Namespace) -> Iterator[Table]:
    logs = _LOGS * options.runs
    places = [(traffic, rate) for traffic in measures.BURSTY for rate in measures.RATES]
    tasks: list[Task] = [
        (measures.coverage, (*place, options.seed * 1000 + log)) for place in places for log in range(logs)
    ]
    found = {place: Coverage() for place in places}
    for (_, (*place, _seed)), one in zip(tasks, pool.map(_done, tasks, chunksize=4), strict=True):
        found[place[0], place[1]].merge(one)
    yield tables.coverage(found)


def _false_alarms(pool: ProcessPoolExecutor, options: argparse.Namespace) -> Iterator[Table]:
    total = options.trials * options.runs
    tasks: list[Task] = []
    for stream in tables.STREAMS:
        long = streams.NIGHTLY if stream == "nightly_batch" else min(_LONG, total)
        # Many cells are at their beginning for long; one log of all trials is what an installation has.
        length = total if stream in {"many_cells", "some_up"} else long
        tasks += [
            (measures.false_alarms, (stream, length, options.seed * 1000 + log))
            for log in range(max(1, total // length))
        ]
    found = {stream: FalseAlarms() for stream in tables.STREAMS}
    for (_, (stream, *_)), one in zip(tasks, pool.map(_done, tasks), strict=True):
        found[stream].merge(one)
    yield tables.false_alarms(found)


def _delays(pool: ProcessPoolExecutor, options: argparse.Namespace) -> Iterator[Table]:
    tasks: list[Task] = [
        (measures.delays, (step, options.seed * 1000 + history))
        for step in measures.STEPS
        for history in range(options.runs)
    ]
    places = [(step, quiet) for step in measures.STEPS for quiet in measures.QUIETS]
    rival_tasks: list[Task] = [(_rivals, (quiet, options.seed)) for quiet in measures.QUIETS]
    found = {place: Delays() for place in places}
    rivalled = pool.map(_done, rival_tasks)
    for (_, (step, _seed)), each in zip(tasks, pool.map(_done, tasks), strict=True):
        for quiet, one in each.items():
            found[step, quiet].merge(one)
    others = dict(zip(measures.QUIETS, rivalled, strict=True))
    yield tables.delays(found, {(step, quiet): others[quiet][step] for step, quiet in places})
    floors: list[Task] = [
        (measures.floor_delay, (quiet, options.seed * 1000 + run))
        for quiet in _FLOOR_QUIETS
        for run in range(2 * options.runs)
    ]
    late: dict[int, list[int]] = {quiet: [] for quiet in _FLOOR_QUIETS}
    for (_, (quiet, _seed)), delay in zip(floors, pool.map(_done, floors), strict=True):
        late[quiet].append(delay)
    yield tables.floor(late)


def _mistakes(pool: ProcessPoolExecutor, options: argparse.Namespace) -> Iterator[Table]:
    tasks: list[Task] = [
        (_one_log, (place, options.seed * 1000 + log))
        for place, mistake in enumerate(MISTAKES)
        for log in range(max(1, round(mistake.logs * options.runs)))
    ]
    found: list[list[Any]] = [[] for _ in MISTAKES]
    for (_, (place, _seed)), one in zip(tasks, pool.map(_done, tasks), strict=True):
        found[place].append(one)
    yield tables.mistakes(
        [
            (mistake.name, mistake.then, mistake.now(each))
            for mistake, each in zip(MISTAKES, found, strict=True)
        ]
    )


def _plan(pool: ProcessPoolExecutor, options: argparse.Namespace) -> Iterator[Table]:
    seeds = [options.seed * 1000 + log for log in range(options.runs)]
    tasks: list[Task] = [
        (measures.planned_coverage, (drawing, seed)) for drawing in measures.DRAWINGS for seed in seeds
    ]
    covered: dict[tuple[str, str], Coverage] = {}
    for (_, (drawing, _seed)), each in zip(tasks, pool.map(_done, tasks), strict=True):
        for what, one in each.items():
            covered.setdefault((drawing, what), Coverage()).merge(one)
    yield tables.planned_coverage(covered)
    tasks = [
        (measures.planned_false_alarms, (drawing, options.trials, seed))
        for drawing in measures.DRAWINGS
        for seed in seeds
    ]
    alarms = {drawing: FalseAlarms() for drawing in measures.DRAWINGS}
    for (_, (drawing, *_)), found in zip(tasks, pool.map(_done, tasks), strict=True):
        alarms[drawing].merge(found)
    yield tables.planned_false_alarms(alarms)


def _one_log(place: int, seed: int) -> Any:
    return MISTAKES[place].run(seed)


def _rivals(quiet: int, seed: int) -> dict[measures.Step, list[rivals.Rival]]:
    rng = np.random.default_rng([seed, quiet])
    return rivals.rivals(measures.STEPS, quiet, _RUN_LENGTH, runs=_RIVAL_RUNS, rng=rng)


if __name__ == "__main__":
    main()
