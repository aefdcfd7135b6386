from __future__ import annotations

import asyncio
import itertools

import httptools
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evenkeel.proxy import Counters, DataPlane, HandOff, Route, RouteTable, Upstream
from evenkeel.proxy.client import ClientConnection
from evenkeel.proxy.upstream import UpstreamConnection

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
EVENTS = [b'data: {"n": %d}\n\n' % number for number in range(6)] + [b"data: [DONE]\n\n"]


class Pipe:
    """A transport that only remembers what was written and whether it was closed."""

    def __init__(self):
        self.written = b""
        self.closed = False

    def write(self, data):
        assert not self.closed
        self.written += data

    def close(self):
        self.closed = True

    abort = close

    def is_closing(self):
        return self.closed

    def get_extra_info(self, name):
        return None

    def can_write_eof(self):
        return False


class NoQueue:
    def put(self, exchanges):
        return len(exchanges)


def conversation():
    """A client and an upstream connection joined by a relay, with pipes in place of sockets."""
    table = RouteTable([Route("r", Upstream.parse("http://h"), sampling_rate=0)])
    plane = DataPlane(table, HandOff(NoQueue(), Counters(), max_bytes=1))
    client = ClientConnection(plane)
    client.connection_made(Pipe())
    pool = plane.lanes["r"].pool
    upstream = UpstreamConnection(pool, tls=False)
    upstream.connection_made(Pipe())
    pool.idle.append(upstream)
    return client, upstream


class Answer:
    """What an independent parser makes of the client's bytes."""

    def __init__(self, raw):
        self.body = b""
        self.complete = 0
        httptools.HttpResponseParser(self).feed_data(raw)

    def on_body(self, body):
        self.body += body

    def on_message_complete(self):
        self.complete += 1


def pieces(raw, cuts):
    edges = [0, *sorted(cuts), len(raw)]
    return [raw[a:b] for a, b in itertools.pairwise(edges) if a < b]


@given(
    st.sampled_from(["length", "chunked", "close"]),
    st.binary(max_size=200),
    st.data(),
)
def test_any_cutting_of_a_response_gives_the_client_the_same_body(framing, body, data):
    """However TCP cuts an answer, and however it is framed, an independent parser reads its body."""
    if framing == "length":
        raw = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX: y\r\n\r\n" % len(body) + body
    elif framing == "chunked":
        size = data.draw(st.integers(1, 50))
        parts = [body[i : i + size] for i in range(0, len(body), size)]
        raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n"
        raw += b"".join(b"%X;e\r\n%b\r\n" % (len(p), p) for p in parts) + b"0\r\nT: 1\r\n\r\n"
    else:
        raw = b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n" + body
    cuts = data.draw(st.sets(st.integers(0, len(raw)), max_size=15))
    client, upstream = conversation()
    client.data_received(GET)
    for piece in pieces(raw, cuts):
        upstream.data_received(piece)
    if framing == "close":
        upstream.eof_received()
    answer = Answer(client.transport.written)
    assert (answer.body, answer.complete) == (body, 1)
    assert b"T: 1" not in client.transport.written
    assert not client.transport.closed


@given(st.binary(max_size=120), st.booleans(), st.data())
def test_any_cutting_of_requests_gives_the_upstream_the_same_bytes(body, chunked, data):
    """However TCP cuts two pipelined requests, the upstream reads both, whole and in order."""
    if chunked:
        framed = b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in (body[:7], body[7:]) if p) + b"0\r\n\r\n"
        one = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + framed
    else:
        one = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    raw = one + one
    cuts = data.draw(st.sets(st.integers(0, len(raw)), max_size=15))
    client, upstream = conversation()
    for piece in pieces(raw, cuts):
        client.data_received(piece)
    upstream.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
    upstream.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2")
    bodies = []

    class Server:
        def __init__(self):
            self.body = b""

        def on_body(self, part):
            self.body += part

        def on_message_complete(self):
            bodies.append(self.body)
            self.body = b""

    httptools.HttpRequestParser(Server()).feed_data(upstream.transport.written)
    assert bodies == [body, body]
    assert client.transport.written.count(b"HTTP/1.1 200 OK") == 2


@given(st.data())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_truncated_answer_never_has_a_clean_end(data):
    """Whatever part of a framed answer came before the loss, the client can tell it is not all."""
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    raw += b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in EVENTS) + b"0\r\n\r\n"
    stop = data.draw(st.integers(0, len(raw) - 1))
    client, upstream = conversation()
    client.data_received(GET)
    for piece in pieces(raw[:stop], data.draw(st.sets(st.integers(0, stop), max_size=5))):
        upstream.data_received(piece)
    data.draw(
        st.sampled_from([upstream.eof_received, lambda: upstream.connection_lost(ConnectionResetError())])
    )()
    written = client.transport.written
    if written.startswith(b"HTTP/1.1 200"):
        assert client.transport.closed
        assert Answer(written).complete == 0
    else:
        assert written.startswith(b"HTTP/1.1 502 Bad Gateway")


async def test_every_event_is_forwarded_when_it_arrives(relay):
    """A client sees each event before the upstream sends the next one."""
    async with relay(
        lambda wire: wire.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
    ) as rig:
        client = await rig.client()
        client.send(GET)
        await client.until(b"\r\n\r\n")
        wire = rig.upstream.wires[0]
        for event in EVENTS:
            wire.write(b"%x\r\n%b\r\n" % (len(event), event))
            assert await client.until(b"\n\n\r\n") == b"%x\r\n%b\r\n" % (len(event), event)
        wire.write(b"0\r\n\r\n")
        assert await client.until(b"0\r\n\r\n") == b"0\r\n\r\n"
        client.send(GET)
        await client.until(b"\r\n\r\n")
        assert len(rig.upstream.wires) == 1


async def test_hundred_streams_at_once_do_not_mix(relay):
    """Each of many concurrent streams carries its own events."""

    def answer(wire):
        name = wire.received.rsplit(b"GET ", 1)[1].split(b" ")[0]
        wire.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(5):
            event = b"%b %d\n" % (name, number)
            wire.write(b"%x\r\n%b\r\n" % (len(event), event))
        wire.write(b"0\r\n\r\n")

    async with relay(answer) as rig:

        async def one(number):
            text = await rig.exchange(b"GET /%d HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % number)
            assert Answer(text).body == b"".join(b"/%d %d\n" % (number, i) for i in range(5))

        await asyncio.gather(*map(one, range(100)))
