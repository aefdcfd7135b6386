"""`POST /v1/responses`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from evenkeel.simulate.faults import WireError
from evenkeel.simulate.model import Message
from evenkeel.simulate.requests import ModelRequest, read_form, read_model, read_text, read_tools
from evenkeel.simulate.wire import Completion, bundles, named_event

if TYPE_CHECKING:
    from collections.abc import Iterator


class ResponsesApi:
    """Responses, without state: `previous_response_id` and stored conversations are refused."""

    path: Final = "/v1/responses"
    id_prefix: Final = "resp_simulated_"

    def read(self, raw: dict[str, Any]) -> ModelRequest:
        """Read a request with `instructions` and `input`."""
        model = read_model(raw)
        for name in ("previous_response_id", "conversation"):
            if raw.get(name) is not None:
                raise WireError(400, f"{name}: this simulated endpoint stores nothing.", param=name)
        text = raw.get("text")
        tools = raw.get("tools")
        own = [tool for tool in tools if _is_function(tool)] if isinstance(tools, list) else None
        instructions = raw.get("instructions")
        if instructions is not None and not isinstance(instructions, str):
            raise WireError(400, "instructions must be a string.", param="instructions")
        head = (Message("system", instructions),) if instructions else ()
        return ModelRequest(
            model=model,
            messages=(*head, *_read_input(raw.get("input"))),
            stream=bool(raw.get("stream")),
            include_usage=True,
            tools=read_tools(tools, own),
            tool_choice=_tool_choice(raw.get("tool_choice")),
            form=read_form(text.get("format") if isinstance(text, dict) else None),
        )

    def body(self, completion: Completion) -> bytes:
        """The whole response with its one output item."""
        return json.dumps(_response(completion, "completed", [_item(completion)])).encode()

    def events(
        self, completion: Completion, *, include_usage: bool, tokens_per_event: int
    ) -> Iterator[bytes]:
        """From `response.created` to `response.completed`, which holds the whole response.

        Token counts are always in the last one; `include_usage` is of no concern to this API.
        """
        del include_usage
        for number, event in enumerate(_events(completion, tokens_per_event)):
            yield named_event({**event, "sequence_number": number})

    def error(self, error: WireError) -> bytes:
        """OpenAI's shape."""
        return error.body()


def _events(completion: Completion, tokens_per_event: int) -> Iterator[dict[str, Any]]:
    item = _item(completion)
    began = _response(completion, "in_progress", [])
    yield {"type": "response.created", "response": began}
    yield {"type": "response.in_progress", "response": began}
    place = {"item_id": item["id"], "output_index": 0}
    call = completion.tool_call
    if call:
        opened = {**item, "status": "in_progress", "arguments": ""}
        yield {"type": "response.output_item.added", "output_index": 0, "item": opened}
        kind = "response.function_call_arguments"
        for piece in bundles(call.arguments, tokens_per_event):
            yield {"type": f"{kind}.delta", **place, "delta": piece}
        yield {"type": f"{kind}.done", **place, "name": call.name, "arguments": call.arguments}
    else:
        opened = {**item, "status": "in_progress", "content": []}
        yield {"type": "response.output_item.added", "output_index": 0, "item": opened}
        place = {**place, "content_index": 0}
        yield {"type": "response.content_part.added", **place, "part": _part("")}
        for piece in bundles(completion.text, tokens_per_event):
            yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **place, "text": completion.text, "logprobs": []}
        yield {"type": "response.content_part.done", **place, "part": _part(completion.text)}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": _response(completion, "completed", [item])}


def _response(completion: Completion, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {
        "input_tokens": completion.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": completion.tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": completion.prompt_tokens + completion.tokens,
    }
    return {
        "id": completion.id,
        "object": "response",
        "created_at": completion.created,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": completion.model,
        "output": output,
        "parallel_tool_calls": False,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "store": False,
        "usage": usage if status == "completed" else None,
    }


def _item(completion: Completion) -> dict[str, Any]:
    if completion.tool_call:
        return {
            "id": f"fc_{completion.short_id}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{completion.short_id}",
            "name": completion.tool_call.name,
            "arguments": completion.tool_call.arguments,
        }
    return {
        "id": f"msg_{completion.short_id}",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [_part(completion.text)],
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _read_input(raw: object) -> tuple[Message, ...]:
    if isinstance(raw, str):
        return (Message("user", raw),)
    if not isinstance(raw, list) or not raw:
        raise WireError(400, "input must be a string or a list of at least one item.", param="input")
    return tuple(_read_item(f"input[{index}]", item) for index, item in enumerate(raw))


def _read_item(where: str, raw: object) -> Message:
    """An item as a message: calls are the assistant's, their results a tool's."""
    if not isinstance(raw, dict):
        raise WireError(400, f"{where} must be an object.", param=where)
    if isinstance(raw.get("role"), str):
        return Message(raw["role"], read_text(raw.get("content"), f"{where}.content"))
    kind = raw.get("type")
    if not isinstance(kind, str):
        raise WireError(400, f"{where} must have a role or a type.", param=where)
    if kind.endswith("_output"):
        output = raw.get("output")
        return Message("tool", output if isinstance(output, str) else json.dumps(output))
    return Message("assistant", str(raw.get("arguments", "")))


def _is_function(tool: object) -> bool:
    """Whether a tool is run by the client; the simulation has no others."""
    return not isinstance(tool, dict) or tool.get("type", "function") == "function"


def _tool_choice(raw: object) -> object:
    return {"function": {"name": raw.get("name")}} if isinstance(raw, dict) else raw
