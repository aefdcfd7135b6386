"""Error answers in OpenAI's shape: mistakes of the caller and faults made on demand."""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

FAULT_HEADER: Final = b"x-simulate-error"
"""Request header that asks for a fault: a status from 400 to 599, or one of `CONNECTION_FAULTS`."""

CONNECTION_FAULTS: Final = ("reset", "cut", "stall")
"""Without an answer: reset the connection at once, in the middle of the answer, or never answer."""

_ON_DEMAND: Final = {
    400: ("invalid_request_error", "invalid_value", "The request was called invalid"),
    401: ("authentication_error", "invalid_api_key", "The API key was called wrong"),
    404: ("invalid_request_error", "model_not_found", "The model was called missing"),
    429: ("rate_limit_error", "rate_limit_exceeded", "The rate limit was called exceeded"),
    500: ("server_error", "internal_error", "The server was called broken"),
    503: ("server_error", "overloaded", "The server was called overloaded"),
}
_KEY_HEADER: Final = b"x-api-key"
"""Where clients in Anthropic's style put the key."""
_STATUS_RANGE: Final = range(400, 600)
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
        """Whether the request is to blame, not the server."""
        return self.status < _FIRST_SERVER_ERROR

    def body(self) -> bytes:
        """The JSON body: `{"error": {"message", "type", "param", "code"}}`."""
        error = {"message": str(self), "type": self.kind, "param": self.param, "code": self.code}
        return json.dumps({"error": error}).encode()

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Headers beside the content's: `retry-after` (seconds) where a client should come back."""
        return [(b"retry-after", b"1")] if self.status == _TOO_MANY_REQUESTS else []


def on_demand(status: int, cause: str) -> WireError:
    """The error answer of a status, made on purpose; `cause` says by what."""
    fallback = ("server_error" if status >= _FIRST_SERVER_ERROR else "invalid_request_error", None, "A fault")
    kind, code, message = _ON_DEMAND.get(status, fallback)
    return WireError(status, f"{message} on demand, by {cause}.", kind=kind, code=code)


def read_fault(headers: Iterable[tuple[bytes, bytes]]) -> str | WireError | None:
    """The fault that a request asks for: one of `CONNECTION_FAULTS`, an error answer, or none.

    Raises: WireError (400) if the header holds anything else.
    """
    for name, raw in headers:
        if name == FAULT_HEADER:
            value = raw.decode("latin-1").strip().lower()
            if value in CONNECTION_FAULTS:
                return value
            if value.isdecimal() and int(value) in _STATUS_RANGE:
                return on_demand(int(value), f"the header {FAULT_HEADER.decode()}")
            raise WireError(
                400,
                f"{FAULT_HEADER.decode()}: expected a status from 400 to 599 or one of "
                f"{', '.join(CONNECTION_FAULTS)}, got {value!r}",
                param=FAULT_HEADER.decode(),
            )
    return None


def check_key(key: str | None, headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Let a request pass if it carries the key, or if none is set.

    Raises: WireError (401).
    """
    if key is None:
        return
    sent = dict(headers)
    given = sent.get(b"authorization") or sent.get(_KEY_HEADER, b"")
    if not hmac.compare_digest(given.removeprefix(b"Bearer "), key.encode()):
        raise WireError(
            401,
            "Incorrect API key provided." if given else "You didn't provide an API key.",
            kind="authentication_error",
            code="invalid_api_key",
        )
