"""Rendering of an answer as the one text that a judge reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer


def render(answer: Answer) -> str:
    """Return an answer's text, then a line "call name(arguments)" for each tool call; "" if it is empty."""
    lines = [answer.text.strip()] if answer.text.strip() else []
    lines += [f"call {call.name}({call.arguments})" for call in answer.tool_calls]
    return "\n".join(lines)
