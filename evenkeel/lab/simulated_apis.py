"""Further APIs of simulated models: completions, messages as Anthropic has them, and responses.

Each reads requests and writes answers and events; a new one is a class here and a line in `APIS`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal

from evenkeel.simulate.apis import (
    SimulatedApi,
    SimulatedChat,
    SimulatedCompletion,
    answer_head,
    choice_answer,
    data_event,
    named_event,
    pieces,
    stream_end,
    tier,
)
from evenkeel.simulate.model import PromptMessage
from evenkeel.simulate.requests import (
    ModelRequest,
    WireError,
    read_form,
    read_messages,
    read_model,
    read_temperature,
    read_text,
    wants_usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class SimulatedCompletions(SimulatedApi):
    """Completions of one prompt: a string, or a list with one string."""

    path = "/v1/completions"
    id_prefix = "cmpl-simulated-"

    def read(self, raw: dict[str, Any]) -> ModelRequest:
        """Read a request with `prompt`, which is taken for the user's words."""
        model = read_model(raw)
        include_usage = wants_usage(raw)
        prompt = raw.get("prompt")
        if isinstance(prompt, list) and len(prompt) == 1:
            prompt = prompt[0]
        if not isinstance(prompt, str):
            raise WireError(
                400, "prompt must be a string, or a list of one: this model is simulated.", param="prompt"
            )
        return ModelRequest(
            model=model,
            temperature=read_temperature(raw),
            messages=(PromptMessage("user", prompt),),
            stream=bool(raw.get("stream")),
            include_usage=include_usage,
        )

    def body(self, completion: SimulatedCompletion) -> bytes:
        """Write a choice with the text."""
        return choice_answer(
            completion, "text_completion", _choice(completion.text, completion.finish_reason)
        )

    def events(self, completion: SimulatedCompletion, *, include_usage: bool) -> Iterator[bytes]:
        """The text in pieces, the finish reason with an empty one, the counts if asked for, `[DONE]`."""
        head = answer_head(completion, "text_completion")
        usage: dict[str, Any] = {"usage": None} if include_usage else {}
        for piece in pieces(completion.text):
            yield data_event({**head, "choices": [_choice(piece, None)], **usage})
        yield data_event({**head, "choices": [_choice("", completion.finish_reason)], **usage})
        yield from stream_end(completion, head, include_usage=include_usage)


def _choice(text: str, finish_reason: str | None) -> dict[str, Any]:
    return {"text": text, "index": 0, "logprobs": None, "finish_reason": finish_reason}


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


class SimulatedMessages(SimulatedApi):
    """Messages."""

    path = "/v1/messages"
    id_prefix = "msg_simulated_"

    def read(self, raw: dict[str, Any]) -> ModelRequest:
        """Read a request with `system`, `messages` and `max_tokens`."""
        model = read_model(raw)
        if not isinstance(raw.get("max_tokens"), int):
            raise WireError(400, "max_tokens: Field required", param="max_tokens")
        messages = read_messages(raw.get("messages"))
        system = read_text(raw.get("system"), "system")
        return ModelRequest(
            model=model,
            temperature=read_temperature(raw),
            messages=((PromptMessage("system", system), *messages) if system else messages),
            stream=bool(raw.get("stream")),
            include_usage=True,
        )

    def body(self, completion: SimulatedCompletion) -> bytes:
        """The message with its one content block."""
        content = [{"type": "text", "text": completion.text}]
        message = _message(completion, content, _stop_reason(completion), completion.tokens)
        return json.dumps(message).encode()

    def events(self, completion: SimulatedCompletion, *, include_usage: bool) -> Iterator[bytes]:
        """Yield everything from `message_start` to `message_stop`.

        Token counts are always there; `include_usage` is of no concern to this API.
        """
        del include_usage
        yield named_event({"type": "message_start", "message": _message(completion, [], None, 1)})
        opened = {"type": "text", "text": ""}
        yield named_event({"type": "content_block_start", "index": 0, "content_block": opened})
        yield named_event({"type": "ping"})
        for piece in pieces(completion.text):
            delta = {"type": "text_delta", "text": piece}
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
    completion: SimulatedCompletion,
    content: list[dict[str, Any]],
    stop_reason: str | None,
    output_tokens: int,
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


_STOP_REASONS: Final = {"length": "max_tokens", "content_filter": "refusal"}


def _stop_reason(completion: SimulatedCompletion) -> str:
    return _STOP_REASONS.get(completion.finish_reason, "end_turn")


class SimulatedResponses(SimulatedApi):
    """Responses, without state: `previous_response_id` and stored conversations are refused."""

    path = "/v1/responses"
    id_prefix = "resp_simulated_"

    def read(self, raw: dict[str, Any]) -> ModelRequest:
        """Read a request with `instructions` and `input`."""
        model = read_model(raw)
        for name in ("previous_response_id", "conversation"):
            if raw.get(name) is not None:
                raise WireError(400, f"{name}: this simulated endpoint stores nothing.", param=name)
        text = raw.get("text")
        instructions = raw.get("instructions")
        if instructions is not None and not isinstance(instructions, str):
            raise WireError(400, "instructions must be a string.", param="instructions")
        head = (PromptMessage("system", instructions),) if instructions else ()
        return ModelRequest(
            model=model,
            temperature=read_temperature(raw),
            messages=(*head, *_read_input(raw.get("input"))),
            stream=bool(raw.get("stream")),
            include_usage=True,
            form=read_form(text.get("format") if isinstance(text, dict) else None),
            flex=raw.get("service_tier") == "flex",
        )

    def body(self, completion: SimulatedCompletion) -> bytes:
        """The whole response with its one output item."""
        return json.dumps(_response(completion, _ended(completion), [_item(completion)])).encode()

    def events(self, completion: SimulatedCompletion, *, include_usage: bool) -> Iterator[bytes]:
        """Yield everything from `response.created` to `response.completed`, which holds the whole response.

        Token counts are always in the last one; `include_usage` is of no concern to this API.
        """
        del include_usage
        for number, event in enumerate(_events(completion)):
            yield named_event({**event, "sequence_number": number})


def _events(completion: SimulatedCompletion) -> Iterator[dict[str, Any]]:
    item = _item(completion)
    began = _response(completion, "in_progress", [])
    yield {"type": "response.created", "response": began}
    yield {"type": "response.in_progress", "response": began}
    location = {"item_id": item["id"], "output_index": 0}
    opened = {**item, "status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "output_index": 0, "item": opened}
    location = {**location, "content_index": 0}
    yield {"type": "response.content_part.added", **location, "part": _part("")}
    for piece in pieces(completion.text):
        yield {"type": "response.output_text.delta", **location, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **location, "text": completion.text, "logprobs": []}
    yield {"type": "response.content_part.done", **location, "part": _part(completion.text)}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    status = _ended(completion)
    yield {"type": f"response.{status}", "response": _response(completion, status, [item])}


# Why a response was cut, by the reason in the words of chat completions.
_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}


def _ended(completion: SimulatedCompletion) -> Literal["completed", "incomplete"]:
    return "incomplete" if completion.finish_reason in _INCOMPLETE else "completed"


def _response(completion: SimulatedCompletion, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
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
        **tier(completion),
        "status": status,
        "error": None,
        "incomplete_details": {"reason": _INCOMPLETE[completion.finish_reason]}
        if status == "incomplete"
        else None,
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
        "usage": None if status == "in_progress" else usage,
    }


def _item(completion: SimulatedCompletion) -> dict[str, Any]:
    return {
        "id": f"msg_{completion.short_id}",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [_part(completion.text)],
    }


def _part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _read_input(raw: object) -> tuple[PromptMessage, ...]:
    if isinstance(raw, str):
        return (PromptMessage("user", raw),)
    if not isinstance(raw, list) or not raw:
        raise WireError(400, "input must be a string or a list of at least one item.", param="input")
    messages: list[PromptMessage] = []
    for index, item in enumerate(raw):
        messages.append(_read_item(f"input[{index}]", item))
    return tuple(messages)


def _read_item(where: str, raw: object) -> PromptMessage:
    """An item as a message: calls are the assistant's, their results a tool's."""
    if not isinstance(raw, dict):
        raise WireError(400, f"{where} must be an object.", param=where)
    if isinstance(raw.get("role"), str):
        return PromptMessage(raw["role"], read_text(raw.get("content"), f"{where}.content"))
    kind = raw.get("type")
    if not isinstance(kind, str):
        raise WireError(400, f"{where} must have a role or a type.", param=where)
    if kind.endswith("_output"):
        output = raw.get("output")
        return PromptMessage("tool", output if isinstance(output, str) else json.dumps(output))
    return PromptMessage("assistant", str(raw.get("arguments", "")))


APIS: Final[tuple[SimulatedApi, ...]] = (
    SimulatedChat(),
    SimulatedCompletions(),
    SimulatedResponses(),
    SimulatedMessages(),
)
"""Chat completions and those above."""
