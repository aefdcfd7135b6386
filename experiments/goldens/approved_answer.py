"""The approved answer, as a line of a file says it: text, text with calls, or a whole response."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.stores.goldens import GoldenError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELDS = tuple(field.name for field in fields(Answer))
_COUNTS = ("prompt_tokens", "completion_tokens")
_SHAPES = (
    'is neither text, nor an object with "text" or "tool_calls", nor a response with "choices", "output" '
    'or "content"'
)


def read_approved(value: Any) -> Answer:
    """The answer that a JSON value says.

    Args:
        value: text; an object with `text`, `tool_calls` or both, and optionally the other fields of an
            answer; or a response as an endpoint returns it: chat completions, completions, responses,
            messages. Of several choices the first is taken.

    Raises: GoldenError without a place, for the caller to say where; an answer that says nothing and
        calls nothing is one too.
    """
    if isinstance(value, str):
        answer = Answer(value)
    elif not isinstance(value, dict):
        raise GoldenError(_SHAPES)
    elif "choices" in value:
        answer = _of_choices(value)
    elif isinstance(value.get("output"), list):
        answer = _of_response(value)
    elif isinstance(value.get("content"), list):
        answer = _of_message(value)
    elif "text" in value or "tool_calls" in value:
        answer = _of_fields(value)
    else:
        raise GoldenError(_SHAPES)
    if not answer.text and not answer.tool_calls:
        raise GoldenError("is empty: there is no text and no call that later answers could be compared with")
    return answer


def written_answer(answer: Answer) -> Any:
    """A JSON value that `read_approved` reads as this answer: its text if there is nothing else."""
    said: dict[str, Any] = {"text": answer.text}
    if answer.tool_calls:
        said["tool_calls"] = [{"name": call.name, "arguments": call.arguments} for call in answer.tool_calls]
    for name in _FIELDS[2:]:
        if getattr(answer, name) is not None:
            said[name] = getattr(answer, name)
    return said["text"] if len(said) == 1 else said


def _of_fields(value: dict[str, Any]) -> Answer:
    for name in value:
        if name not in _FIELDS:
            raise GoldenError(f'has an unknown field "{name}"; known are {", ".join(_FIELDS)}')
    calls = [] if value.get("tool_calls") is None else value["tool_calls"]
    if not isinstance(calls, list):
        raise GoldenError('"tool_calls" is not a list')
    rest: dict[str, Any] = {name: value.get(name) for name in _FIELDS[2:]}
    for name, given in rest.items():
        wanted = int if name in _COUNTS else str
        if given is not None and (not isinstance(given, wanted) or isinstance(given, bool)):
            raise GoldenError(f'"{name}" is not {"a whole number" if wanted is int else "text"}')
    return Answer(_text(value.get("text"), "text"), tuple(map(_call, calls)), **rest)


def _of_choices(body: dict[str, Any]) -> Answer:
    choices = body["choices"]
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise GoldenError('is a response without a first choice: "choices" must hold an object')
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, dict):
        message = {"content": choice.get("text")}
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise GoldenError('the "tool_calls" of its message are not a list')
    text = _text(message.get("content"), "content") or _text(message.get("refusal"), "refusal")
    return _with_origin(body, text, tuple(map(_call, calls)), choice.get("finish_reason"))


def _of_response(body: dict[str, Any]) -> Answer:
    said: list[str] = []
    calls: list[ToolCall] = []
    for item in _objects(body["output"]):
        if item.get("type") == "message":
            parts = _objects(item.get("content"))
            said += [_text(part.get("text") or part.get("refusal"), "text") for part in parts]
        elif item.get("type") == "function_call":
            calls.append(_call(item))
    return _with_origin(body, "".join(said), tuple(calls), body.get("status"))


def _of_message(body: dict[str, Any]) -> Answer:
    blocks = list(_objects(body["content"]))
    said = "".join(_text(block.get("text"), "text") for block in blocks if block.get("type") == "text")
    calls = tuple(
        _call({"name": block.get("name"), "arguments": block.get("input") or {}})
        for block in blocks
        if block.get("type") == "tool_use"
    )
    return _with_origin(body, said, calls, body.get("stop_reason"))


def _with_origin(body: dict[str, Any], text: str, calls: tuple[ToolCall, ...], finish: Any) -> Answer:
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}

    def tokens(*names: str) -> int | None:
        return next((usage[name] for name in names if type(usage.get(name)) is int), None)

    def name(value: Any) -> str | None:
        return value if isinstance(value, str) else None

    return Answer(
        text,
        calls,
        model=name(body.get("model")),
        system_fingerprint=name(body.get("system_fingerprint")),
        finish_reason=name(finish),
        prompt_tokens=tokens("prompt_tokens", "input_tokens"),
        completion_tokens=tokens("completion_tokens", "output_tokens"),
    )


def _call(value: Any) -> ToolCall:
    """A call, as OpenAI writes it (under "function") or plainly."""
    call = value.get("function", value) if isinstance(value, dict) else None
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        raise GoldenError('has a call without a "name"; write {"name": "…", "arguments": {…}}')
    arguments = call.get("arguments", "{}")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(call["name"], arguments)


def _text(value: Any, name: str) -> str:
    """A string; what null and a list of parts amount to."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "".join(_text(part.get("text"), name) for part in _objects(value))
    if not isinstance(value, str):
        raise GoldenError(f'"{name}" is not text')
    return value


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())
