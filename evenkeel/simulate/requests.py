"""Requests of clients, read from their bodies, and error answers in OpenAI's shape."""

from __future__ import annotations

import hmac
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenkeel.simulate.model import PromptMessage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.pair import Format


# Header in which clients in Anthropic's style put the key.
_KEY_HEADER: Final = b"x-api-key"
_FIRST_SERVER_ERROR: Final = 500
_TOO_MANY_REQUESTS: Final = 429


class WireError(Exception):
    """An error answer. Its text is the message that the client reads."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.code = code
        self.param = param

    @property
    def is_callers(self) -> bool:
        """Return whether the request is to blame, not the server."""
        return self.status < _FIRST_SERVER_ERROR

    def body(self) -> bytes:
        """The JSON body: `{"error": {"message", "type", "param", "code"}}`."""
        error = {"message": str(self), "type": self.kind, "param": self.param, "code": self.code}
        return json.dumps({"error": error}).encode()

    def headers(self) -> dict[str, str]:
        """Headers beside the content's: `retry-after` (seconds) where a client should come back."""
        return {"retry-after": "1"} if self.status == _TOO_MANY_REQUESTS else {}


def check_key(key: str | None, headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Let a request pass if it carries the key, or if none is set.

    Raises: WireError (401).
    """
    if key is None:
        return
    sent = dict(headers)
    presented = sent.get(b"authorization") or sent.get(_KEY_HEADER, b"")
    # In constant time, as in a server that has something to protect: clients are tested against it.
    if not hmac.compare_digest(presented.removeprefix(b"Bearer "), key.encode()):
        raise WireError(
            401,
            "Incorrect API key provided." if presented else "You didn't provide an API key.",
            kind="authentication_error",
            code="invalid_api_key",
        )


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Parts of a request that matter here; all others are ignored, tools among them."""

    model: str
    messages: tuple[PromptMessage, ...]
    stream: bool
    include_usage: bool
    """True if a stream ends with a chunk of token counts, where the API leaves that open."""
    form: Format | None = None
    """Format that the parameters demand; None = the words of the prompt decide."""
    temperature: float | None = None
    """None = not stated."""
    flex: bool = False
    """True if the flex tier is asked for."""


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


def read_temperature(raw: dict[str, Any]) -> float | None:
    """The temperature that a request states, None if it states none.

    Raises: WireError (400) if it is no number.
    """
    temperature = raw.get("temperature")
    if temperature is not None and (
        isinstance(temperature, bool) or not isinstance(temperature, int | float)
    ):
        raise WireError(400, "temperature must be a number.", param="temperature")
    return temperature


def wants_usage(raw: dict[str, Any]) -> bool:
    """Return whether a stream is to end with token counts: `stream_options` of chats and completions.

    Raises: WireError (400) if the options are no object.
    """
    options = raw.get("stream_options") or {}
    if not isinstance(options, dict):
        raise WireError(400, "stream_options must be an object.", param="stream_options")
    return bool(options.get("include_usage"))


def read_messages(raw: object) -> tuple[PromptMessage, ...]:
    """A list of messages with a role and a content of text or parts.

    Raises: WireError (400) that names the message at fault.
    """
    if raw is None:
        raise WireError(
            400, "Missing required parameter: 'messages'.", param="messages", code="missing_required"
        )
    if not isinstance(raw, list) or not raw:
        raise WireError(400, "messages must be a list of at least one message.", param="messages")
    messages: list[PromptMessage] = []
    for index, item in enumerate(raw):
        messages.append(_read_message(f"messages[{index}]", item))
    return tuple(messages)


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
    texts = []
    for part in content:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
    return "\n".join(texts)


def read_form(raw: object) -> Format | None:
    """Return the format that a `{"type": "json_object"}` or `{"type": "json_schema", …}` demands."""
    demands_json = isinstance(raw, dict) and raw.get("type") in ("json_object", "json_schema")
    return "json" if demands_json else None


def _read_message(where: str, raw: Any) -> PromptMessage:
    if not isinstance(raw, dict) or not isinstance(raw.get("role"), str):
        raise WireError(400, f"{where} must be an object with a role.", param=where)
    return PromptMessage(raw["role"], read_text(raw.get("content"), f"{where}.content"))
