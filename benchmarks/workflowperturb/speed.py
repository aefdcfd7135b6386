"""Processor time of the default metrics, by the number of steps."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Final

from benchmarks.metrics.table import Cell, Table
from evenkeel.metrics.workflow.alignment import ExactText
from evenkeel.metrics.workflow.chain import chain_f1
from evenkeel.metrics.workflow.graph import graph_f1
from evenkeel.metrics.workflow.tau import kendall_tau
from evenkeel.metrics.workflow.workflow import Workflow, sequence, workflow

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES: Final = (10, 40, 100, 1000)
_ROUNDS: Final = 3
_LEAST_S: Final = 0.02
_MILLI: Final = 1000
_REACH: Final = 20
"""How far ahead an edge of the branching workflow reaches."""


def measure(seed: int) -> Table:
    """Milliseconds for a pair, best of three rounds; every pair is built anew, so that no cache helps."""
    rows: list[tuple[Cell, ...]] = []
    for title, build in _CASES.items():
        for size in SIZES:
            reference, candidate = build(size, random.Random(seed))
            alignment = ExactText().align(reference, candidate)
            parts: tuple[Callable[[], object], ...] = (
                lambda build=build, size=size: ExactText().align(*build(size, random.Random(seed))),
                lambda: chain_f1(reference, candidate, alignment),  # noqa: B023 - called at once
                lambda: graph_f1(reference, candidate, alignment),  # noqa: B023 - called at once
                lambda: kendall_tau(reference, candidate, alignment),  # noqa: B023 - called at once
            )
            times = [_milliseconds(part) for part in parts]
            built = _milliseconds(lambda build=build, size=size: build(size, random.Random(seed)))
            times[0] -= built
            covered = chain_f1(reference, candidate, alignment).orders
            rows.append((f"{title}, {size} steps", *times, sum(times), covered))
    columns = ("pair", "alignment", "chain F1", "graph F1", "τ", "together", "orders")
    return Table(
        "speed-of-structural-metrics", columns, tuple(rows), notes=("Milliseconds of processor time.",)
    )


def _steps(size: int) -> list[str]:
    return [f"Check the valve of tank {number}." for number in range(size)]


def _missing(size: int, rng: random.Random) -> tuple[Workflow, Workflow]:
    steps = _steps(size)
    return sequence(steps), sequence(step for step in steps if rng.random() > 0.3)  # noqa: PLR2004 - a share


def _shuffled(size: int, rng: random.Random) -> tuple[Workflow, Workflow]:
    steps = _steps(size)
    return sequence(steps), sequence(rng.sample(steps, size))


def _repeated(size: int, rng: random.Random) -> tuple[Workflow, Workflow]:
    steps = [f"Check the valve of tank {number % 5}." for number in range(size)]
    return sequence(steps), sequence(rng.sample(steps, size))


def _branching(size: int, rng: random.Random) -> tuple[Workflow, Workflow]:
    steps = _steps(size)
    edges = [
        (before, after)
        for before in range(size - 1)
        for after in {rng.randrange(before + 1, min(size, before + _REACH)) for _ in range(2)}
    ]
    return workflow(steps, edges), sequence(rng.sample(steps, size))


_CASES: Final[dict[str, Callable[[int, random.Random], tuple[Workflow, Workflow]]]] = {
    "sequence, 30 % missing": _missing,
    "sequence, shuffled": _shuffled,
    "branching, shuffled": _branching,
    "sequence of five texts, shuffled": _repeated,
}


def _milliseconds(run: Callable[[], object]) -> float:
    calls, best = 1, float("inf")
    for _ in range(_ROUNDS):
        while True:
            start = time.process_time()
            for _ in range(calls):
                run()
            spent = time.process_time() - start
            if spent >= _LEAST_S:
                break
            calls *= 4
        best = min(best, spent / calls)
    return best * _MILLI
