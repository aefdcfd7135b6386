"""The SDK: its client, which reads no answer beyond a limit, and what its errors and replies mean.

An HTTP client undoes compression as fast as it comes, and a few kilobytes can stand for gigabytes. So none is
asked for; where a server compresses all the same, gzip and deflate are undone here, up to the limit.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import httpx2
import openai

from evenkeel.llm.faults import Fault, about_request, asked_pause_s, has_no_room

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openai.types.chat import ChatCompletion

Vector = Sequence[float]

LARGEST_ANSWER_BYTES: Final = 16 << 20
"""Of one answer, compressed or not. The longest honest ones are batches of embeddings: some 2 MB."""
_WINDOWS: Final = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


class OversizedAnswer(Exception):  # noqa: N818 - named as the outcome it is
    """An answer that is larger than any honest one, or in an encoding that cannot be bounded."""


class BoundedTransport(httpx2.AsyncBaseTransport):
    """A transport that reads no more of an answer than a limit, before and after its compression."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, *, limit_bytes: int = LARGEST_ANSWER_BYTES) -> None:
        """Wrap a transport.

        Args:
            inner: Does the requests.
            limit_bytes: Largest body that is read.
        """
        self._inner = inner
        self._limit_bytes = limit_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, whose body raises `OversizedAnswer` while it is read if it grows too large."""
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        encoding = response.headers.get("content-encoding", "identity").strip().lower() or "identity"
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if encoding != "identity":
            if encoding not in _WINDOWS:
                await response.stream.aclose()
                raise OversizedAnswer(
                    f"The endpoint compresses its answer with {encoding[:40]!r}, which it was not asked for."
                )
            del response.headers["content-encoding"]
            response.headers.pop("content-length", None)
        response.stream = _BoundedStream(response.stream, self._limit_bytes, _WINDOWS.get(encoding))
        return response

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, limit_bytes: int, window: int | None) -> None:
        self._inner = inner
        self._limit_bytes = limit_bytes
        self._decoder: Any = None if window is None else zlib.decompressobj(window)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = decoded = 0
        async for raw in self._inner:
            received += len(raw)
            chunk = self._decoded(raw, self._limit_bytes - decoded + 1)
            decoded += len(chunk)
            if max(received, decoded) > self._limit_bytes:
                raise OversizedAnswer(f"The endpoint's answer is larger than {self._limit_bytes} bytes.")
            yield chunk

    def _decoded(self, raw: bytes, room: int) -> bytes:
        if self._decoder is None:
            return raw
        try:
            chunk: bytes = self._decoder.decompress(raw, room)
        except zlib.error as error:
            raise OversizedAnswer("The endpoint's compressed answer cannot be undone.") from error
        return chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def bounded_sdk(base_url: str, api_key: str, timeout_s: float) -> openai.AsyncOpenAI:
    """The SDK's client, which reads no answer beyond the limit and retries nothing by itself.

    The SDK falls back to an environment variable for a key of None and insists on some value. It must not
    retry: nobody else would learn of a 429, and calls would not be paid for.
    """
    client = openai.DefaultAsyncHttpxClient(
        base_url=base_url,
        timeout=timeout_s,
        follow_redirects=False,  # prompts are for the endpoint that is named, and a call is paid for once
    )
    # A transport that is handed in would make the client forget the proxies that the environment names.
    client._transport = BoundedTransport(client._transport)  # noqa: SLF001
    client._mounts = {  # noqa: SLF001
        pattern: inner and BoundedTransport(inner)
        for pattern, inner in client._mounts.items()  # noqa: SLF001
    }
    return openai.AsyncOpenAI(
        base_url=base_url, api_key=api_key or "none", timeout=timeout_s, max_retries=0, http_client=client
    )


_REASONS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (openai.APITimeoutError, "timeout"),
    (openai.APIConnectionError, "connection"),
    (openai.AuthenticationError, "unauthorized"),
    (openai.PermissionDeniedError, "unauthorized"),
    (openai.RateLimitError, "rate_limited"),
    (openai.InternalServerError, "server_error"),
    (openai.APIStatusError, "bad_request"),
)
"""First match wins: a timeout is a connection error to the SDK, and everything is a status error."""
_DETAIL_CHARS: Final = 300
_TOO_MANY: Final = 429
_TIMED_OUT: Final = 408
_NEVER_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_PASSING_STATUS: Final = frozenset({_TIMED_OUT, 409, _TOO_MANY})
_FIRST_ERROR: Final = 400
_SERVER_ERROR: Final = 500
_LIMITS: Final = ("max_tokens", "max_completion_tokens", "in the completion")
"""Parameters that can be left out: a complaint about one is not about the question."""


def fault_of(error: Exception, api_key: str) -> Fault:
    """What an error of the SDK means; its detail never holds the key.

    What the SDK raises beyond its own errors is an unreadable body: "bad_schema".
    """
    if isinstance(error.__cause__, OversizedAnswer):
        return Fault("bad_schema", str(error.__cause__))
    reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), "bad_schema")
    detail = " ".join(f"{type(error).__name__}: {error}".split())
    if api_key:
        detail = detail.replace(api_key, "***")
    # Servers repeat parts of the key in this message.
    detail = "The endpoint rejected the key." if reason == "unauthorized" else detail[:_DETAIL_CHARS]
    if isinstance(error, openai.APIConnectionError):
        return Fault(reason, detail, passing=True, unbilled=isinstance(error.__cause__, _NEVER_SENT))
    if not isinstance(error, openai.APIStatusError):
        return Fault(reason, detail)
    if error.status_code < _SERVER_ERROR and not _about_limit(error) and (own := _own_reason(error)):
        detail = detail if reason != "unauthorized" else "The endpoint refuses it."
        return Fault(own, detail, unbilled=error.status_code != _TIMED_OUT)
    headers = error.response.headers
    asked = asked_pause_s(headers)
    passing = error.status_code in _PASSING_STATUS or error.status_code >= _SERVER_ERROR
    # Some servers say themselves whether a repetition makes sense; the SDK heeds it as well.
    advised = headers.get("x-should-retry")
    passing = advised == "true" if advised in {"true", "false"} else passing
    rejected = isinstance(error, (openai.BadRequestError, openai.UnprocessableEntityError))
    return Fault(
        reason,
        detail,
        passing,
        throttled=error.status_code == _TOO_MANY or (passing and asked is not None),
        asked_pause_s=asked,
        unbilled=_FIRST_ERROR <= error.status_code < _SERVER_ERROR and error.status_code != _TIMED_OUT,
        complaint=str(error) if rejected else "",
        no_room=has_no_room(error.status_code, f"{error.code} {error}"),
    )


def _about_limit(error: openai.APIStatusError) -> bool:
    """Whether the endpoint says that the longest reply asked for is too long."""
    said = str(error)
    return error.param in _LIMITS or any(name in said for name in _LIMITS)


def _own_reason(error: openai.APIStatusError) -> str | None:
    """Why this one request is refused, if the endpoint says that another one would not be."""
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("innererror")
    further = inner.get("code") if isinstance(inner, dict) else None
    return about_request(error.status_code, (error.code, error.type, further), str(error))


def text_of(completion: ChatCompletion) -> str | Fault:
    """The text of a completion's first choice.

    A reply that was cut off at a limit of tokens is "truncated", even if what is there can be read. The
    SDK builds its objects without checking them, so any field can be missing or odd.
    """
    choices = completion.choices
    if not isinstance(choices, list) or not choices or getattr(choices[0], "message", None) is None:
        return Fault("bad_schema", "The completion has no message.")
    message, finish = choices[0].message, choices[0].finish_reason
    if message.refusal or finish == "content_filter":
        return Fault("refused", "The model declined.")
    if finish == "length":
        return Fault("truncated", "The reply was cut off at a limit of tokens.")
    content: object = message.content
    if content is not None and not isinstance(content, str):
        return Fault("bad_schema", "The message is not text.")
    return content or ""


def vectors_of(reply: object, texts: int) -> list[Vector]:
    """The vectors in the texts' order. The SDK does not check its objects: any field can be missing or odd.

    Raises:
        ValueError: They cannot be used; the message says why.
    """
    data = getattr(reply, "data", None)
    if not isinstance(data, list) or len(data) != texts:
        raise ValueError("The endpoint's reply has not one vector for each text.")
    by_index: dict[object, object] = {
        getattr(item, "index", None): getattr(item, "embedding", None) for item in data
    }
    vectors = [_checked(by_index.get(index)) for index in range(texts)]
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError("The vectors of one reply have different lengths.")
    return vectors


def _checked(vector: object) -> Vector:
    if not isinstance(vector, list) or not all(isinstance(x, (int, float)) for x in vector):
        raise ValueError("An embedding is not a list of numbers.")
    if not math.isfinite(math.hypot(*vector)) or not any(vector):
        raise ValueError("An embedding is empty, not finite, or zero.")
    return vector
