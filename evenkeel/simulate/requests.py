"""What a chat completion request asks for, read from its body."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from evenkeel.simulate.faults import WireError
from evenkeel.simulate.model import Message


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """The parts of a request that matter here; all other parameters are ignored."""

    model: str
    messages: tuple[Message, ...]
    stream: bool
    include_usage: bool
    """Whether a stream ends with a chunk of token counts."""
    tools: tuple[dict[str, Any], ...]
    """The `function` objects of the offered tools, as sent; each has a name."""
    tool_choice: Any
    """As sent: None, "auto", "none", "required" or an object that names a function."""


def read_request(body: bytes) -> ChatRequest:
    """Read a request body.

    Raises: WireError (400) that names the parameter, if the body is not a JSON object, or `model`,
        `messages`, `stream_options` or `tools` has another shape than the API describes.
    """
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WireError(400, f"The request body is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise WireError(400, "The request body must be a JSON object.")
    model = raw.get("model")
    if not isinstance(model, str) or not model:
        raise WireError(400, "you must provide a model parameter", param="model")
    options = raw.get("stream_options") or {}
    if not isinstance(options, dict):
        raise WireError(400, "stream_options must be an object.", param="stream_options")
    return ChatRequest(
        model=model,
        messages=_read_messages(raw.get("messages")),
        stream=bool(raw.get("stream")),
        include_usage=bool(options.get("include_usage")),
        tools=_read_tools(raw.get("tools")),
        tool_choice=raw.get("tool_choice"),
    )


def _read_messages(raw: Any) -> tuple[Message, ...]:
    if raw is None:
        raise WireError(
            400, "Missing required parameter: 'messages'.", param="messages", code="missing_required"
        )
    if not isinstance(raw, list) or not raw:
        raise WireError(400, "messages must be a list of at least one message.", param="messages")
    return tuple(_read_message(index, item) for index, item in enumerate(raw))


def _read_message(index: int, raw: Any) -> Message:
    where = f"messages[{index}]"
    if not isinstance(raw, dict) or not isinstance(raw.get("role"), str):
        raise WireError(400, f"{where} must be an object with a role.", param=where)
    content = raw.get("content")
    if content is None:
        return Message(raw["role"], "")
    if isinstance(content, str):
        return Message(raw["role"], content)
    if not isinstance(content, list):
        raise WireError(
            400, f"{where}.content must be a string or a list of parts.", param=f"{where}.content"
        )
    texts = [part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return Message(raw["role"], "\n".join(texts))


def _read_tools(raw: Any) -> tuple[dict[str, Any], ...]:
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise WireError(400, "tools must be a list.", param="tools")
    functions = []
    for index, tool in enumerate(raw):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise WireError(400, f"tools[{index}] must hold a function with a name.", param=f"tools[{index}]")
        functions.append(function)
    return tuple(functions)
