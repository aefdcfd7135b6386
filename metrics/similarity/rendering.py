"""An answer as one text, for metrics and judges that read text only."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metrics.pair import Answer


def render(answer: Answer) -> str:
    """The answer's text, then one line "call name(arguments)" for each tool call; "" if it is empty."""
    lines = [answer.text.strip()] if answer.text.strip() else []
    lines += [f"call {call.name}({call.arguments})" for call in answer.tool_calls]
    return "\n".join(lines)
