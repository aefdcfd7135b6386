"""What a request asks for, read from its body: what all APIs have in common."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from evenkeel.simulate.faults import WireError
from evenkeel.simulate.model import Form, Message

NO_FORM: Final = Form()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The parts of a request that matter here; all other parameters are ignored."""

    model: str
    messages: tuple[Message, ...]
    stream: bool
    include_usage: bool
    """Whether a stream ends with a chunk of token counts, where the API leaves that open."""
    tools: tuple[dict[str, Any], ...]
    """The offered functions with `name` and `parameters`; each has a name."""
    tool_choice: Any
    """None, "auto", "none", "required" or `{"function": {"name": …}}`."""
    form: Form = NO_FORM
    """The format that the parameters demand."""


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body.

    Raises: WireError (400) if it is none.
    """
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise WireError(400, f"The request body is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise WireError(400, "The request body must be a JSON object.")
    return raw


def read_model(raw: dict[str, Any]) -> str:
    """The requested model.

    Raises: WireError (400) if there is none.
    """
    model = raw.get("model")
    if not isinstance(model, str) or not model:
        raise WireError(400, "you must provide a model parameter", param="model")
    return model


def wants_usage(raw: dict[str, Any]) -> bool:
    """Whether a stream shall end with token counts: `stream_options` of chats and completions.

    Raises: WireError (400) if the options are no object.
    """
    options = raw.get("stream_options") or {}
    if not isinstance(options, dict):
        raise WireError(400, "stream_options must be an object.", param="stream_options")
    return bool(options.get("include_usage"))


def read_messages(raw: object, param: str = "messages") -> tuple[Message, ...]:
    """A list of messages with a role and a content of text or parts.

    Raises: WireError (400) that names the message at fault.
    """
    if raw is None:
        raise WireError(400, f"Missing required parameter: '{param}'.", param=param, code="missing_required")
    if not isinstance(raw, list) or not raw:
        raise WireError(400, f"{param} must be a list of at least one message.", param=param)
    return tuple(_read_message(f"{param}[{index}]", item) for index, item in enumerate(raw))


def read_text(content: object, where: str) -> str:
    """All text of a content: a string, or a list of parts of which others than text don't count.

    Raises: WireError (400) for anything else.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise WireError(400, f"{where} must be a string or a list of parts.", param=where)
    return "\n".join(
        part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


def read_tools(raw: object, functions: list[Any] | None = None) -> tuple[dict[str, Any], ...]:
    """The offered functions.

    Args:
        raw: `tools` as sent.
        functions: What of each tool holds its name; None = the tools themselves.

    Raises: WireError (400) if `tools` is no list or a function has no name.
    """
    if raw is None:
        return ()
    if not isinstance(raw, list):
        raise WireError(400, "tools must be a list.", param="tools")
    found = raw if functions is None else functions
    for index, function in enumerate(found):
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise WireError(400, f"tools[{index}] must hold a function with a name.", param=f"tools[{index}]")
    return tuple(found)


def read_form(raw: object) -> Form:
    """The form that a `{"type": "json_object"}` or `{"type": "json_schema", "schema": …}` demands."""
    if not isinstance(raw, dict):
        return NO_FORM
    schema = raw.get("schema")
    match raw.get("type"):
        case "json_object":
            return Form("json")
        case "json_schema":
            return Form("json", schema if isinstance(schema, dict) else None)
        case _:
            return NO_FORM


def _read_message(where: str, raw: Any) -> Message:
    if not isinstance(raw, dict) or not isinstance(raw.get("role"), str):
        raise WireError(400, f"{where} must be an object with a role.", param=where)
    return Message(raw["role"], read_text(raw.get("content"), f"{where}.content"))
