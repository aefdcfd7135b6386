"""What was said to a model and what it answered, as attributes; made only where that was asked for.

Source: the JSON forms of `gen_ai.input.messages` and `gen_ai.output.messages` in OpenTelemetry's conventions
for generative AI: messages of a role and parts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.text import well_formed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.llm.observer import CallResult, Said

LONGEST_CHARS: Final = 16_000
"""Of the texts of one attribute together: spans wait in memory while a collector is away."""


def input_messages(said: Sequence[Said]) -> str:
    """The messages of a request as JSON text; what is beyond `LONGEST_CHARS` is cut, and says so."""
    messages: list[dict[str, Any]] = []
    room = LONGEST_CHARS
    for one in said:
        messages.append({"role": one.role, "parts": [_part(one.text, room)]})
        room = max(0, room - len(one.text))
    return _written(messages)


def output_messages(result: CallResult) -> str:
    """The first choice of an answer as JSON text, cut like the request."""
    parts = [_part(result.text, LONGEST_CHARS)] if result.text or not result.tool_calls else []
    room = max(0, LONGEST_CHARS - len(result.text))
    for call in result.tool_calls:
        parts.append({"type": "tool_call", "name": call.name, "arguments": _cut(call.arguments, room)})
        room = max(0, room - len(call.arguments))
    message: dict[str, Any] = {"role": "assistant", "parts": parts}
    if result.finish_reason is not None:
        message["finish_reason"] = result.finish_reason
    return _written([message])


def _part(text: str, room: int) -> dict[str, str]:
    return {"type": "text", "content": _cut(text, room)}


def _cut(text: str, room: int) -> str:
    left_out = len(text) - room
    return text if left_out <= 0 else f"{text[:room]}… [{left_out:,} characters left out]"


def _written(messages: list[dict[str, Any]]) -> str:
    return well_formed(json.dumps(messages, ensure_ascii=False, separators=(",", ":")))
