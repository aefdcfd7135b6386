"""The reference page of the alerts: what the Prometheus rules in `deploy/` raise, and when."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RULES: Final = "deploy/prometheus/rules"
"""Their folder in a checkout."""

_LABEL: Final = re.compile(r"\{\{ *\$labels\.(\w+) *\}\}")
_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)

_INTRODUCTION: Final = f"""\
# Alerts

Written by `make docs` from the rules in `{RULES}`. How to install them, and how they play together:
[Alerting](alerting.md). Every alert has labels `severity` (*critical* wakes somebody, *warning* is for today,
*info* for this week) and `concern`, and annotations with a summary, a description, a link into the console,
and one to its runbook. A calibration [writes rules of its own](calibration.md#prometheus-rules).
"""


def alerts_page(rules: Path) -> str:
    """`docs/alerts.md`.

    Args:
        rules: the folder with the rule files; all `*.yaml` in it are read, by name.
    """
    groups = [
        group
        for file in sorted(rules.glob("*.yaml"))
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
    ]
    return _INTRODUCTION + "".join(part for group in groups for part in _group(group))


def _group(group: dict[str, Any]) -> Iterator[str]:
    alerts = [rule for rule in group["rules"] if "alert" in rule]
    if alerts:
        yield f"\n## {group['name']}\n"
    for rule in alerts:
        labels, notes = rule["labels"], rule["annotations"]
        yield (
            f"\n### {rule['alert']} ({labels['severity']})\n\n"
            f"{_plain(notes['summary'])}. [Runbook](runbooks/{rule['alert']}.md)\n\n"
            f"Concern: {labels['concern']}. Has to hold for: {rule.get('for', 'no time')}.\n\n"
            f"```promql\n{rule['expr'].strip()}\n```\n"
        )


def _plain(text: str) -> str:
    """A templated sentence with its labels named."""
    named = _LABEL.sub(lambda label: f"*{label[1]}*", " ".join(text.split()))
    return _TEMPLATE.sub("…", named).rstrip(".")
