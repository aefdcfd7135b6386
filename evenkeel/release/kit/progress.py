"""Progress of a long run on standard error: how far, how long yet, what it has cost."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import duration, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

# Lines written in all where there is no terminal to draw a bar on.
_LINES: Final = 10


class Progress:
    """Counts what is done."""

    def __init__(self, total: int, show: Callable[[Progress], None]) -> None:
        self.total = total
        self.done = 0
        self._show = show

    def add(self) -> None:
        """Count one more, and show it."""
        self.done += 1
        self._show(self)


@contextlib.contextmanager
def progress(
    title: str,
    noun: str,
    total: int,
    err: Console,
    *,
    details: Callable[[], str] = str,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Progress]:
    """Show progress while the block runs: a bar on a terminal, a line now and then elsewhere.

    Args:
        title: What is being done, "scoring".
        noun: What is counted, "goldens".
        total: Of these; with 0 nothing is shown.
        err: Where to.
        details: What else there is to say, such as the cost so far.
        clock: Seconds; for the time that remains.
    """
    if not total or not err.is_terminal:
        yield Progress(total, _lines(title, noun, err, details, clock))
        return
    # What answers goldens in the background has no terminal, and need not load what draws on one.
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
    from rich.progress import Progress as Bar  # noqa: PLC0415

    columns = (
        TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn(noun), TimeRemainingColumn(),
        TextColumn("{task.fields[details]}"),
    )  # fmt: skip
    with Bar(*columns, console=err) as bar:
        task = bar.add_task("", total=total, details="")
        yield Progress(total, lambda made: bar.update(task, completed=made.done, details=details()))


def _lines(
    title: str, noun: str, err: Console, details: Callable[[], str], clock: Callable[[], float]
) -> Callable[[Progress], None]:
    started = clock()

    def show(made: Progress) -> None:
        # A line for each tenth of the way, however many items there are.
        if made.done * _LINES // made.total == (made.done - 1) * _LINES // made.total:
            return
        left_s = (clock() - started) / made.done * (made.total - made.done)
        columns = (
            f"{number(made.done)} of {number(made.total)} {noun}",
            details(),
            f"{duration(left_s)} left",
        )
        err.print(f"{title}: {', '.join(filter(None, columns))}", highlight=False)

    return show
