"""A relay between raw sockets: a scripted upstream that records bytes, and a client that sends them."""

import asyncio
import contextlib
import inspect
import random
import socket
import struct
import threading

import httptools
import pytest
import uvloop

from evenkeel.proxy import Counters, DataPlane, HandOff, ProxyRoute, RouteTable, Timeouts, Upstream

PATIENCE_S = 240.0
"""Longest wait for something that should happen at once; only failing tests wait so long."""


class Wire(asyncio.Protocol):
    """A connection to the fake upstream. `answer` is called for each complete request."""

    def __init__(self, upstream):
        self.upstream = upstream
        self.received = bytearray()
        self.bodies = []
        self.requests = 0
        self.lost = asyncio.Event()
        self.started = asyncio.Event()
        self._body = b""
        self._parser = httptools.HttpRequestParser(self) if upstream.parse else None

    def connection_made(self, transport):
        self.transport = transport
        self.upstream.wires.append(self)
        self.upstream.accepted.set()

    def data_received(self, data):
        self.received += data
        self.started.set()
        if self.upstream.on_data is not None:
            self.upstream.on_data(self, data)
        if self._parser is not None:
            with contextlib.suppress(httptools.HttpParserUpgrade):
                self._parser.feed_data(data)

    def on_body(self, body):
        self._body += body

    def on_message_complete(self):
        self.bodies.append(self._body)
        self._body = b""
        self.requests += 1
        answer = self.upstream.answer
        if callable(answer):
            answer(self)
        else:
            self.transport.write(answer)

    def connection_lost(self, exc):
        self.lost.set()

    def write(self, data):
        self.transport.write(data)

    def close(self):
        self.transport.close()

    def reset(self):
        """Close so that the peer sees a reset."""
        sock = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


class FakeUpstream:
    """A server whose every answer is scripted."""

    def __init__(self, answer, *, parse=True):
        self.answer = answer
        self.parse = parse
        self.on_data = None
        self.wires = []
        self.accepted = asyncio.Event()
        self.port = 0

    async def begun(self):
        """The first connection, once something has come over it."""
        await asyncio.wait_for(self.accepted.wait(), PATIENCE_S)
        await asyncio.wait_for(self.wires[0].started.wait(), PATIENCE_S)
        return self.wires[0]

    @property
    def received(self):
        """Everything that came, over all connections."""
        return b"".join(wire.received for wire in self.wires)


class Client:
    """A raw connection to the relay."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer

    def send(self, data):
        self.writer.write(data)

    async def read(self, count):
        """Exactly so many bytes."""
        return await asyncio.wait_for(self.reader.readexactly(count), PATIENCE_S)

    async def until(self, end):
        """All bytes up to and with a marker."""
        return await asyncio.wait_for(self.reader.readuntil(end), PATIENCE_S)

    async def rest(self):
        """All bytes until the relay closes."""
        return await asyncio.wait_for(self.reader.read(), PATIENCE_S)

    async def answer(self):
        """A head and a body framed by length."""
        head = await self.until(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        return head + await self.read(length)

    async def ask(self, request):
        """Send a request and read its answer."""
        self.send(request)
        return await self.answer()

    def leave(self):
        """Go away without a word."""
        self.writer.transport.abort()


class MemoryQueue:
    """The part of a queue that the data plane uses."""

    def __init__(self):
        self.exchanges = []
        self.batches = []
        self.fail = None
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()

    def put(self, exchanges):
        self.entered.set()
        self.gate.wait()
        if self.fail is not None:
            raise self.fail
        self.batches.append(len(exchanges))
        self.exchanges += exchanges
        return len(exchanges)


class Rig:
    """A running relay with its upstream and its queue."""

    def __init__(self, plane, upstream, queue, port):
        self.plane = plane
        self.upstream = upstream
        self.queue = queue
        self.port = port
        self._clients = []

    async def client(self, begun=b""):
        """A connection; what it begins with is there before the relay, however impatient, accepts it."""
        sock = socket.create_connection(("127.0.0.1", self.port))
        sock.sendall(begun)
        client = Client(*await asyncio.open_connection(sock=sock))
        self._clients.append(client)
        return client

    async def ask(self, request):
        """Send on a new connection, which stays, and read the answer."""
        return await (await self.client()).ask(request)

    async def exchange(self, request):
        """Send on a new connection and read until the relay closes it."""
        return await (await self.client(request)).rest()

    def counter(self, name, **labels):
        """The sum of a counter or gauge over all series with these labels."""
        snapshot = self.plane.snapshot()
        return sum(
            number
            for series, present, number in snapshot["counters"] + snapshot["gauges"]
            if series == name and labels.items() <= present.items()
        )

    async def stop(self):
        for client in self._clients:
            client.writer.transport.abort()
        await self.plane.drain(0)
        self.queue.gate.set()
        self.plane.handoff.close(PATIENCE_S)


@contextlib.asynccontextmanager
async def fake_upstream(answer, *, parse=True):
    """A listening upstream that gives the answer: bytes, or a function of the wire."""
    upstream = FakeUpstream(answer, parse=parse)
    server = await asyncio.get_running_loop().create_server(lambda: Wire(upstream), "127.0.0.1", 0)
    upstream.port = server.sockets[0].getsockname()[1]
    try:
        yield upstream
    finally:
        for wire in upstream.wires:
            wire.transport.abort()
        server.close()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def relay(
    answer,
    *,
    parse=True,
    queue=None,
    base="",
    limits=None,
    timeouts=None,
    rate=1.0,
    prefix="",
    max_bytes=1 << 20,
    upstream_port=None,
    url=None,
    fallbacks=(),
    rules=None,
    others=(),
    names=None,
    **options,
):
    """A relay in front of an upstream that gives the answer: bytes, or a function of the wire.

    Its route is "main"; `rules` are more of its settings, `others` more routes.
    """
    async with fake_upstream(answer, parse=parse) as upstream:
        url = url or f"http://127.0.0.1:{upstream_port or upstream.port}{base}"
        route = ProxyRoute(
            "main",
            Upstream.parse(url),
            prefix,
            rate,
            timeouts=timeouts or Timeouts(),
            fallbacks=tuple(map(Upstream.parse, fallbacks)),
            **(rules or {}),
        )
        queue = queue or MemoryQueue()
        handoff = HandOff(queue, Counters(), max_bytes=max_bytes, names=names)
        handoff.start()
        table = RouteTable([route, *others])
        plane = DataPlane(table, handoff, limits=limits, rng=random.Random(7), **options)
        listening = socket.create_server(("127.0.0.1", 0))
        await plane.serve([listening])
        rig = Rig(plane, upstream, queue, listening.getsockname()[1])
        try:
            yield rig
        finally:
            await rig.stop()


@pytest.fixture(name="unused_port")
def unused_port_fixture():
    """A port on which nothing listens but what the test starts there.

    It stays bound, so that no other process gets it; a server with `SO_REUSEADDR` may still listen.
    """
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        yield sock.getsockname()[1]


@pytest.fixture(name="deaf_port")
def deaf_port_fixture():
    """A port that neither accepts nor refuses: its backlog is full."""
    full = socket.create_server(("127.0.0.1", 0), backlog=0)
    filler = [socket.socket() for _ in range(4)]
    for sock in filler:
        sock.setblocking(False)
        sock.connect_ex(full.getsockname())
    yield full.getsockname()[1]
    for sock in (full, *filler):
        sock.close()


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request):
    """Runs a test's coroutine function on each of the two event loops."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else None
    with asyncio.Runner(loop_factory=factory) as runner:
        faults = []

        def go(main):
            runner.get_loop().set_exception_handler(lambda _, context: faults.append(context))

            async def bounded():
                async with asyncio.timeout(PATIENCE_S):
                    return await main()

            return runner.run(bounded())

        yield go
        assert faults == [], "a callback raised"


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(name, obj):
    """A test that is a coroutine function runs on each of the two event loops."""
    if name.startswith("test") and inspect.iscoroutinefunction(obj):
        pytest.mark.usefixtures("run")(obj)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Run such a test by the fixture `run`."""
    test = pyfuncitem.function
    if not inspect.iscoroutinefunction(test):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(test).parameters}
    pyfuncitem.funcargs["run"](lambda: test(**given))
    return True


@pytest.fixture(name="queue")
def queue_fixture():
    """A queue that keeps what it is given."""
    return MemoryQueue()


async def eventually(check):
    """Wait until a check holds; fails after the patience is over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    while not check():
        assert loop.time() < deadline, "it did not happen"
        await asyncio.sleep(0.002)
