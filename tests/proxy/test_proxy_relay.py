"""What a request and its answer go through, on both event loops.

That bytes pass unchanged is tested from outside, in `tests/clients`; every fault in `tests/faults`.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.proxy.plain import GET, OK, POST, error_of


async def test_answer_ends_where_its_length_says(relay, eventually):
    """What an upstream sends beyond the length is dropped, and its connection with it."""
    async with relay(lambda wire: wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")) as rig:
        client = await rig.client()
        for number in (1, 2):
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await client.until(b"ab")
            rig.upstream.wires[-1].write(b"cdHTTP/1.1 200 OK\r\n")
            assert await client.read(2) == b"cd"
            await eventually(rig.upstream.wires[-1].lost.is_set)
            assert len(rig.upstream.wires) == number


async def test_many_pipelined_requests_hold_little(relay):
    """A client that sends without reading is read no further than the bound, and served in full."""
    one = b"GET /%06d HTTP/1.1\r\nHost: x\r\nX-Fill: " + b"f" * 200 + b"\r\n\r\n"
    async with relay(OK) as rig:
        client = await rig.client()
        client.send(b"".join(one % number for number in range(3000)))
        for _ in range(3000):
            assert await client.read(len(OK)) == OK
        lines = [line for line in rig.upstream.received.split(b"\r\n") if line.startswith(b"GET ")]
        assert lines == [b"GET /%06d HTTP/1.1" % number for number in range(3000)]


async def test_answer_before_the_upload_ends_closes_the_connection(relay):
    """A refusal in the middle of an upload is delivered, says close, and nothing more is sent up."""
    async with relay(OK, parse=False) as rig:
        refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig"
        rig.upstream.on_data = lambda wire, data: wire.write(refusal) if b"POST" in data else None
        client = await rig.client()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\npart")
        text = await client.rest()
        assert text == b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig"
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 5)


async def test_http_1_0_client_keeps_a_connection_it_asked_to_keep(relay):
    """With a length, an HTTP/1.0 connection is kept, and the client is told so."""
    async with relay(OK) as rig:
        client = await rig.client()
        for _ in range(2):
            client.send(b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
            assert b"\r\nConnection: keep-alive\r\n" in await client.answer()
        client.send(b"GET / HTTP/1.0\r\n\r\n")
        assert b"\r\nConnection: close\r\n" in await client.rest()


async def test_client_ending_its_half_of_a_tunnel_still_hears_the_rest(relay, eventually):
    """The end of a tunnel's one direction is passed on; the other stays open."""

    def answer(wire):
        wire.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
        wire.eof_received = lambda: wire.write(b"last words") or None

    async with relay(answer) as rig:
        client = await rig.client()
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
        await client.until(b"\r\n\r\n")
        client.writer.write_eof()
        assert await client.rest() == b"last words"
        await eventually(lambda: rig.counter("proxy_in_flight") == 0)


def test_stalled_reader_stalls_the_upstream_too(run, relay):
    """While the client does not read, the relay stops reading the upstream: memory stays bounded."""
    sent = 0

    def answer(wire):
        wire.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")

    async def main():
        nonlocal sent
        async with relay(answer) as rig:
            client = await rig.client()
            client.writer.transport.pause_reading()
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await asyncio.wait_for(rig.upstream.accepted.wait(), 5)
            wire = rig.upstream.wires[0]
            await asyncio.wait_for(wire.started.wait(), 5)
            stalled = asyncio.Event()
            wire.pause_writing = stalled.set
            chunk = b"%x\r\n" % (1 << 16) + b"z" * (1 << 16) + b"\r\n"
            while not stalled.is_set() and sent < 64 << 20:
                wire.write(chunk)
                sent += len(chunk)
                await asyncio.sleep(0)
            assert stalled.is_set()
            [relayed] = rig.plane._clients
            assert relayed.transport.get_write_buffer_size() < 1 << 20
            wire.write(b"0\r\n\r\n")
            client.writer.transport.resume_reading()
            total, tail = 0, b""
            while not tail.endswith(b"0\r\n\r\n"):
                part = await asyncio.wait_for(client.reader.read(1 << 20), 5)
                assert part
                total += part.count(b"z")
                tail = (tail + part)[-16:]
            assert total == sent // len(chunk) << 16

    run(main)


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
            lines = [line for line in text.split(b"\r\n") if line.endswith(b"\n")]
            assert lines == [b"/%d %d\n" % (number, i) for i in range(5)]

        await asyncio.gather(*map(one, range(100)))


async def test_refusing_upstream_is_a_502_that_names_it(relay, unused_port):
    """The message says which route and address, and what to check; the connection stays usable."""
    async with relay(OK, upstream_port=unused_port) as rig:
        client = await rig.client()
        for _ in range(2):
            client.send(POST)
            status, error = error_of(await client.answer())
            assert (status, error["code"]) == (502, "upstream_refused")
            assert f"http://127.0.0.1:{unused_port}" in error["message"]
            assert "'main'" in error["message"]
        assert rig.counter("proxy_upstream_errors", reason="upstream_refused") == 2
        assert rig.counter("proxy_requests", status_class="5xx") == 2


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize(
    "start",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n",
    ],
)
async def test_truncation_reaches_the_client_as_truncation(relay, start, end):
    """What came is delivered, then the connection ends without the end of the message."""
    async with relay(lambda wire: wire.write(start)) as rig:
        client = await rig.client()
        client.send(GET)
        assert await client.read(len(start)) == start
        getattr(rig.upstream.wires[0], end)()
        assert await client.rest() == b""
        assert rig.counter("proxy_requests", status_class="aborted") == 1
        assert rig.counter("proxy_upstream_errors", reason="upstream_answer_truncated") == 1


async def test_unknown_path_is_a_404(relay):
    """Without a route for it, a path is answered by the relay."""
    async with relay(OK, prefix="/known") as rig:
        status, error = error_of(await rig.exchange(GET))
        assert (status, error["code"]) == (404, "no_route")
        assert rig.counter("proxy_requests", route="none", status_class="4xx") == 1
