"""Consoles, tables, progress, and the question before money is spent: the terminal, as commands use it."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from evenkeel.core.errors import UserError
from evenkeel.core.figures import duration, number
from evenkeel.core.text import visible
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

# Columns of a table written to a file or a pipe, where nothing needs to be cut.
_PIPED_WIDTH: Final = 220
# Lines of progress in all where there is no terminal to draw a bar on.
_LINES: Final = 10


class Consoles(NamedTuple):
    """Consoles of a command."""

    out: Console
    """Tables and lines for people."""
    err: Console
    """Progress and notes."""


def consoles(*, json: bool = False) -> Consoles:
    """Standard output and error; with `json` all but a JSON document goes to standard error."""
    out = plain_console(stderr=json)
    if not out.is_terminal:
        out.width = max(out.width, _PIPED_WIDTH)
    return Consoles(out, plain_console(stderr=True))


def show_rows(
    console: Console,
    heads: Sequence[str],
    rows: Iterable[Sequence[str | None]],
    *,
    wide: Collection[str] = (),
) -> None:
    """Print rows under their heads; what would steer the terminal is made visible.

    Args:
        console: As of `consoles`.
        heads: Names of the columns.
        rows: Their cells; None is an empty one.
        wide: Columns whose text may be broken; () = all.
    """
    table = Table(box=None, pad_edge=False)
    for name in heads:
        table.add_column(name, no_wrap=bool(wide) and name not in wide)
    for row in rows:
        table.add_row(*(visible(cell or "") for cell in row))
    console.print(table)


def plain_console(*, stderr: bool) -> Console:
    """A console that shows names out of files as they are, not as markup."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


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


Confirm = Callable[[object], None]
"""Shows an estimate of the cost and raises NotConfirmedError unless it may be spent."""


class NotConfirmedError(UserError):
    """The user did not want to spend what the run would have cost."""

    exit_code = 1

    def __init__(self) -> None:
        """Say what is not done, and how to do it."""
        super().__init__("no more calls are made; add --yes to run without confirmation")


def confirmation(*, confirmed: bool, in_pipelines: bool = False) -> Confirm:
    """Asks whether an estimate may be spent; only shows it if that is confirmed already.

    Args:
        confirmed: Whether --yes was given.
        in_pipelines: For commands that pipelines run: without a terminal there is nobody to ask, which is
            an error of its own. Otherwise the answer may come out of a pipe, and no answer is a no.

    Returns: a function of the estimate, which raises InputError if nobody can be asked.
    """

    def confirm(estimate: object) -> None:
        if confirmed:
            click.echo(f"{estimate}.", err=True)
            return
        # A pipeline that waits for an answer would hang until it is killed.
        if in_pipelines and not on_a_terminal():
            raise InputError(
                f"{estimate}: cannot ask for confirmation without a terminal; add --yes to accept"
            )
        if not agreed(f"{estimate}. Go ahead?"):
            raise NotConfirmedError

    return confirm


def on_a_terminal() -> bool:
    """Return whether there is somebody to ask."""
    return sys.stdin.isatty()


def agreed(question: str) -> bool:
    """Ask on standard error; no answer, as where nobody is there, is a no."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        # The prompt ended without a line break.
        click.echo(err=True)
        return False
