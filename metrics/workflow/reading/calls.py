"""Tool calls as a workflow: in the order in which the model made them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.metrics.similarity.normalised import canonical_json, read_json
from evenkeel.metrics.workflow.workflow import sequence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.pair import ToolCall
    from evenkeel.metrics.workflow.workflow import Workflow


def read_calls(calls: Iterable[ToolCall], *, arguments: bool = False) -> Workflow:
    """A sequence of one step a call.

    Args:
        calls: In the order of the answer.
        arguments: Whether a step is the call with its arguments, as "name {canonical JSON}", or the
            tool's name alone. Arguments have metrics of their own in `evenkeel.metrics.tool_calls`, and
            one of them reworded would make another step of the call.

    Raises:
        WorkflowError: "empty_step" for a call without name, or "too_large".
    """
    return sequence(_step(call, arguments=arguments) for call in calls)


def _step(call: ToolCall, *, arguments: bool) -> str:
    if not arguments:
        return call.name
    try:
        said = canonical_json(read_json(call.arguments.strip() or "{}"))
    except ValueError:
        said = call.arguments.strip()
    return f"{call.name} {said}"
