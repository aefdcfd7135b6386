"""Progress of a long run on standard error: how far, how long yet, what it has cost."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evenkeel.core.figures import duration, number, usd
from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit.outcome import Spent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from evenkeel.metrics.judge.client import Reply

_LINES = 10
"""Lines written in all where there is no terminal to draw a bar on."""


class Told:
    """Counts what is answered."""

    def __init__(self, total: int, show: Callable[[Told], None]) -> None:
        self.total = total
        self.done = 0
        self.failed = 0
        self.remembered = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.cost_usd = 0.0
        self._show = show

    def add(self, reply: Reply, remembered: bool) -> None:  # noqa: FBT001 - a callback of `ask_all`
        """Count a reply, and show it."""
        self.done += 1
        self.failed += isinstance(reply.outcome, Failure)
        if remembered:
            self.remembered += 1
        else:
            self.prompt_tokens += reply.prompt_tokens
            self.completion_tokens += reply.completion_tokens
            self.cost_usd += reply.cost_usd
        self._show(self)

    def spent(self, before: Spent | None) -> Spent:
        """What was spent, added to what was spent before."""
        was = before or Spent()
        return Spent(
            was.calls + self.done - self.remembered,
            was.remembered + self.remembered,
            was.prompt_tokens + self.prompt_tokens,
            was.completion_tokens + self.completion_tokens,
            was.cost_usd + self.cost_usd,
        )


@contextlib.contextmanager
def progress(total: int, err: Console, clock: Callable[[], float] = time.monotonic) -> Iterator[Told]:
    """Show progress while the block runs: a bar on a terminal, a line now and then elsewhere.

    Args:
        total: answers expected.
        err: where to.
        clock: seconds; for the time that remains.
    """
    if not err.is_terminal:
        yield Told(total, _lines(err, clock))
        return
    columns = (
        TextColumn("asking the judge"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[cost]}"), TextColumn("{task.fields[failed]} failed"),
    )  # fmt: skip
    with Progress(*columns, console=err) as bar:
        task = bar.add_task("", total=total, cost=usd(0), failed=0)
        yield Told(
            total,
            lambda told: bar.update(
                task, completed=told.done, cost=usd(told.cost_usd), failed=number(told.failed)
            ),
        )


def _lines(err: Console, clock: Callable[[], float]) -> Callable[[Told], None]:
    started = clock()

    def show(told: Told) -> None:
        if told.done * _LINES // told.total == (told.done - 1) * _LINES // told.total:
            return
        asked = told.done - told.remembered
        left_s = (clock() - started) / asked * (told.total - told.done) if asked else 0.0
        err.print(
            f"{number(told.done)} of {number(told.total)} answers, {usd(told.cost_usd)}, "
            f"{number(told.failed)} failed, {duration(left_s)} left",
            highlight=False,
        )

    return show
