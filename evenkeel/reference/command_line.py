"""The reference page of the command line: every command with its help and its options."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final

import click

from evenkeel.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROGRAM: Final = "evenkeel"
_PREFORMATTED: Final = "\b\n"
"""Begins a paragraph that click does not wrap."""
_CUT: Final = "\f"
"""What follows it in a help text is for readers of the code."""

_INTRODUCTION: Final = """\
# Command line

Written by `make docs` from the commands themselves; `evenkeel COMMAND --help` says the same. In a checkout
the program is `.venv/bin/evenkeel`.

Most options can also be set in a [settings file](settings.md). Exit codes, where a page does not say more:
0 = done, 1 = a finding or a failure, 2 = wrong use or wrong settings, with one line that says what to do.

| command | does |
|---|---|
"""


def command_line_page() -> str:
    """`docs/command-line.md`."""
    context = click.Context(main, info_name=_PROGRAM)
    found = list(_commands(main, context))
    lines = [_INTRODUCTION]
    for path, command in found:
        name = " ".join(path)
        lines.append(f"| [`{name}`](#{'-'.join(path)}) | {_cell(_paragraphs(command)[0])} |\n")
    for path, command in found:
        lines += _section(path, command)
    return "".join(lines)


def _commands(
    group: click.Group, context: click.Context, above: tuple[str, ...] = (_PROGRAM,)
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that is not hidden, in the order of the help; groups before what is in them."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        path = (*above, name)
        yield path, command
        if isinstance(command, click.Group):
            yield from _commands(command, context, path)


def _section(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=" ".join(path))
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"\n## {' '.join(path)}\n\n```text\n{' '.join(path)} {usage}\n```\n"
    for paragraph in _paragraphs(command):
        if paragraph.startswith(_PREFORMATTED):
            yield f"\n```text\n{paragraph.removeprefix(_PREFORMATTED).strip()}\n```\n"
        else:
            yield f"\n{' '.join(paragraph.split())}\n"
    records = [
        record
        for parameter in command.get_params(context)
        if "--help" not in parameter.opts and (record := parameter.get_help_record(context))
    ]
    if records:
        yield "\n| option | meaning |\n|---|---|\n"
    for names, meaning in records:
        yield f"| `{_cell(names)}` | {_cell(meaning)} |\n"


def _paragraphs(command: click.Command) -> list[str]:
    """The paragraphs of the help text; those that are preformatted keep their mark."""
    text = inspect.cleandoc(command.help or "").partition(_CUT)[0]
    return [part for part in text.split("\n\n") if part.strip()] or [""]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
