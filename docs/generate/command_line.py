"""Block of `docs/reference/command-line.md`: a table of all commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from evenkeel.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PROGRAM: Final = "evenkeel"


def blocks(_names: Sequence[str]) -> dict[str, str]:
    """Return `commands`: every command with its first sentence; `--help` prints the rest."""
    rows = "".join(
        f"| `{context.command_path}` | {context.command.get_short_help_str(limit=1000)} |\n"
        for context in _commands(click.Context(main, info_name=_PROGRAM))
    )
    return {"commands": f"| command | does |\n|---|---|\n{rows}"}


def _commands(group: click.Context) -> Iterator[click.Context]:
    """Yield a context for every command that is not hidden, in the order of the help; groups come first."""
    assert isinstance(group.command, click.Group)
    for name in group.command.list_commands(group):
        command = group.command.get_command(group, name)
        if command is None or command.hidden:
            continue
        context = click.Context(command, parent=group, info_name=name)
        yield context
        if isinstance(command, click.Group):
            yield from _commands(context)
