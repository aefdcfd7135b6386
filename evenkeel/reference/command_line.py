"""The reference page of the command line: the help of every command, as click writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from evenkeel.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROGRAM: Final = "evenkeel"
_COLUMNS: Final = 100

_INTRODUCTION: Final = """\
# Command line

Written by `make docs` from the commands themselves: this is what `evenkeel COMMAND --help` prints. In a
checkout the program is `.venv/bin/evenkeel`.

Most options can also be set in a [settings file](settings.md). Exit codes, where a page does not say more:
0 = done, 1 = a finding or a failure, 2 = wrong use or wrong settings, with one line that says what to do.

| command | does |
|---|---|
"""


def command_line_page() -> str:
    """`docs/command-line.md`."""
    found = list(_commands(click.Context(main, info_name=_PROGRAM, terminal_width=_COLUMNS)))
    rows = [
        f"| [`{context.command_path}`](#{context.command_path.replace(' ', '-')}) | "
        f"{context.command.get_short_help_str(limit=1000)} |\n"
        for context in found
    ]
    sections = [f"\n## {context.command_path}\n\n```text\n{context.get_help()}\n```\n" for context in found]
    return "".join([_INTRODUCTION, *rows, *sections])


def _commands(group: click.Context) -> Iterator[click.Context]:
    """A context of every command that is not hidden, in the order of the help; groups come first."""
    assert isinstance(group.command, click.Group)
    for name in group.command.list_commands(group):
        command = group.command.get_command(group, name)
        if command is None or command.hidden:
            continue
        context = click.Context(command, parent=group, info_name=name, terminal_width=_COLUMNS)
        context.help_option_names = ["-h", "--help"]
        yield context
        if isinstance(command, click.Group):
            yield from _commands(context)
