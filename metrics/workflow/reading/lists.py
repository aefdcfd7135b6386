"""Numbered and bulleted lists: steps that follow each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evenkeel.metrics.workflow.workflow import WorkflowError, sequence

if TYPE_CHECKING:
    from evenkeel.metrics.workflow.workflow import Workflow

_WORDS = "step|schritt|étape|etape|paso|passo|stap|fase|phase|ステップ|手順|步骤|第"
_NUMBERED = re.compile(
    rf"^([ \t]*)(?:[#>*_]{{1,6}}[ \t]*)?(?:(?:{_WORDS})[ \t]*\d{{1,4}}[ \t]*(?:[.:)\]\uff0e\uff1a、。–—-]|步)"
    r"?|[(\[]?\d{1,4}[.)\]\uff0e、:\uff1a](?!\d))(?:\*\*|__)?[ \t]*[:\uff1a]?[ \t]*(.*)$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^([ \t]*)[-*+•‣–][ \t]+(?:\[[ xX]\][ \t]+)?(.*)$")
_EMPHASIS = re.compile(r"(\*\*|__|`)(.+?)\1")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)")


def read_list(text: str) -> Workflow:
    """Read the items of a list as a sequence.

    Numbered items ("1.", "2)", "Step 3:", the same in a few languages) are the steps if there are any,
    else bullets are. Only the least indented ones count: what is indented further, bullets beneath a
    number included, belongs to the step above. Several lists are one after the other. Prose between
    items that is not indented is ignored, and so are fenced blocks.

    Raises:
        WorkflowError: "no_workflow" if there is no item, and whatever `Workflow` raises.
    """
    lines = _unfenced(text)
    for pattern in (_NUMBERED, _BULLET):
        items = _items(lines, pattern)
        if items:
            return sequence(items)
    raise WorkflowError("no_workflow", "there is no list with steps")


def _unfenced(text: str) -> list[str]:
    lines: list[str] = []
    fenced = False
    for line in text.expandtabs(4).split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            lines.append(line)
    return lines


def _items(lines: list[str], pattern: re.Pattern[str]) -> list[str]:
    found = [match for line in lines if (match := pattern.match(line))]
    if not found:
        return []
    margin = min(len(match[1]) for match in found)
    items: list[list[str]] = []
    within = False
    for line in lines:
        match = pattern.match(line)
        indent = len(line) - len(line.lstrip())
        if match and len(match[1]) == margin:
            items.append([match[2]])
            within = True
        elif line.strip() and within and (indent > margin or match or _BULLET.match(line)):
            bullet = _BULLET.match(line)
            items[-1].append(bullet[2] if bullet else line.strip())
        elif line.strip():
            within = False
    return [plain for item in items if (plain := _plain(" ".join(item)))]


def _plain(text: str) -> str:
    return " ".join(_EMPHASIS.sub(r"\2", text).split())
