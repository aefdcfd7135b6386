"""The APIs under which the simulated models can be asked, and what they have in common on the wire.

Chat completions, completions, messages in the style of Anthropic's API, and responses: each reads requests
and writes answers and events. A new one is a class here and a line in `APIS`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from evenkeel.simulate.model import Message
from evenkeel.simulate.requests import (
    ModelRequest,
    WireError,
    read_form,
    read_messages,
    read_model,
    read_temperature,
    read_text,
    read_tools,
    wants_usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.pair import ToolCall


_PIECE: Final = re.compile(r"\s*\S{1,8}")
"""A token, roughly: up to eight characters of a word with the space before it."""
_TOKEN_LENGTH: Final = 4
"""Characters of a prompt that count as one token."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer with everything the wire needs."""

    id: str
    created: int
    """Unix time in seconds."""
    model: str
    system_fingerprint: str | None
    text: str
    """"" where a tool is called."""
    tool_call: ToolCall | None
    prompt_tokens: int
    flex: bool = False
    """Whether the flex tier answered."""
    finish_reason: str = "stop"
    """Why a text ended, as chat completions name it; a call of a tool has its own reason."""

    @property
    def tokens(self) -> int:
        """Tokens of the answer."""
        return len(pieces(self.tool_call.arguments if self.tool_call else self.text))

    @property
    def short_id(self) -> str:
        """What tells this answer from others, for the ids of its parts."""
        return self.id[-24:]


def count_prompt_tokens(characters: int) -> int:
    """A rough count of tokens: one for every four characters, rounded up."""
    return -(-characters // _TOKEN_LENGTH)


def pieces(text: str) -> list[str]:
    """The text cut into tokens, whose concatenation is the text.

    Returns: [] for the empty text.
    """
    cut = _PIECE.findall(text)
    rest = text[sum(map(len, cut)) :]
    return [*cut, rest] if rest else cut


def bundles(text: str, size: int) -> Iterator[str]:
    """The text cut into pieces of `size` tokens."""
    tokens = pieces(text)
    for start in range(0, len(tokens), size):
        yield "".join(tokens[start : start + size])


def chat_usage(completion: Completion) -> dict[str, Any]:
    """Token counts as chat completions and completions name them."""
    return {
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.tokens,
        "total_tokens": completion.prompt_tokens + completion.tokens,
    }


def data_event(content: dict[str, Any]) -> bytes:
    """A server-sent event without a name."""
    return b"data: %b\n\n" % json.dumps(content).encode()


def named_event(content: dict[str, Any]) -> bytes:
    """A server-sent event under the name of its `type`."""
    return b"event: %b\ndata: %b\n\n" % (content["type"].encode(), json.dumps(content).encode())


class Api(Protocol):
    """One way to ask a model over HTTP."""

    path: str
    """Where it is served."""
    id_prefix: str
    """What the ids of its answers begin with; all of them say "simulated"."""

    def read(self, raw: dict[str, Any]) -> ModelRequest:
        """Read a request.

        Raises: WireError (400) that names the parameter, if one has another shape than the API
            describes.
        """
        ...

    def body(self, completion: Completion) -> bytes:
        """The body of an answer that is not streamed."""
        ...

    def events(
        self, completion: Completion, *, include_usage: bool, tokens_per_event: int
    ) -> Iterator[bytes]:
        """The events of a streamed answer, the one that ends it included."""
        ...

    def error(self, error: WireError) -> bytes:
        """The body of an error answer: OpenAI's shape, where an API has none of its own."""
        return error.body()


DONE: Final = b"data: [DONE]\n\n"


def _head(completion: Completion, kind: str) -> dict[str, Any]:
    """What answers with choices, and their events, begin with."""
    return {
        "id": completion.id,
        "object": kind,
        "created": completion.created,
        "model": completion.model,
        "system_fingerprint": completion.system_fingerprint,
        **_tier(completion),
    }


def _tier(completion: Completion) -> dict[str, str]:
    return {"service_tier": "flex"} if completion.flex else {}


def _answer(completion: Completion, kind: str, choice: dict[str, Any]) -> bytes:
    body = {**_head(completion, kind), "choices": [choice], "usage": chat_usage(completion)}
    return json.dumps(body).encode()


def _end(completion: Completion, head: dict[str, Any], *, include_usage: bool) -> Iterator[bytes]:
    """The counts, if asked for, and `[DONE]`."""
    if include_usage:
        yield data_event({**head, "choices": [], "usage": chat_usage(completion)})
    yield DONE


class ChatApi(Api):
    """Chat completions."""

    path = "/v1/chat/completions"
    id_prefix = "chatcmpl-simulated-"

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
            temperature=read_temperature(raw),
            messages=read_messages(raw.get("messages")),
            stream=bool(raw.get("stream")),
            include_usage=include_usage,
            tools=read_tools(tools, functions),
            tool_choice=raw.get("tool_choice"),
            form=read_form(_flat(raw.get("response_format"))),
            flex=raw.get("service_tier") == "flex",
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
        return _answer(completion, "chat.completion", choice)

    def events(
        self, completion: Completion, *, include_usage: bool, tokens_per_event: int
    ) -> Iterator[bytes]:
        """The first event holds the role, the last but one the finish reason, then comes `[DONE]`.

        With `include_usage` a further one without choices holds the token counts.
        """
        head = _head(completion, "chat.completion.chunk")
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
        yield from _end(completion, head, include_usage=include_usage)


def _flat(response_format: object) -> object:
    """The response format with its schema where the Responses API has it."""
    if isinstance(response_format, dict) and isinstance(response_format.get("json_schema"), dict):
        return {**response_format["json_schema"], "type": response_format.get("type")}
    return response_format


def _finish_reason(completion: Completion) -> str:
    return "tool_calls" if completion.tool_call else completion.finish_reason


def _tool_call(completion: Completion, call: ToolCall) -> dict[str, Any]:
    return {
        "id": f"call_{completion.short_id}",
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


class CompletionsApi(Api):
    """Completions of one prompt: a string, or a list with one string. There are no tools."""

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
            messages=(Message("user", prompt),),
            stream=bool(raw.get("stream")),
            include_usage=include_usage,
            tools=(),
            tool_choice=None,
        )

    def body(self, completion: Completion) -> bytes:
        """One choice with the text."""
        return _answer(completion, "text_completion", _choice(completion.text, completion.finish_reason))

    def events(
        self, completion: Completion, *, include_usage: bool, tokens_per_event: int
    ) -> Iterator[bytes]:
        """The text in pieces, the finish reason with an empty one, the counts if asked for, `[DONE]`."""
        head = _head(completion, "text_completion")
        usage: dict[str, Any] = {"usage": None} if include_usage else {}
        for piece in bundles(completion.text, tokens_per_event):
            yield data_event({**head, "choices": [_choice(piece, None)], **usage})
        yield data_event({**head, "choices": [_choice("", completion.finish_reason)], **usage})
        yield from _end(completion, head, include_usage=include_usage)


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


class MessagesApi(Api):
    """Messages."""

    path = "/v1/messages"
    id_prefix = "msg_simulated_"

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
            temperature=read_temperature(raw),
            messages=((Message("system", system), *messages) if system else messages),
            stream=bool(raw.get("stream")),
            include_usage=True,
            tools=read_tools(tools, own),
            tool_choice=_messages_tool_choice(raw.get("tool_choice")),
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


_STOP_REASONS: Final = {"length": "max_tokens", "content_filter": "refusal"}


def _stop_reason(completion: Completion) -> str:
    return "tool_use" if completion.tool_call else _STOP_REASONS.get(completion.finish_reason, "end_turn")


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


def _messages_tool_choice(raw: object) -> object:
    match raw:
        case {"type": "tool", "name": name}:
            return {"function": {"name": name}}
        case {"type": "any"}:
            return "required"
        case {"type": "none"}:
            return "none"
        case _:
            return "auto"


class ResponsesApi(Api):
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
        tools = raw.get("tools")
        own = [tool for tool in tools if _is_function(tool)] if isinstance(tools, list) else None
        instructions = raw.get("instructions")
        if instructions is not None and not isinstance(instructions, str):
            raise WireError(400, "instructions must be a string.", param="instructions")
        head = (Message("system", instructions),) if instructions else ()
        return ModelRequest(
            model=model,
            temperature=read_temperature(raw),
            messages=(*head, *_read_input(raw.get("input"))),
            stream=bool(raw.get("stream")),
            include_usage=True,
            tools=read_tools(tools, own),
            tool_choice=_responses_tool_choice(raw.get("tool_choice")),
            form=read_form(text.get("format") if isinstance(text, dict) else None),
            flex=raw.get("service_tier") == "flex",
        )

    def body(self, completion: Completion) -> bytes:
        """The whole response with its one output item."""
        return json.dumps(_response(completion, _ended(completion), [_item(completion)])).encode()

    def events(
        self, completion: Completion, *, include_usage: bool, tokens_per_event: int
    ) -> Iterator[bytes]:
        """From `response.created` to `response.completed`, which holds the whole response.

        Token counts are always in the last one; `include_usage` is of no concern to this API.
        """
        del include_usage
        for number, event in enumerate(_events(completion, tokens_per_event)):
            yield named_event({**event, "sequence_number": number})


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
    status = _ended(completion)
    yield {"type": f"response.{status}", "response": _response(completion, status, [item])}


_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why a response was cut, by the reason in the words of chat completions."""


def _ended(completion: Completion) -> Literal["completed", "incomplete"]:
    """The status of a response that is over."""
    return "incomplete" if completion.finish_reason in _INCOMPLETE else "completed"


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
        **_tier(completion),
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


def _responses_tool_choice(raw: object) -> object:
    return {"function": {"name": raw.get("name")}} if isinstance(raw, dict) else raw


APIS: Final[tuple[Api, ...]] = (ChatApi(), CompletionsApi(), ResponsesApi(), MessagesApi())
