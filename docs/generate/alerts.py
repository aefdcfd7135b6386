"""Blocks of `docs/reference/alerts.md`: the Prometheus rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import yaml

from docs.generate import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RULES: Final = ROOT / "deploy" / "prometheus" / "rules"

_LABEL: Final = re.compile(r"\{\{ *\$labels\.(\w+) *\}\}")
_BLOCK: Final = re.compile(
    r"\{\{ *(?:if|with|range)\b(?:(?!\{\{ *(?:if|with|range|end)\b).)*\{\{ *end *\}\}", re.DOTALL
)
"""A condition without another in it."""
_TEMPLATE: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)


def blocks(_names: Sequence[str], rules: Path = RULES) -> dict[str, str]:
    """Return `alerts`: a table of every alert, with a link to its runbook.

    Args:
        rules: The folder with the rule files; all `*.yaml` in it are read, by name.
    """
    rows = ["| alert | severity | fires when | for |\n|---|---|---|---|\n"]
    for file in sorted(rules.glob("*.yaml")):
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]:
            rows += [_row(rule) for rule in group["rules"] if "alert" in rule]
    return {"alerts": "".join(rows)}


def _row(rule: dict[str, Any]) -> str:
    return (
        f"| [{rule['alert']}](../runbooks/{_runbook(rule)}) | {_plain(rule['labels']['severity'])} | "
        f"{_plain(rule['annotations']['summary'])} | {rule.get('for', '–')} |\n"
    )


def _runbook(rule: dict[str, Any]) -> str:
    """Return the file name of the runbook that an alert links to; its own by default."""
    named = re.findall(r"(\w+\.md)", rule["annotations"].get("runbook_url", ""))
    return named[0] if named else f"{rule['alert']}.md"


def _plain(text: str) -> str:
    """Return a templated sentence with its labels named, or a remark if it is all template."""
    while (shorter := _BLOCK.sub("", text)) != text:
        text = shorter
    if not re.search(r"\w", _TEMPLATE.sub("", text)) and not _LABEL.search(text):
        return "An incident is open"
    named = _LABEL.sub(lambda label: f"*{label[1]}*", " ".join(text.split()))
    return re.sub(r"…[… ]*…", "…", _TEMPLATE.sub("…", named)).rstrip(".")
