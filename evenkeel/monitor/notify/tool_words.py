"""Words for changes in tool calls: "calls `refund` where it called `lookup`: 14 of 60, control 1 of 60"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.cells import ToolReport
    from evenkeel.core.verdict import ToolStep

# Trials beyond the controls from which on a change is named; and it is at least twice as frequent.
_FEWEST: Final = 3


def tool_changes(report: ToolReport) -> list[str]:
    """Describe the changes that rewordings cause more often than chance, the most frequent first."""
    lines = []
    for change in report.changes:
        if change.trials - change.controls >= max(_FEWEST, change.controls):
            words = _words(change.before, change.after, change.argument)
            lines.append(
                f"{words}: {change.trials} of {report.steps}, control {change.controls} of {report.pairs}"
            )
    return lines


def largest_change(reports: Sequence[ToolReport]) -> str:
    """Return the most frequent change of several cells in words; "" if none is more frequent than chance."""
    changed = []
    for report in reports:
        if tool_changes(report):
            changed.append(report)
    if not changed:
        return ""
    return tool_changes(max(changed, key=_share_beyond_control))[0]


def _share_beyond_control(report: ToolReport) -> float:
    return (report.changes[0].trials - report.changes[0].controls) / report.steps


def step_words(step: ToolStep) -> str:
    """Describe how the tool calls of one answer differ from the original's; "" if they do not."""
    if step.difference == "order":
        return f"calls `{step.after}` before `{step.before}`"
    if step.difference in {"none", "text"}:
        return ""
    return _words(step.before, step.after, ", ".join(path.strip(".") for path in step.arguments))


def _words(before: str, after: str, argument: str) -> str:
    if argument:
        return f"calls `{after}` with another `{argument}`"
    if before == after:
        # Arguments that are no object have no names.
        return f"calls `{after}` with other arguments"
    instead = f"`{after}`" if after else "no tool"
    return f"calls {instead} where it called {f'`{before}`' if before else 'no tool'}"
