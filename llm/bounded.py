"""Answers of model endpoints, read as far as they may grow.

An HTTP client undoes compression as fast as it comes, and a few kilobytes can stand for gigabytes. So none is
asked for; where an endpoint compresses all the same, gzip and deflate are undone here, up to the limit.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

import httpx2
import openai

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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


def bounded_client(*, base_url: str, api_key: str, timeout_s: float) -> openai.AsyncOpenAI:
    """The SDK's client, which reads no answer beyond the limit and retries nothing by itself.

    The SDK falls back to an environment variable for a key of None and insists on some value. It must not
    retry: nobody else would learn of a 429, and calls would not be paid for.

    Args:
        base_url: Up to and including the version.
        api_key: "" for endpoints that need none.
        timeout_s: Of each silence.
    """
    client = openai.DefaultAsyncHttpxClient(base_url=base_url, timeout=timeout_s)
    # A transport that is handed in would make the client forget the proxies that the environment names.
    client._transport = BoundedTransport(client._transport)  # noqa: SLF001
    client._mounts = {  # noqa: SLF001
        pattern: inner and BoundedTransport(inner)
        for pattern, inner in client._mounts.items()  # noqa: SLF001
    }
    return openai.AsyncOpenAI(
        base_url=base_url, api_key=api_key or "none", timeout=timeout_s, max_retries=0, http_client=client
    )
