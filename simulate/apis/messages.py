"""`POST /v1/messages`, in the style of Anthropic's API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from evenkeel.simulate.faults import WireError
from evenkeel.simulate.model import Message
from evenkeel.simulate.requests import (
    ModelRequest,
    read_messages,
    read_model,
    read_text,
    read_tools,
)
from evenkeel.simulate.wire import Completion, bundles, named_event

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}


class MessagesApi:
    """Messages."""

    path: Final = "/v1/messages"
    id_prefix: Final = "msg_simulated_"

    def read(self, raw: dict[str, Any]) -> ModelRequest:
        """Read a request with `system`, `messages` and `max_tokens`."""
        model = read_model(raw)
        if not isinstance(raw.get("max_tokens"), int):
            raise WireError(400, "max_tokens: Field required", param="max_tokens")
        messages = read_messages(raw.get("messages"))
        if _is_tool_result(raw["messages"][-1]):
            messages = (*messages[:-1], Message("tool", messages[-1].text))
        system = read_text(raw.get("system"), "system")
        tools = raw.get("tools")
        own = [_function(tool) for tool in tools if _is_own(tool)] if isinstance(tools, list) else None
        return ModelRequest(
            model=model,
            messages=((Message("system", system), *messages) if system else messages),
            stream=bool(raw.get("stream")),
            include_usage=True,
            tools=read_tools(tools, own),
            tool_choice=_tool_choice(raw.get("tool_choice")),
        )

    def body(self, completion: Completion) -> bytes:
        """The message with its one content block."""
        message = _message(completion, [_block(completion)], _stop_reason(completion), completion.tokens)
        return json.dumps(message).encode()

    def events(
        self, completion: Completion, *, include_usage: bool, tokens_per_event: int
    ) -> Iterator[bytes]:
        """From `message_start` to `message_stop`.

        Token counts are always there; `include_usage` is of no concern to this API.
        """
        del include_usage
        yield named_event({"type": "message_start", "message": _message(completion, [], None, 1)})
        call = completion.tool_call
        opened = {**_block(completion), "input": {}} if call else {"type": "text", "text": ""}
        yield named_event({"type": "content_block_start", "index": 0, "content_block": opened})
        yield named_event({"type": "ping"})
        kind, field = ("input_json_delta", "partial_json") if call else ("text_delta", "text")
        for piece in bundles(call.arguments if call else completion.text, tokens_per_event):
            delta = {"type": kind, field: piece}
            yield named_event({"type": "content_block_delta", "index": 0, "delta": delta})
        yield named_event({"type": "content_block_stop", "index": 0})
        yield named_event(
            {
                "type": "message_delta",
                "delta": {"stop_reason": _stop_reason(completion), "stop_sequence": None},
                "usage": {"output_tokens": completion.tokens},
            }
        )
        yield named_event({"type": "message_stop"})

    def error(self, error: WireError) -> bytes:
        """`{"type": "error", "error": {"type", "message"}}`."""
        kind = _KINDS.get(error.status, "invalid_request_error" if error.is_callers else "api_error")
        return json.dumps({"type": "error", "error": {"type": kind, "message": str(error)}}).encode()


def _message(
    completion: Completion, content: list[dict[str, Any]], stop_reason: str | None, output_tokens: int
) -> dict[str, Any]:
    return {
        "id": completion.id,
        "type": "message",
        "role": "assistant",
        "model": completion.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": completion.prompt_tokens, "output_tokens": output_tokens},
    }


def _block(completion: Completion) -> dict[str, Any]:
    if completion.tool_call:
        return {
            "type": "tool_use",
            "id": f"toolu_{completion.short_id}",
            "name": completion.tool_call.name,
            "input": json.loads(completion.tool_call.arguments),
        }
    return {"type": "text", "text": completion.text}


def _stop_reason(completion: Completion) -> str:
    return "tool_use" if completion.tool_call else "end_turn"


def _is_tool_result(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(
        isinstance(part, dict) and part.get("type") == "tool_result" for part in content
    )


def _is_own(tool: object) -> bool:
    """Whether a tool is run by the client; the simulation has no others."""
    return not isinstance(tool, dict) or tool.get("type", "custom") == "custom"


def _function(tool: object) -> object:
    return {**tool, "parameters": tool.get("input_schema")} if isinstance(tool, dict) else tool


def _tool_choice(raw: object) -> object:
    match raw:
        case {"type": "tool", "name": name}:
            return {"function": {"name": name}}
        case {"type": "any"}:
            return "required"
        case {"type": "none"}:
            return "none"
        case _:
            return "auto"
