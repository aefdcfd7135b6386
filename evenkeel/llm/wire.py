"""Requests to models on the wire: each is sent once, and its answer is bounded in time and in size."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx2

from evenkeel.core import network
from evenkeel.core.calls import explained
from evenkeel.llm.encodings import MAX_DECODED_BYTES, UnreadableBody, decode_body

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping, Sequence

FLEX_TIMES: Final = 5
"""Times as long an answer of the flex tier may take."""
# Faults before the request left, so that it cost nothing.
_NEVER_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
_NAMES: Final = ("content-type", "content-encoding")
_FIRST_REDIRECTION: Final = 300
_FIRST_ERROR_STATUS: Final = 400
_FIRST_SERVER_ERROR: Final = 500
_TIMED_OUT: Final = 408
# A larger body is no error message.
_ERROR_BYTES: Final = 65_536
# An error that a gateway writes as an event of a stream, whatever the status.
_ERROR_EVENT: Final = re.compile(r"^(?:data|error): ?(\{.*\})\s*$", re.MULTILINE)
# Errors within errors, as gateways wrap those of their providers.
_DEEPEST_ERROR: Final = 4


@dataclass(frozen=True, slots=True)
class RawResponse:
    """A response, its body as it came, still compressed."""

    status: int
    headers: httpx2.Headers
    raw: bytes
    first_s: float | None = None
    """Seconds from sending the request to the first piece of the body; None without a body."""

    @property
    def content_headers(self) -> dict[str, str]:
        """The headers that say how the body is to be read."""
        headers = {}
        for name in _NAMES:
            headers[name] = self.headers.get(name, "")
        return headers

    def body(self, most_bytes: int = MAX_DECODED_BYTES) -> bytes:
        """The body with its encodings undone. Raises: UnreadableBody."""
        return decode_body(self.content_headers, self.raw, most_bytes)

    @property
    def is_success(self) -> bool:
        """True if it is neither an error nor a redirection, which nothing follows."""
        return self.status < _FIRST_REDIRECTION

    @property
    def is_free(self) -> bool:
        """True if it certainly cost nothing; a server may fail, or give up, when the work is done."""
        return _FIRST_ERROR_STATUS <= self.status < _FIRST_SERVER_ERROR and self.status != _TIMED_OUT

    def error(self) -> Mapping[str, Any]:
        """The members of an error body, {} if it is none that is known.

        Bodies as OpenAI, Azure, Anthropic, Mistral, vLLM, Ollama, TGI, FastAPI, Gemini, Cohere, Bedrock,
        OpenRouter, Hugging Face, Cloudflare and MiniMax write them are, also as an event, and a sentence
        alone.
        """
        try:
            body = self.body(_ERROR_BYTES)
        except UnreadableBody:
            return {}
        text = body.decode("utf-8", "replace").strip()
        event = _ERROR_EVENT.search(text)
        try:
            inner = json.loads(event[1] if event else text)
        except (ValueError, RecursionError):
            # A page of a proxy is for browsers, and half a JSON text is for nobody.
            return {} if text.startswith(("<", "[", "{")) else {"message": text}
        for _ in range(_DEEPEST_ERROR):
            if isinstance(inner, list) and inner:
                inner = inner[0]
            if not isinstance(inner, dict):
                break
            wrapped = inner.get("error") or inner.get("errors") or inner.get("base_resp")
            # FastAPI's is a sentence or a list of faults as a rule, which belong to the error itself.
            detail = inner.get("detail")
            wrapped = wrapped or (detail if isinstance(detail, dict) else None)
            # Spring, NestJS and Fastify name the status there, and say beside it what is wrong.
            if not wrapped or (isinstance(wrapped, str) and isinstance(inner.get("message"), str)):
                break
            inner = wrapped
        if isinstance(inner, str):
            return {"message": inner}
        return inner if isinstance(inner, dict) else {}


@dataclass(frozen=True, slots=True)
class MissingResponse:
    """A request without a response."""

    reason: str
    """"timeout", "connection", or as `UnreadableBody` has it."""
    detail: str
    """A sentence for people."""
    arrived: bool = True
    """False if it certainly never reached the server."""

    @property
    def is_free(self) -> bool:
        """True if it certainly cost nothing."""
        return not self.arrived


class Wire:
    """Connections to servers, over TCP or a Unix socket. Nothing is redirected, and nothing sent again."""

    def __init__(
        self,
        *,
        connections: int | None = None,
        headers: Mapping[str, str] | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Connect to nobody yet.

        `connections` limits those to all servers together; None = any number. `transport` takes the place of
        the network.
        """
        self._limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._headers = dict(headers or {})
        self._trust: ssl.SSLContext | None = None
        self._transport = transport
        # Clients by Unix socket, which is None for TCP, and by proxy.
        self._clients: dict[tuple[str | None, network.ProxyServer | None], httpx2.AsyncClient] = {}

    async def close(self) -> None:
        """Close the connections. Requests under way fail."""
        for client in self._clients.values():
            await client.aclose()

    async def post(
        self,
        url: str,
        body: bytes,
        headers: Sequence[tuple[str, str]],
        timeout_s: float,
        *,
        unix_path: str | None = None,
    ) -> RawResponse | MissingResponse:
        """Send a JSON request once, over a Unix socket if one is named.

        `timeout_s` limits all of it: the client's own limits are between two bytes, so an answer that
        trickles would never end.
        """
        try:
            client = self._client(url, unix_path)
            async with asyncio.timeout(timeout_s):
                request = client.stream(
                    "POST",
                    url,
                    content=body,
                    headers=[("content-type", "application/json"), *headers],
                    timeout=timeout_s,
                )
                started = time.monotonic()
                async with request as response:
                    return await _received(response, started)
        except (httpx2.TimeoutException, TimeoutError) as error:
            detail = f"no answer in time ({type(error).__name__})"
            return MissingResponse("timeout", detail, not isinstance(error, _NEVER_SENT))
        except UnreadableBody as error:
            return MissingResponse(error.reason, error.detail)
        except network.NetworkError as error:
            return MissingResponse("connection", str(error), arrived=False)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            detail = f"{type(error).__name__}: {explained(error) or error}"
            return MissingResponse("connection", detail, not isinstance(error, _NEVER_SENT))

    def _client(self, url: str, unix_path: str | None) -> httpx2.AsyncClient:
        """Return the client for a URL. Raises: NetworkError."""
        # A socket on this machine is never behind a proxy.
        proxy = None if unix_path else network.proxy_of(url)
        client = self._clients.get((unix_path, proxy))
        if client is None:
            self._trust = self._trust or network.trust()
            transport = self._transport
            if transport is None and unix_path:
                transport = httpx2.AsyncHTTPTransport(uds=unix_path, limits=self._limits, trust_env=False)
            client = self._clients[unix_path, proxy] = httpx2.AsyncClient(
                verify=self._trust,
                transport=transport,
                proxy=proxy.url if proxy and transport is None else None,
                limits=self._limits,
                headers={**dict(network.fixed_headers()), **self._headers},
                follow_redirects=False,
                trust_env=False,
            )
        return client


async def _received(response: httpx2.Response, started: float) -> RawResponse:
    """Read a response, whose compression the client would undo without a limit.

    Raises: UnreadableBody "too_large".
    """
    pieces: list[bytes] = []
    room = MAX_DECODED_BYTES
    first_s: float | None = None
    async for piece in response.aiter_raw():
        if first_s is None:
            first_s = time.monotonic() - started
        room -= len(piece)
        if room < 0:
            raise UnreadableBody("too_large", f"the answer is larger than {MAX_DECODED_BYTES} bytes")
        pieces.append(piece)
    return RawResponse(response.status_code, response.headers, b"".join(pieces), first_s)
