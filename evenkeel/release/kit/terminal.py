"""Consoles that commands print to."""

from __future__ import annotations

from typing import NamedTuple

from rich.console import Console


class Consoles(NamedTuple):
    """Consoles of a command."""

    out: Console
    """Tables and lines for people."""
    err: Console
    """Progress and notes."""


def consoles(piped_width: int, *, json: bool = False) -> Consoles:
    """Standard output and error.

    Args:
        piped_width: Columns that tables have at least where they do not go to a terminal.
        json: Whether standard output is kept for a JSON document; all else goes to standard error then.
    """
    out = plain_console(stderr=json)
    if not out.is_terminal:
        out.width = max(out.width, piped_width)
    return Consoles(out, plain_console(stderr=True))


def plain_console(*, stderr: bool) -> Console:
    """A console that shows names out of files as they are, not as markup."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)
