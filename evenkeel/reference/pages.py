"""The reference pages of data plane, alerts (the Prometheus rules in `deploy/`) and command line."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from typing import TYPE_CHECKING, Any, Final

import click
import yaml

from evenkeel.cli.main import main
from evenkeel.proxy.errors import Fault, error_response, status_of
from evenkeel.proxy.limits import Limits
from evenkeel.reference import one_line, page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def data_plane_page() -> str:
    """`docs/reference/data-plane.md`."""
    answers, limits = [], []
    for fault in Fault:
        answer = error_response(fault, where="The upstream", detail="…", close=True, bare=False)
        error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
        answers.append(f"| {status_of(fault)} | `{fault.value}` | {error['message']} |\n")
    source = inspect.getsource(Limits)
    for field in dataclasses.fields(Limits):
        meaning = re.search(rf"    {field.name}: [^\n]*\n    \"\"\"(.*?)\"\"\"", source, re.DOTALL)
        assert meaning is not None, field.name
        limits.append(f"| `{field.name}` | {field.default:,} | {one_line(meaning[1])} |\n")
    return page("data-plane", answers="".join(answers), limits="".join(limits))


RULES: Final = "deploy/prometheus/rules"
"""Their folder in a checkout."""

_LABEL: Final = re.compile(r"\{\{ *\$labels\.(\w+) *\}\}")
_BLOCK: Final = re.compile(
    r"\{\{ *(?:if|with|range)\b(?:(?!\{\{ *(?:if|with|range|end)\b).)*\{\{ *end *\}\}", re.DOTALL
)
"""A condition without another in it."""
_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)


def alerts_page(rules: Path) -> str:
    """`docs/reference/alerts.md`.

    Args:
        rules: the folder with the rule files; all `*.yaml` in it are read, by name.
    """
    groups = [
        group
        for file in sorted(rules.glob("*.yaml"))
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
    ]
    return page("alerts", rules=RULES, alerts="".join(part for group in groups for part in _group(group)))


def _group(group: dict[str, Any]) -> Iterator[str]:
    alerts = [rule for rule in group["rules"] if "alert" in rule]
    if alerts:
        yield f"\n## {group['name']}\n"
    for rule in alerts:
        labels, notes = rule["labels"], rule["annotations"]
        yield (
            f"\n### {rule['alert']} ({_plain(labels['severity'])})\n\n"
            f"{_plain(notes['summary'])}. [Runbook](../runbooks/{_runbook(rule)})\n\n"
            f"Concern: {labels['concern']}. Has to hold for: {rule.get('for', 'no time')}.\n\n"
            f"```promql\n{rule['expr'].strip()}\n```\n"
        )


def _runbook(rule: dict[str, Any]) -> str:
    """Of the alert itself, unless it leads to that of another."""
    named = re.findall(r"(\w+\.md)", rule["annotations"].get("runbook_url", ""))
    return named[0] if named else f"{rule['alert']}.md"


def _plain(text: str) -> str:
    """A templated sentence with its labels named; of one that is all templates, what kind it is."""
    while (shorter := _BLOCK.sub("", text)) != text:
        text = shorter
    if not re.search(r"\w", _TEMPLATE.sub("", text)) and not _LABEL.search(text):
        return "Its text is taken from the series"
    named = _LABEL.sub(lambda label: f"*{label[1]}*", " ".join(text.split()))
    return re.sub(r"…[… ]*…", "…", _TEMPLATE.sub("…", named)).rstrip(".")


_PROGRAM: Final = "evenkeel"
_COLUMNS: Final = 100


def command_line_page() -> str:
    """`docs/reference/command-line.md`."""
    found = list(
        _commands(click.Context(main, info_name=_PROGRAM, terminal_width=_COLUMNS, show_default=True))
    )
    rows = [
        f"| [`{context.command_path}`](#{context.command_path.replace(' ', '-')}) | "
        f"{context.command.get_short_help_str(limit=1000)} |\n"
        for context in found
    ]
    sections = [f"\n## {context.command_path}\n\n```text\n{context.get_help()}\n```\n" for context in found]
    return page("command-line", rows="".join(rows), sections="".join(sections))


def _commands(group: click.Context) -> Iterator[click.Context]:
    """A context of every command that is not hidden, in the order of the help; groups come first."""
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
