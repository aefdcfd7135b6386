"""Blocks of `docs/reference/command-line.md`: the help of every command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from evenkeel.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PROGRAM: Final = "evenkeel"
_COLUMNS: Final = 100


def blocks(_names: Sequence[str]) -> dict[str, str]:
    """Return `commands`: a table of all commands, and the help of each."""
    found = list(
        _commands(click.Context(main, info_name=_PROGRAM, terminal_width=_COLUMNS, show_default=True))
    )
    rows = [
        f"| [`{context.command_path}`](#{context.command_path.replace(' ', '-')}) | "
        f"{context.command.get_short_help_str(limit=1000)} |\n"
        for context in found
    ]
    sections = [f"\n## {context.command_path}\n\n```text\n{context.get_help()}\n```\n" for context in found]
    return {"commands": "| command | does |\n|---|---|\n" + "".join(rows) + "".join(sections)}


def _commands(group: click.Context) -> Iterator[click.Context]:
    """Yield a context for every command that is not hidden, in the order of the help; groups come first."""
    assert isinstance(group.command, click.Group)
    for name in group.command.list_commands(group):
        command = group.command.get_command(group, name)
        if command is None or command.hidden:
            continue
        context = click.Context(command, parent=group, info_name=name, terminal_width=_COLUMNS)
        context.help_option_names = ["-h", "--help"]
        # A command keeps the help option of whoever asked first, who may have asked under other names.
        command._help_option = None  # noqa: SLF001 - there is no other way to make it ask again
        yield context
        if isinstance(command, click.Group):
            yield from _commands(context)
