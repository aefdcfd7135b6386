"""Progress of a run on standard error: how far, how long yet, calls and cost."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evenkeel.core.figures import duration, number, usd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from evenkeel.experiments.gate.asking import Ledger
    from evenkeel.monitor.detect.gate import Gate

_LINES = 10
"""Lines written in all where there is no terminal to draw a bar on."""


@contextlib.contextmanager
def progress(
    gate: Gate, total: int, ledger: Ledger, err: Console, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[], None]]:
    """A function to be called after each golden, as long as the block runs.

    A bar on a terminal, a line now and then elsewhere. The time that remains is that for all goldens:
    the gate may be settled before.
    """
    if not err.is_terminal:
        started = clock()

        def show() -> None:
            if gate.asked * _LINES // total == (gate.asked - 1) * _LINES // total:
                return
            left_s = (clock() - started) / gate.asked * (total - gate.asked)
            err.print(
                f"{number(gate.asked)} of {number(total)} goldens, {_spent(ledger)}, "
                f"{duration(left_s)} left at most",
                highlight=False,
            )

        yield show
        return
    columns = (
        TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TextColumn("at most"),
        TimeRemainingColumn(), TextColumn("{task.fields[spent]}"),
    )  # fmt: skip
    with Progress(*columns, console=err) as bar:
        task = bar.add_task("", total=total, spent="")
        yield lambda: bar.update(task, completed=gate.asked, spent=_spent(ledger))


def _spent(ledger: Ledger) -> str:
    return (
        f"{number(ledger.calls)} calls, {number(ledger.remembered)} remembered, "
        f"{number(ledger.failed)} failed, {usd(ledger.cost_usd)}"
    )
