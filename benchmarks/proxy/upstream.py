"""Model behind the proxies: a raw server whose answers are cheap to make, in a process of its own.

    python -m benchmarks.proxy.upstream PORT

Each line on its standard input sets its behaviour (`Behaviour.to_line`); it then prints `ok`. Bodies carry
the time at which they were written, so that a reader on the same machine can compute their delay.
`UpstreamModel` starts the process and sets its behaviour.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

from benchmarks.machine import HOST, Program, running
from benchmarks.proxy.load import VARIANTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_ID = b"0123456789abcdef"  # placeholder that answers whose heads differ replace
_HEAD = (
    b"HTTP/1.1 200 OK\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\nserver: bench\r\n"
    b"x-request-id: " + _ID + b"\r\n"
)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Behaviour of the model."""

    answer_bytes: int = 1024
    delay_s: float = 0.0
    """Delay before a plain answer."""
    events: int = 0
    """Number of events of a stream; 0 gives plain answers."""
    pause_s: float = 0.0
    """Pause between two events of a stream; 0 writes as fast as the client reads."""
    heads_differ: bool = False
    """True to put another id into the head of each plain answer without a delay."""

    def to_line(self) -> bytes:
        """Return a line of JSON."""
        return json.dumps(asdict(self)).encode() + b"\n"


def plain_answer(size: int, service_ns: int = 0) -> bytes:
    """Return a chat completion of about `size` bytes that contains the time its making took."""
    content = f"S={service_ns:012d} " + "b" * max(1, size - 260)
    body = json.dumps(
        {
            "id": "chatcmpl-0123456789",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "m",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
            ],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        },
        separators=(",", ":"),
    ).encode()
    return _HEAD + b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def _event(content: str, finish: str | None) -> bytes:
    payload = {
        "id": "chatcmpl-0123456789",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "m",
        "system_fingerprint": "fp_0123456789",
        "choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(payload, separators=(",", ":")).encode() + b"\n\n"


def _chunk(payload: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(payload), payload)


STREAM_HEAD = (
    _HEAD
    + b"content-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)
_BEFORE, _AFTER = _chunk(_event("T=" + "0" * 19 + " token", None)).split(b"0" * 19)
STREAM_END = _chunk(_event("", "stop")) + _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"


def event(now_ns: int) -> bytes:
    """Return an event that carries a time."""
    return b"%b%019d%b" % (_BEFORE, now_ns, _AFTER)


class ModelServer:
    """State that all connections share."""

    def __init__(self) -> None:
        self.behave(Behaviour())
        self._flowing: set[Connection] = set()
        self._pumping = False

    def behave(self, behaviour: Behaviour) -> None:
        """Change the behaviour."""
        self.behaviour = behaviour
        answer = plain_answer(behaviour.answer_bytes)
        answers = []
        for number in range(VARIANTS if behaviour.heads_differ else 1):
            answers.append(answer.replace(_ID, b"%016x" % number))
        self._answers = cycle(answers)

    def answer(self) -> bytes:
        """Return the next plain answer without a delay."""
        return next(self._answers)

    def flow(self, connection: Connection) -> None:
        """Begin to write events to a connection as fast as it takes them, in turn with the others."""
        self._flowing.add(connection)
        if not self._pumping:
            self._pumping = True
            self._pump()

    def stop_flow(self, connection: Connection) -> None:
        """Stop writing events to a connection."""
        self._flowing.discard(connection)

    def _pump(self) -> None:
        # All connections get the same event, so that making it costs little.
        now = event(time.monotonic_ns())
        for connection in list(self._flowing):
            connection.next_event(now)
        if self._flowing:
            asyncio.get_running_loop().call_soon(self._pump)
        else:
            self._pumping = False


class Connection(asyncio.Protocol):
    """Connection of a client, whose requests come one after another."""

    __slots__ = ("_buffer", "_flows", "_left", "_model", "_timer", "_transport", "_until_end", "_written")

    def __init__(self, model: ModelServer) -> None:
        self._model = model
        self._buffer = b""
        self._left = 0
        self._until_end = False
        self._flows = False
        self._written = 0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        """Find the end of the request, then answer."""
        if self._left:
            self._left -= len(data)
            if self._left <= 0:
                self._left = 0
                self._complete()
            return
        if self._until_end:
            # A chunked body ends with an empty chunk.
            if data.endswith(b"0\r\n\r\n"):
                self._until_end = False
                self._complete()
            return
        if self._buffer:
            data = self._buffer + data
            self._buffer = b""
        end = data.find(b"\r\n\r\n")
        if end < 0:
            self._buffer = data
            return
        length = _LENGTH.search(data, 0, end)
        if length is not None:
            left = int(length[1]) - (len(data) - end - 4)
            if left > 0:
                self._left = left
                return
        elif _CHUNKED.search(data, 0, end) and not data.endswith(b"0\r\n\r\n"):
            self._until_end = True
            return
        self._complete()

    def _complete(self) -> None:
        behaviour = self._model.behaviour
        if behaviour.events:
            self._written = 0
            self._transport.write(STREAM_HEAD)
            if behaviour.pause_s:
                self._write_paced_event()
            else:
                self._flows = True
                self._model.flow(self)
        elif behaviour.delay_s:
            loop = asyncio.get_running_loop()
            loop.call_later(behaviour.delay_s, self._write_late_answer, time.monotonic_ns())
        else:
            self._transport.write(self._model.answer())

    def _write_late_answer(self, since_ns: int) -> None:
        size = self._model.behaviour.answer_bytes
        self._transport.write(plain_answer(size, time.monotonic_ns() - since_ns))

    def _write_paced_event(self) -> None:
        behaviour = self._model.behaviour
        if self._written >= behaviour.events:
            self._transport.write(STREAM_END)
            return
        self._transport.write(event(time.monotonic_ns()))
        self._written += 1
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(behaviour.pause_s, self._write_paced_event)

    def next_event(self, data: bytes) -> None:
        """Write the next event of a stream without pauses, or its end."""
        if self._written >= self._model.behaviour.events:
            self._flows = False
            self._model.stop_flow(self)
            self._transport.write(STREAM_END)
            return
        self._written += 1
        self._transport.write(data)

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        self._model.stop_flow(self)

    def resume_writing(self) -> None:
        """Continue the stream."""
        if self._flows:
            self._model.flow(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        """Stop writing."""
        self._model.stop_flow(self)
        if self._timer is not None:
            self._timer.cancel()


async def serve(port: int) -> None:
    """Answer until standard input ends."""
    loop = asyncio.get_running_loop()
    model = ModelServer()
    server = await loop.create_server(lambda: Connection(model), HOST, port, backlog=4096)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        model.behave(Behaviour(**json.loads(line)))
        print("ok", flush=True)
    server.close()


_ROOT = Path(__file__).parents[2]
_CHANGE_S = 10.0  # longest wait until a change of behaviour is confirmed


class UpstreamModel:
    """Running process of the upstream."""

    def __init__(self, program: Program, port: int, log: Path) -> None:
        self.program = program
        self.port = port
        self._log = log
        self._behaviour: Behaviour | None = None

    @classmethod
    @contextlib.contextmanager
    def running(cls, port: int, cores: Sequence[int], folder: Path) -> Iterator[UpstreamModel]:
        """Run the process on a port while the context lasts."""
        log = folder / "upstream.log"
        command = [sys.executable, "-m", "benchmarks.proxy.upstream", str(port)]
        with running(command, cores=cores, log=log, port=port, cwd=_ROOT, stdin=subprocess.PIPE) as program:
            yield cls(program, port, log)

    def behave(self, behaviour: Behaviour) -> None:
        """Change its behaviour from the next request on."""
        if behaviour == self._behaviour:
            return
        pipe = self.program.popen.stdin
        assert pipe is not None
        before = self._changes()
        pipe.write(behaviour.to_line())
        pipe.flush()
        deadline = time.monotonic() + _CHANGE_S
        while self._changes() == before:
            if time.monotonic() > deadline:
                raise SystemExit(f"the upstream does not listen: {self._log.read_text()}")
            time.sleep(0.01)
        self._behaviour = behaviour

    def _changes(self) -> int:
        """Return the number of changes that it has confirmed."""
        return self._log.read_bytes().count(b"ok\n")


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
