"""Consoles that commands print to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from evenkeel.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

# Columns of a table written to a file or a pipe, where nothing needs to be cut.
_PIPED_WIDTH: Final = 220


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
