"""Clients that behave like OpenAI's library, with keep-alive connections to several proxies.

Every answer is checked in full. A client stays with one proxy. If that refuses it or cuts its connection, it
turns to the next one and sends the request once more. All cuts are recorded with the request.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from benchmarks.chaos.upstream import ID_HEADER
from evenkeel.simulate import make_case, summary_prompt

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

Outcome = Literal["answered", "fault passed on", "left on purpose", "failed"]

_CLIENTS: Final = 64
_PATIENCE_S: Final = 60.0  # longest wait for an answer
_PAUSE_S: Final = 0.05  # before another attempt, after a proxy refused a connection
_SENDINGS: Final = 3  # times that a client sends a request at most, as OpenAI's library does
# Shares of the requests that ask for a stream, and whose client leaves within the answer.
_STREAMS: Final = 0.4
_LEAVERS: Final = 0.03
_OK: Final = 200
_EVENT: Final = b"data: "
_LAST_EVENT: Final = b"data: [DONE]"


class ProxyAddress(NamedTuple):
    """Address of a proxy."""

    name: str
    host: str
    port: int


class Cut(NamedTuple):
    """A connection that was refused, or that ended before the answer on it was complete."""

    proxy: str
    at: float
    """Unix time in seconds."""
    what: str
    """`refused`, `before the answer` or `within the answer`."""
    reused: bool
    """True if the connection had served a request before."""


@dataclass(slots=True)
class Request:
    """A request with its outcome."""

    id: str
    fault: str | None
    """Fault that it asks the simulated model for."""
    stream: bool
    leaves: bool
    """True if the client leaves within the answer."""
    began: float = 0.0
    ended: float = 0.0
    proxy: str = ""
    """Proxy that answered."""
    status: int = 0
    outcome: Outcome = "failed"
    detail: str = ""
    cuts: list[Cut] = field(default_factory=list)


class _CutError(Exception):
    """The connection ended too soon."""


class _LeftError(Exception):
    """The client left on purpose."""


class SimulatedClients:
    """Clients that send requests at a bounded rate until they are stopped."""

    def __init__(
        self, proxies: Sequence[ProxyAddress], rng: random.Random, *, rate: float, faults: float = 0.04
    ) -> None:
        """Prepare the clients.

        Args:
            proxies: The proxies that clients may use; the list can be changed while they run.
            rng: Source of all random choices.
            rate: Requests per second of all clients together.
            faults: Share of the requests that ask the model for a fault.
        """
        self.proxies = list(proxies)
        self.requests: list[Request] = []
        self.stop = asyncio.Event()
        self._rng = rng
        self._rate = rate
        self._faults = faults

    async def run(self) -> None:
        """Send requests until `stop` is set; then every client finishes its request."""
        async with asyncio.TaskGroup() as group:
            for number in range(_CLIENTS):
                group.create_task(self._client(number))

    def tally(self) -> str:
        """Summarize the requests in one line."""
        failed = cuts = 0
        for request in self.requests:
            failed += request.outcome == "failed" and request.ended > 0
            cuts += len(request.cuts)
        return f"{len(self.requests)} requests, {cuts} connections cut, {failed} failed"

    async def _client(self, number: int) -> None:
        connection = _KeepAliveConnection()
        # The place of the current proxy in the list, modulo the length of the list.
        turn = number
        try:
            while not self.stop.is_set():
                pause_s = self._rng.expovariate(self._rate / _CLIENTS)
                with contextlib.suppress(TimeoutError):
                    # Without a stop, the wait times out after the pause.
                    await asyncio.wait_for(self.stop.wait(), pause_s)
                    return
                request, body = self._next()
                self.requests.append(request)
                turn = await self._send(connection, request, body, turn)
        finally:
            connection.close()

    def _next(self) -> tuple[Request, bytes]:
        rng = self._rng
        fault = None
        if rng.random() < self._faults:
            fault = rng.choice(("500", "429", "503", "reset", "cut"))
        number = f"{len(self.requests):07d}"
        request = Request(number, fault, rng.random() < _STREAMS, rng.random() < _LEAVERS)
        text = summary_prompt(make_case(rng.getrandbits(48)))
        body = {
            "model": "simulated-1",
            "stream": request.stream,
            "messages": [{"role": "user", "content": text}],
        }
        return request, json.dumps(body).encode()

    async def _send(self, connection: _KeepAliveConnection, request: Request, body: bytes, turn: int) -> int:
        """Send a request until it is answered; return the turn of the proxy to use next."""
        request.began = time.time()
        for _ in range(_SENDINGS * len(self.proxies)):
            proxy = self.proxies[turn % len(self.proxies)]
            reused = connection.serves(proxy)
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    await connection.exchange(proxy, request, body)
            except _LeftError:
                request.outcome = "left on purpose"
                break
            except (OSError, _CutError, TimeoutError) as error:
                what = "no answer in time" if isinstance(error, TimeoutError) else connection.progress
                connection.close()
                if request.fault in {"reset", "cut"} and what != "refused":
                    request.outcome = "fault passed on"
                    request.detail = what
                    break
                request.cuts.append(Cut(proxy.name, time.time(), what, reused))
                turn += 1
                if what in {"within the answer", "no answer in time"}:
                    request.detail = f"{what} of {proxy.name}"
                    break
                await asyncio.sleep(_PAUSE_S if what == "refused" else 0)
                if sum(cut.what != "refused" for cut in request.cuts) >= _SENDINGS:
                    break
            else:
                request.proxy = proxy.name
                break
        request.ended = time.time()
        return turn


class _KeepAliveConnection:
    """Connection of a client, which it opens again when needed."""

    def __init__(self) -> None:
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._proxy = ""
        self.progress = "refused"
        """Stage of the current request that a cut would name."""

    def serves(self, proxy: ProxyAddress) -> bool:
        """Return True if it is still open to this proxy, as far as the client can know."""
        reader = self._reader
        return (
            reader is not None
            and self._proxy == proxy.name
            and not reader.at_eof()
            and reader.exception() is None
        )

    def close(self) -> None:
        """Close it if it is open."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def exchange(self, proxy: ProxyAddress, request: Request, body: bytes) -> None:
        """Send a request, read its answer, and note the outcome in the request.

        Raises: OSError or _CutError if the connection ends too soon, _LeftError if the client leaves.
        """
        if not self.serves(proxy):
            self.close()  # the proxy closed it while it was idle: no request was on it
        self.progress = "refused"
        if self._reader is None:
            self._reader, self._writer = await asyncio.open_connection(proxy.host, proxy.port, limit=1 << 22)
            self._proxy = proxy.name
        reader, writer = self._reader, self._writer
        assert writer is not None
        self.progress = "before the answer"
        fault = f"x-chaos-fault: {request.fault}\r\n" if request.fault else ""
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: {proxy.host}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer sk-chaos\r\n{ID_HEADER}: {request.id}\r\n"
            f"x-evenkeel-session: {request.id}\r\n{fault}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            self.progress = "within the answer"
            headers = {}
            for line in lines[1:]:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            status = int(lines[0].split()[1])
            if request.leaves and request.stream and status == _OK:
                await reader.readuntil(_EVENT)
                self.close()
                raise _LeftError
            answer = await _body(reader, headers)
        except asyncio.IncompleteReadError as error:
            raise _CutError from error
        if headers.get("connection", "").lower() == "close":
            self.close()
        _check(request, status, answer)


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    pieces: list[bytes] = []
    while True:
        size = int(await reader.readuntil(b"\r\n"), 16)
        pieces.append((await reader.readexactly(size + 2))[:-2])
        if not size:
            return b"".join(pieces)


def _check(request: Request, status: int, answer: bytes) -> None:
    """Check an answer that arrived in full, and note the outcome in its request."""
    request.status = status
    if request.fault is not None and request.fault.isdecimal() and status == int(request.fault):
        request.outcome = "fault passed on"
    elif status != _OK:
        request.detail = f"{status} {answer[:200].decode(errors='replace')}"
        if request.fault is not None:
            request.outcome = "fault passed on"  # a reset before the answer is a 502 for the client
    elif request.stream and not answer.rstrip().endswith(_LAST_EVENT):
        request.detail = "a stream without its last event"
    elif not request.stream and not json.loads(answer).get("choices"):
        request.detail = "an answer without choices"
    else:
        request.outcome = "answered"
