"""Chat completions on the wire: one JSON body, or a stream of server-sent events."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metrics.pair import ToolCall

DONE: Final = b"data: [DONE]\n\n"

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

    @property
    def finish_reason(self) -> str:
        """Why the answer ends: "stop" or "tool_calls"."""
        return "tool_calls" if self.tool_call else "stop"


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


def completion_body(completion: Completion) -> bytes:
    """The body of an answer that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": completion.text, "refusal": None}
    if completion.tool_call:
        message["content"] = None
        message["tool_calls"] = [_tool_call(completion, completion.tool_call)]
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": completion.finish_reason,
    }
    body = {
        "id": completion.id,
        "object": "chat.completion",
        "created": completion.created,
        "model": completion.model,
        "choices": [choice],
        "usage": _usage(completion),
        "system_fingerprint": completion.system_fingerprint,
    }
    return json.dumps(body).encode()


def completion_events(
    completion: Completion, *, include_usage: bool, tokens_per_event: int
) -> Iterator[bytes]:
    """The events of a streamed answer, the final `[DONE]` included.

    The first one holds the role, the last but one the finish reason; with `include_usage` a further one
    without choices holds the token counts.
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
        return b"data: %b\n\n" % json.dumps({**head, "choices": [choice], **usage}).encode()

    if completion.tool_call:
        call = _tool_call(completion, completion.tool_call)
        arguments = call["function"]["arguments"]
        call["function"]["arguments"] = ""
        yield event({"role": "assistant", "content": None, "tool_calls": [{"index": 0, **call}]})
        for piece in _bundles(pieces(arguments), tokens_per_event):
            yield event({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    else:
        yield event({"role": "assistant", "content": "", "refusal": None})
        # The events of the text differ in the text alone: everything around it is written once.
        before, after = event({"content": "\0"}).split(rb'"\u0000"')
        for piece in _bundles(pieces(completion.text), tokens_per_event):
            yield before + json.dumps(piece).encode() + after
    yield event({}, completion.finish_reason)
    if include_usage:
        last = {**head, "choices": [], "usage": _usage(completion)}
        yield b"data: %b\n\n" % json.dumps(last).encode()
    yield DONE


def _bundles(tokens: list[str], size: int) -> Iterator[str]:
    for start in range(0, len(tokens), size):
        yield "".join(tokens[start : start + size])


def _usage(completion: Completion) -> dict[str, Any]:
    said = completion.tool_call.arguments if completion.tool_call else completion.text
    spent = len(pieces(said))
    return {
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": spent,
        "total_tokens": completion.prompt_tokens + spent,
    }


def _tool_call(completion: Completion, call: ToolCall) -> dict[str, Any]:
    return {
        "id": f"call_{completion.id[-24:]}",
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }
