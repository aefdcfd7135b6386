"""Clients that leave."""

from __future__ import annotations

import asyncio
import socket

import pytest

from evenkeel.proxy import Limits
from tests.proxy.plain import OK, POST


async def test_client_that_leaves_while_waiting_cancels_the_call(relay):
    """The upstream sees a closed connection while it still thinks."""
    async with relay(lambda wire: None) as rig:
        client = await rig.client()
        client.send(POST)
        await asyncio.wait_for(rig.upstream.accepted.wait(), 5)
        await asyncio.wait_for(rig.upstream.wires[0].started.wait(), 5)
        client.leave()
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 1)
        assert rig.counter("proxy_disconnects") == 1
        assert rig.counter("proxy_requests", status_class="aborted") == 1
        assert rig.counter("proxy_in_flight") == 0


@pytest.mark.parametrize("framing", [b"Transfer-Encoding: chunked", b"Content-Length: 100000"])
async def test_client_that_leaves_mid_stream_cancels_the_call(relay, framing):
    """The upstream stops paying for tokens nobody reads."""
    start = b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n" + b"5\r\nfirst\r\n"
    async with relay(lambda wire: wire.write(start)) as rig:
        client = await rig.client()
        client.send(POST)
        await client.until(b"first")
        client.leave()
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 1)
        assert rig.counter("proxy_disconnects") == 1


async def test_client_that_leaves_mid_upload_cancels_the_call(relay):
    """Half a request is not completed by anyone."""
    async with relay(OK) as rig:
        client = await rig.client()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf")
        await asyncio.wait_for(rig.upstream.accepted.wait(), 5)
        client.leave()
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 1)
        assert rig.upstream.wires[0].requests == 0


async def test_client_that_leaves_while_connecting_leaves_nothing_open(relay, eventually):
    """The attempt to connect ends with the client."""
    # A listener with a full backlog neither accepts nor refuses.
    full = socket.create_server(("127.0.0.1", 0), backlog=0)
    filler = [socket.socket() for _ in range(4)]
    for sock in filler:
        sock.setblocking(False)
        sock.connect_ex(full.getsockname())
    async with relay(OK, upstream_port=full.getsockname()[1]) as rig:
        client = await rig.client()
        client.send(POST)
        pool = rig.plane.lanes["main"].pool
        await eventually(lambda: len(pool._connecting) == 1)
        client.leave()
        await eventually(lambda: not pool._connecting and not pool._open)
        assert rig.counter("proxy_disconnects") == 1
    for sock in (full, *filler):
        sock.close()


async def test_leaving_while_the_upload_is_stuck_is_noticed(relay, eventually):
    """Nothing is read from a client whose upstream is stuck; the sweep finds that it has left."""
    if not hasattr(socket, "TCP_INFO"):
        pytest.skip("this kernel does not tell")
    async with relay(OK, limits=Limits(linger_s=0.04)) as rig:
        client = await rig.client()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
        await asyncio.wait_for(rig.upstream.accepted.wait(), 5)
        wire = rig.upstream.wires[0]
        await asyncio.wait_for(wire.started.wait(), 5)
        wire.transport.pause_reading()
        [relayed] = rig.plane._clients
        while not relayed._held:
            client.send(b"u" * (1 << 20))
            await asyncio.sleep(0.002)
        client.leave()
        await eventually(lambda: rig.counter("proxy_disconnects") == 1)
