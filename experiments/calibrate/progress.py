"""Progress of a calibration on standard error: how far, and how long yet."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evenkeel.core.figures import duration, number, usd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

_LINES = 5
"""Lines written in all where there is no terminal to draw a bar on."""


class Stage:
    """Counts what is done of one stage."""

    def __init__(self, total: int, show: Callable[[Stage], None]) -> None:
        self.total = total
        self.done = 0
        self.cost_usd = 0.0
        self._show = show

    def add(self, cost_usd: float = 0.0) -> None:
        """Count one more, and show it."""
        self.done += 1
        self.cost_usd += cost_usd
        self._show(self)


@contextlib.contextmanager
def stage(
    title: str, noun: str, total: int, err: Console, clock: Callable[[], float] = time.monotonic
) -> Iterator[Stage]:
    """Show progress while the block runs: a bar on a terminal, a line now and then elsewhere.

    Args:
        title: what is being done, "scoring".
        noun: what is counted, "goldens".
        total: of these; with 0 nothing is shown.
        err: where to.
        clock: seconds; for the time that remains.
    """
    if not total or not err.is_terminal:
        yield Stage(total, _lines(title, noun, err, clock))
        return
    columns = (
        TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn(noun), TimeRemainingColumn(),
        TextColumn("{task.fields[cost]}"),
    )  # fmt: skip
    with Progress(*columns, console=err) as bar:
        task = bar.add_task("", total=total, cost="")
        yield Stage(
            total,
            lambda told: bar.update(
                task, completed=told.done, cost=usd(told.cost_usd) if told.cost_usd else ""
            ),
        )


def _lines(title: str, noun: str, err: Console, clock: Callable[[], float]) -> Callable[[Stage], None]:
    started = clock()

    def show(told: Stage) -> None:
        if told.done * _LINES // told.total == (told.done - 1) * _LINES // told.total:
            return
        left_s = (clock() - started) / told.done * (told.total - told.done)
        cost = f", {usd(told.cost_usd)}" if told.cost_usd else ""
        err.print(
            f"{title}: {number(told.done)} of {number(told.total)} {noun}{cost}, {duration(left_s)} left"
        )

    return show
