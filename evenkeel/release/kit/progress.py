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

    def __init__(self, total: int, show: Callable[[int], None]) -> None:
        self.total = total
        self.done = 0
        self._show = show

    def add(self) -> None:
        """Count one more, and show it."""
        self.done += 1
        self._show(self.done)


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
    started = clock()

    def line(done: int) -> None:
        # A line for each tenth of the way, however many items there are.
        if done * _LINES // total != (done - 1) * _LINES // total:
            left = duration((clock() - started) / done * (total - done))
            said = (f"{number(done)} of {number(total)} {noun}", details(), f"{left} left")
            err.print(f"{title}: {', '.join(filter(None, said))}", highlight=False)

    if not total or not err.is_terminal:
        yield Progress(total, line)
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
        yield Progress(total, lambda done: bar.update(task, completed=done, details=details()))
