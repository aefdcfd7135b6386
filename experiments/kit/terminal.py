"""Where commands print."""

from __future__ import annotations

from typing import NamedTuple

from rich.console import Console


class Consoles(NamedTuple):
    """Where a command prints."""

    out: Console
    err: Console


def consoles(piped_width: int) -> Consoles:
    """Standard output and error; the output is at least so many columns wide where it is no terminal."""
    out = plain_console(stderr=False)
    if not out.is_terminal:
        out.width = max(out.width, piped_width)
    return Consoles(out, plain_console(stderr=True))


def plain_console(*, stderr: bool) -> Console:
    """A console that shows names out of files as they are, not as markup."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)
