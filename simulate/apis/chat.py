"""`POST /v1/chat/completions`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from evenkeel.simulate.requests import (
    ModelRequest,
    read_form,
    read_messages,
    read_model,
    read_tools,
    wants_usage,
)
from evenkeel.simulate.wire import Completion, bundles, chat_usage, data_event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.pair import ToolCall
    from evenkeel.simulate.faults import WireError

DONE: Final = b"data: [DONE]\n\n"


class ChatApi:
    """Chat completions."""

    path: Final = "/v1/chat/completions"
    id_prefix: Final = "chatcmpl-simulated-"

    def read(self, raw: dict[str, Any]) -> ModelRequest:
        """Read a request with `messages`."""
        model = read_model(raw)
        include_usage = wants_usage(raw)
        tools = raw.get("tools")
        functions = (
            [tool.get("function") if isinstance(tool, dict) else None for tool in tools]
            if isinstance(tools, list)
            else None
        )
        return ModelRequest(
            model=model,
            messages=read_messages(raw.get("messages")),
            stream=bool(raw.get("stream")),
            include_usage=include_usage,
            tools=read_tools(tools, functions),
            tool_choice=raw.get("tool_choice"),
            form=read_form(_flat(raw.get("response_format"))),
        )

    def body(self, completion: Completion) -> bytes:
        """One choice with the message."""
        message: dict[str, Any] = {"role": "assistant", "content": completion.text, "refusal": None}
        if completion.tool_call:
            message["content"] = None
            message["tool_calls"] = [_tool_call(completion, completion.tool_call)]
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _finish_reason(completion),
        }
        body = {
            "id": completion.id,
            "object": "chat.completion",
            "created": completion.created,
            "model": completion.model,
            "choices": [choice],
            "usage": chat_usage(completion),
            "system_fingerprint": completion.system_fingerprint,
        }
        return json.dumps(body).encode()

    def events(
        self, completion: Completion, *, include_usage: bool, tokens_per_event: int
    ) -> Iterator[bytes]:
        """The first event holds the role, the last but one the finish reason, then comes `[DONE]`.

        With `include_usage` a further one without choices holds the token counts.
        """
        head = {
            "id": completion.id,
            "object": "chat.completion.chunk",
            "created": completion.created,
            "model": completion.model,
            "system_fingerprint": completion.system_fingerprint,
        }
        usage: dict[str, Any] = {"usage": None} if include_usage else {}

        def event(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
            return data_event({**head, "choices": [choice], **usage})

        if completion.tool_call:
            call = _tool_call(completion, completion.tool_call)
            arguments = call["function"]["arguments"]
            call["function"]["arguments"] = ""
            yield event({"role": "assistant", "content": None, "tool_calls": [{"index": 0, **call}]})
            for piece in bundles(arguments, tokens_per_event):
                yield event({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
        else:
            yield event({"role": "assistant", "content": "", "refusal": None})
            # The events of the text differ in the text alone: everything around it is written once.
            before, after = event({"content": "\0"}).split(rb'"\u0000"')
            for piece in bundles(completion.text, tokens_per_event):
                yield before + json.dumps(piece).encode() + after
        yield event({}, _finish_reason(completion))
        if include_usage:
            yield data_event({**head, "choices": [], "usage": chat_usage(completion)})
        yield DONE

    def error(self, error: WireError) -> bytes:
        """OpenAI's shape."""
        return error.body()


def _flat(response_format: object) -> object:
    """The response format with its schema where the Responses API has it."""
    if isinstance(response_format, dict) and isinstance(response_format.get("json_schema"), dict):
        return {**response_format["json_schema"], "type": response_format.get("type")}
    return response_format


def _finish_reason(completion: Completion) -> str:
    return "tool_calls" if completion.tool_call else "stop"


def _tool_call(completion: Completion, call: ToolCall) -> dict[str, Any]:
    return {
        "id": f"call_{completion.short_id}",
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }
