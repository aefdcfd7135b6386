"""An upstream that keeps every byte it is sent and answers by script, in a thread of its own.

It reads messages with a few lines of its own instead of with the relay's code, so that the two cannot be
wrong in the same way.
"""

import asyncio
import contextlib
import socket
import struct
import threading
import time
from dataclasses import dataclass

PATIENCE_S = 240.0
"""Longest wait for something that should happen at once; only failing tests wait so long."""

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass(slots=True)
class Recorded:
    """A request as it came."""

    head: bytes
    """Lines, with the empty one at the end."""
    raw_body: bytes = b""
    """Bytes as they came, framing included."""
    body: bytes = b""
    """Content, the chunked coding taken off."""
    complete: bool = False

    @property
    def line(self):
        return self.head.partition(b"\r\n")[0]

    @property
    def method(self):
        return self.line.split(b" ")[0]

    @property
    def target(self):
        return self.line.split(b" ")[1]

    @property
    def fields(self):
        """Header fields in order, names as sent, values without the spaces around them."""
        lines = self.head.split(b"\r\n")[1:-2]
        return [(name, value.strip(b" \t")) for name, _, value in (line.partition(b":") for line in lines)]

    def field(self, name):
        """The value of a field, by its lower-case name; empty if it is not there."""
        return next((value for field, value in self.fields if field.lower() == name), b"")


class Wire(asyncio.Protocol):
    """A connection to the upstream."""

    def __init__(self, upstream):
        self.received = bytearray()
        """Everything that came."""
        self.ended = False
        """Tell whether the peer has closed."""
        self._upstream = upstream
        self._taken = 0
        self._news = asyncio.Event()
        self._current = None

    def connection_made(self, transport):
        self.transport = transport
        self._upstream.wires.append(self)
        self._task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data):
        self.received += data
        self._tell()

    def eof_received(self):
        self.ended = True
        self._tell()

    def connection_lost(self, exc):
        self.ended = True
        self._task.cancel()
        self._tell()

    def _tell(self):
        self._news.set()
        self._upstream.changed()

    async def _serve(self):
        try:
            while not self.transport.is_closing():
                request = await self.head()
                await self._upstream.handler(self, request)
                if not request.complete:
                    self.transport.close()
                    return
        except EOFError:
            pass
        except Exception as error:  # noqa: BLE001 - told by `clear`, in the test's thread
            self._upstream.faults.append(error)
            self.transport.abort()

    # For handlers

    async def more(self):
        """Wait until more has come. Raises EOFError if nothing more will."""
        if self.ended:
            raise EOFError
        self._news.clear()
        await self._news.wait()

    async def until(self, end):
        """Take all up to and with a marker."""
        while (place := self.received.find(end, self._taken)) < 0:
            await self.more()
        return self._take(place + len(end))

    async def exactly(self, count):
        """Take so many bytes."""
        while len(self.received) < self._taken + count:
            await self.more()
        return self._take(self._taken + count)

    def _take(self, end):
        taken = bytes(self.received[self._taken : end])
        self._taken = end
        return taken

    async def head(self):
        """Take the head of the next request, and record it."""
        self._current = request = Recorded(await self.until(b"\r\n\r\n"))
        self._upstream.requests.append(request)
        self._upstream.changed()
        return request

    async def body(self):
        """Take the body of the request whose head was taken last."""
        request = self._current
        start = self._taken
        if request.field(b"transfer-encoding").lower() == b"chunked":
            body = b""
            while size := int((await self.until(b"\r\n")).split(b";")[0], 16):
                body += await self.exactly(size)
                assert await self.exactly(2) == b"\r\n"
            while await self.until(b"\r\n") != b"\r\n":
                pass
        else:
            body = await self.exactly(int(request.field(b"content-length") or b"0"))
        request.body = body
        request.raw_body = bytes(self.received[start : self._taken])
        request.complete = True
        self._upstream.changed()
        return body

    def write(self, data):
        self.transport.write(data)

    def close(self):
        """Close after what was written has been sent."""
        self.transport.close()

    def reset(self):
        """Close so that the peer sees a reset."""
        self.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self.transport.abort()

    async def finish(self):
        """Close in a way that the peer has noticed when this returns."""
        if self.transport.is_closing():
            return
        self._task.cancel()
        self.transport.write_eof()
        while not self.ended:
            await self.more()
        self.transport.abort()


def fixed(answer):
    """A handler that reads the whole request and gives this answer."""

    async def handler(wire, request):
        await wire.body()
        wire.write(answer)

    return handler


def holding(begun=b""):
    """A handler that reads the whole request, begins an answer and never goes on."""

    async def handler(wire, request):
        await wire.body()
        wire.write(begun)
        while True:
            await wire.more()

    return handler


class RecordingUpstream:
    """A server on a free port; `handler` is called for each request head."""

    def __init__(self):
        self.handler = fixed(OK)
        self.wires = []
        self.requests = []
        self.faults = []
        """Exceptions of handlers."""
        self.port = 0
        self._changes = threading.Condition()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def authority(self):
        """The `Host` that a client sends to the upstream itself."""
        return b"127.0.0.1:%d" % self.port

    def changed(self):
        """Something happened: wake whoever waits for it."""
        with self._changes:
            self._changes.notify_all()

    def eventually(self, check):
        """Wait in the test's thread until a check gives something true; returns that."""
        deadline = time.monotonic() + PATIENCE_S
        with self._changes:
            while not (found := check()):
                assert time.monotonic() < deadline, "it did not happen in time"
                # Not everything a check may look at is told by `changed`.
                self._changes.wait(0.02)
        return found

    def call(self, function):
        """Call a function in the server's thread."""

        async def calling():
            return function()

        return asyncio.run_coroutine_threadsafe(calling(), self.loop).result(PATIENCE_S)

    async def pause(self):
        """Give the peer time to read what was written, so that what is written next comes apart."""
        await asyncio.sleep(0.0003)

    def clear(self):
        """Close all connections, forget everything, answer with a plain OK again.

        Raises: ExceptionGroup if a handler failed meanwhile.
        """

        async def clearing():
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.gather(*(wire.finish() for wire in self.wires), return_exceptions=True)

        asyncio.run_coroutine_threadsafe(clearing(), self.loop).result(2 * PATIENCE_S)
        self.wires.clear()
        self.requests.clear()
        self.handler = fixed(OK)
        faults, self.faults = self.faults, []
        if faults:
            raise ExceptionGroup("handlers of the upstream failed", faults)

    async def _run(
        self,
        started,
        stop,
        context,
        unix_path,
    ):
        self.loop = asyncio.get_running_loop()
        if unix_path:
            server = await self.loop.create_unix_server(lambda: Wire(self), unix_path)
        else:
            server = await self.loop.create_server(lambda: Wire(self), "127.0.0.1", 0, ssl=context)
            self.port = server.sockets[0].getsockname()[1]
        started.set()
        await stop.wait()
        server.close()
        for wire in self.wires:
            wire.transport.abort()
        # Lost connections are reported, and their tasks end, in the next rounds of the loop.
        for _ in range(3):
            await asyncio.sleep(0)


@contextlib.contextmanager
def recording(*, ssl=None, unix_path=None):
    """A running upstream, on a free port or on a Unix socket."""
    upstream = RecordingUpstream()
    started = threading.Event()
    stop = asyncio.Event()
    thread = threading.Thread(
        target=lambda: asyncio.run(upstream._run(started, stop, ssl, unix_path)), name="upstream"
    )
    thread.start()
    try:
        assert started.wait(PATIENCE_S)
        yield upstream
    finally:
        upstream.loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
    assert not thread.is_alive()
