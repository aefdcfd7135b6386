"""Calls to one endpoint: in turn, at its pace, again where that may help, not at all while it is down.

Answers of model endpoints, read as far as they may grow.

An HTTP client undoes compression as fast as it comes, and a few kilobytes can stand for gigabytes. So none is
asked for; where an endpoint compresses all the same, gzip and deflate are undone here, up to the limit.
"""

from __future__ import annotations

import asyncio
import zlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

import httpx2
import openai

from evenkeel.llm.faults import UNHEALTHY, Fault, OversizedAnswer, pause_s
from evenkeel.llm.limits import Breaker, RateLimits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


T = TypeVar("T")


class _Got(NamedTuple, Generic[T]):
    """What the attempts at one call came to."""

    outcome: T | Fault
    asked: bool = True
    """Whether the endpoint was asked at all, so that the breaker should know."""


class Calls:
    """Makes calls, at most `concurrency` at once.

    A fault that may pass is tried again after a growing pause; one that throttles makes all callers
    wait, as long as the endpoint says. Belongs to one event loop.
    """

    def __init__(
        self,
        *,
        concurrency: int = 4,
        max_retries: int = 2,
        breaker: Breaker | None = None,
        limits: RateLimits | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Set the pace; nothing is sent.

        Args:
            concurrency: Calls under way at the same time.
            max_retries: Attempts after the first, with growing pauses.
            breaker: Default: opens for 30 s after five failures in a row.
            limits: Requests and tokens a minute. Default: none but what `Retry-After` asks for.
            sleep: Waits so many seconds between attempts of one call.
        """
        self.limits = limits or RateLimits()
        self._slots = asyncio.Semaphore(concurrency)
        self._max_retries = max_retries
        self._breaker = breaker or Breaker()
        self._sleep = sleep

    async def make(
        self, send: Callable[[int], Awaitable[T | Fault]], expected_tokens: Callable[[], int]
    ) -> T | Fault:
        """Queue, send, and send again while that may help; the breaker learns how it ended.

        Args:
            send: Makes one attempt; told how many tokens were taken from the limits for it.
            expected_tokens: How many an attempt needs at most, as far as is known by then.

        Returns: what was sent for, or the last attempt's fault. Its reason is "rate_limited" also if
            nothing was sent because that would have meant to wait for longer than the limits allow,
            and "circuit_open" if nothing was sent because the endpoint kept failing.
        """
        got = await self._attempts(send, expected_tokens)
        if got.asked:
            self._breaker.record(ok=not isinstance(got.outcome, Fault) or got.outcome.reason not in UNHEALTHY)
        return got.outcome

    async def _attempts(
        self, send: Callable[[int], Awaitable[T | Fault]], expected_tokens: Callable[[], int]
    ) -> _Got[T]:
        patience_s = self.limits.longest_wait_s
        got: _Got[T] | None = None
        allowed = False
        try:
            for attempt in range(self._max_retries + 1):
                expected = expected_tokens()
                if not self.limits.line_up(expected, patience_s):
                    return got or _Got(self._impatient(), asked=False)
                async with self._turn(expected):
                    waited_s = await self.limits.admit(expected, patience_s)
                    if waited_s is None:
                        # An endpoint that wants such a pause is out of order, as the breaker shall know.
                        return got or _Got(self._impatient())
                    patience_s -= waited_s
                    # Asked behind the queue, so that calls that waited while it opened are held back too.
                    if not allowed and not self._breaker.allow():
                        left_alone = "The endpoint failed repeatedly; it is left alone."
                        return _Got(Fault("circuit_open", left_alone), asked=False)
                    allowed = True
                    got = _Got(await send(expected))
                if not isinstance(got.outcome, Fault):
                    return got
                await self._after(got.outcome, attempt)
                if not got.outcome.passing:
                    return got
        except BaseException:
            if allowed:
                # A trial call that was cancelled tells nothing: the next call may try again soon.
                self._breaker.abandon()
            raise
        assert got is not None
        return got

    @asynccontextmanager
    async def _turn(self, expected: int) -> AsyncIterator[None]:
        """One of the places for calls under way, for one who stood in line."""
        try:
            await self._slots.acquire()
        finally:
            self.limits.step_out(expected)
        try:
            yield
        finally:
            self._slots.release()

    async def _after(self, fault: Fault, attempt: int) -> None:
        """Wait before the next attempt, with all others if the endpoint wants fewer calls."""
        asked_s = fault.asked_pause_s
        wait_s = pause_s(attempt) if asked_s is None else asked_s
        if fault.throttled:
            self.limits.pause(wait_s)
        elif fault.passing and attempt < self._max_retries:
            await self._sleep(wait_s)

    def _impatient(self) -> Fault:
        limit_s = self.limits.longest_wait_s
        return Fault("rate_limited", f"Not asked: it would have had to wait for more than {limit_s:g} s.")


LARGEST_ANSWER_BYTES: Final = 16 << 20
"""Of one answer, compressed or not. The longest honest ones are batches of embeddings: some 2 MB."""
_WINDOWS: Final = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


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
