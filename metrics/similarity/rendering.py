"""An answer as one text, for metrics and judges that read text only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.metrics.similarity.details import leaves
from evenkeel.metrics.similarity.normalised import read_json

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer


def render(answer: Answer) -> str:
    """The answer's text, then one line "call name(arguments)" for each tool call; "" if it is empty."""
    lines = [answer.text.strip()] if answer.text.strip() else []
    lines += [f"call {call.name}({call.arguments})" for call in answer.tool_calls]
    return "\n".join(lines)


def claims(answer: Answer) -> str:
    """What the answer says of the case: its text and the values passed to tools, not the tools' names.

    An answer without tool calls is its text unchanged, JSON included.
    """
    if not answer.tool_calls:
        return answer.text
    lines = [answer.text.strip()] if answer.text.strip() else []
    for call in answer.tool_calls:
        try:
            lines += leaves(read_json(call.arguments.strip() or "{}"))
        except ValueError:
            lines.append(call.arguments)
    return "\n".join(lines)
