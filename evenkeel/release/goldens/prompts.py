"""What a golden asks, as text for people."""

from __future__ import annotations

import json
from typing import Any

_LEADS = ("system", "instructions")
"""Members of a body that hold what is said before the conversation."""
_TURNS = ("messages", "input", "prompt")
"""Members of a body that hold the conversation, by API."""


def prompt_text(request: str | None) -> str:
    """The prompt in the body of a request: "role: text" blocks, a blank line between them.

    What is not text is noted in brackets, such as "[image_url]". A body without a recognisable
    conversation is shown as its JSON; "" without a body.
    """
    if request is None:
        return ""
    try:
        body = json.loads(request)
    except (ValueError, RecursionError):
        return request
    if not isinstance(body, dict):
        return request
    turns = next((body[name] for name in _TURNS if body.get(name)), None)
    said = [f"system: {_text(body[name])}" for name in _LEADS if body.get(name)]
    if isinstance(turns, str):
        said.append(f"user: {turns}")
    elif isinstance(turns, list):
        said += [_turn(turn) for turn in turns]
    return "\n\n".join(said) or json.dumps(body, ensure_ascii=False, indent=2)


def _turn(turn: Any) -> str:
    if not isinstance(turn, dict):
        return f"user: {_text(turn)}"
    role = turn.get("role")
    calls = turn.get("tool_calls") if isinstance(turn.get("tool_calls"), list) else []
    parts = [_text(turn.get("content")), *(_call(call) for call in calls or ())]
    if not isinstance(role, str):  # an item of the responses API that is no message
        return f"[{turn.get('type', 'item')}] {json.dumps(turn, ensure_ascii=False)}"
    return f"{role}: {chr(10).join(part for part in parts if part)}"


def _call(call: Any) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return "[tool_call]"
    return f"[{function.get('name', 'tool_call')}] {function.get('arguments', '')}"


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part(part) for part in content)
    return json.dumps(content, ensure_ascii=False)


def _part(part: Any) -> str:
    if isinstance(part, dict):
        text = part.get("text")
        return text if isinstance(text, str) else f"[{part.get('type', 'part')}]"
    return _text(part)
