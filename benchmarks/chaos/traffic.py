"""Clients in OpenAI's shape: keep-alive connections to several proxies, each answer looked at in full.

A client keeps to one proxy and turns to the next one when that refuses it or cuts its connection, and
then sends the request once more, as OpenAI's library does. What was cut is noted with the request.
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

_PATIENCE_S: Final = 60.0
_PAUSE_S: Final = 0.05
_SENDINGS: Final = 3
_OK: Final = 200
_EVENT: Final = b"data: "
_LAST_EVENT: Final = b"data: [DONE]"


class Door(NamedTuple):
    """Where a proxy listens."""

    name: str
    host: str
    port: int


class Cut(NamedTuple):
    """A connection that ended before the answer on it was complete, or that was refused."""

    door: str
    at: float
    """Unix time in seconds."""
    what: str
    """`refused`, `before the answer` or `within the answer`."""
    reused: bool
    """Whether the connection had served a request before."""


@dataclass(slots=True)
class Request:
    """One request, and what became of it."""

    id: str
    fault: str | None
    """The fault it asks the simulated model for."""
    stream: bool
    leaves: bool
    """Whether the client leaves within the answer."""
    began: float = 0.0
    ended: float = 0.0
    door: str = ""
    """That answered."""
    status: int = 0
    outcome: Outcome = "failed"
    detail: str = ""
    cuts: list[Cut] = field(default_factory=list)


class Mix(NamedTuple):
    """Shares of all requests."""

    streams: float = 0.4
    faults: float = 0.04
    leavers: float = 0.03
    large: float = 0.0
    large_bytes: int = 128 << 10


class _CutError(Exception):
    """The connection ended too soon."""


class _LeftError(Exception):
    """The client left, as it meant to."""


class Traffic:
    """Clients at a bounded rate until they are told to stop."""

    def __init__(
        self,
        doors: Sequence[Door],
        rng: random.Random,
        *,
        clients: int = 64,
        rate: float = 20.0,
        mix: Mix | None = None,
    ) -> None:
        """Prepare.

        Args:
            doors: The proxies; changing the list changes where clients go.
            rng: Decides on everything random.
            clients: Connections at most.
            rate: Requests per second, of all clients together.
            mix: Shares of kinds of requests.
        """
        self.doors = list(doors)
        self.requests: list[Request] = []
        self.stop = asyncio.Event()
        self._rng = rng
        self._clients = clients
        self._rate = rate
        self._mix = mix or Mix()
        self._padding = "x" * self._mix.large_bytes

    async def run(self) -> None:
        """Go on until `stop` is set; then every client finishes its request."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._clients):
                group.create_task(self._client(number))

    def tally(self) -> str:
        """One line for people."""
        failed = sum(one.outcome == "failed" for one in self.requests if one.ended)
        cuts = sum(len(one.cuts) for one in self.requests)
        return f"{len(self.requests)} requests, {cuts} connections cut, {failed} failed"

    async def _client(self, number: int) -> None:
        connection = _Connection()
        turn = number
        try:
            while not self.stop.is_set():
                pause_s = self._rng.expovariate(self._rate / self._clients)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.stop.wait(), pause_s)
                    return
                request, body = self._next()
                self.requests.append(request)
                turn = await self._send(connection, request, body, turn)
        finally:
            connection.close()

    def _next(self) -> tuple[Request, bytes]:
        rng, mix = self._rng, self._mix
        name = f"{len(self.requests):07d}"
        fault = rng.choice(("500", "429", "503", "reset", "cut")) if rng.random() < mix.faults else None
        request = Request(name, fault, rng.random() < mix.streams, rng.random() < mix.leavers)
        text = summary_prompt(make_case(rng.getrandbits(48)))
        whole = {
            "model": "simulated-1",
            "stream": request.stream,
            "messages": [{"role": "user", "content": text}],
        }
        if rng.random() < mix.large:
            whole["metadata"] = {"attachment": self._padding[: rng.randrange(len(self._padding))]}
        return request, json.dumps(whole).encode()

    async def _send(self, connection: _Connection, request: Request, body: bytes, turn: int) -> int:
        request.began = time.time()
        for _ in range(_SENDINGS * len(self.doors)):
            door = self.doors[turn % len(self.doors)]
            reused = connection.serves(door)
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    await connection.exchange(door, request, body)
            except _LeftError:
                request.outcome = "left on purpose"
                break
            except (OSError, _CutError, TimeoutError) as error:
                what = "no answer in time" if isinstance(error, TimeoutError) else connection.progress
                connection.close()
                if request.fault in {"reset", "cut"} and what != "refused":
                    request.outcome, request.detail = "fault passed on", what
                    break
                request.cuts.append(Cut(door.name, time.time(), what, reused))
                turn += 1
                if what in {"within the answer", "no answer in time"}:
                    request.detail = f"{what} of {door.name}"
                    break
                await asyncio.sleep(_PAUSE_S if what == "refused" else 0)
                if len([cut for cut in request.cuts if cut.what != "refused"]) >= _SENDINGS:
                    break
            else:
                request.door = door.name
                break
        request.ended = time.time()
        return turn


class _Connection:
    """One connection of one client."""

    def __init__(self) -> None:
        self.reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self.door = ""
        self.progress = "refused"

    def serves(self, door: Door) -> bool:
        """Whether it is open, to this proxy, as far as is known."""
        reader = self.reader
        return (
            reader is not None
            and self.door == door.name
            and not reader.at_eof()
            and reader.exception() is None
        )

    def close(self) -> None:
        """Close it, if it is open."""
        if self._writer is not None:
            self._writer.close()
        self.reader = self._writer = None

    async def exchange(self, door: Door, request: Request, body: bytes) -> None:
        """Send a request and read its answer; says in `request` what came.

        Raises: OSError or _CutError if the connection ends before, _LeftError if the client leaves.
        """
        if not self.serves(door):
            self.close()  # the proxy closed it while it was idle: no request was on it
        self.progress = "refused"
        if self.reader is None:
            self.reader, self._writer = await asyncio.open_connection(door.host, door.port, limit=1 << 22)
            self.door = door.name
        reader, writer = self.reader, self._writer
        assert writer is not None
        self.progress = "before the answer"
        fault = f"x-chaos-fault: {request.fault}\r\n" if request.fault else ""
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: {door.host}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer sk-chaos\r\n{ID_HEADER}: {request.id}\r\n"
            f"x-evenkeel-session: {request.id}\r\n{fault}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            self.progress = "within the answer"
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
            }
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
        _look(request, status, answer)


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(int(headers.get("content-length", "0")))
    pieces: list[bytes] = []
    while True:
        size = int(await reader.readuntil(b"\r\n"), 16)
        pieces.append((await reader.readexactly(size + 2))[:-2])
        if not size:
            return b"".join(pieces)


def _look(request: Request, status: int, answer: bytes) -> None:
    """Say what an answer that arrived in full is worth."""
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
