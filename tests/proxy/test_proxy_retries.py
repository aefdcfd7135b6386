"""Requests that are sent again, and those that are not."""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import replace

import pytest

from tests.proxy.plain import GET, OK, POST, error_of


async def test_request_is_not_repeated_on_a_fresh_connection(relay):
    """A connection that was never used has no excuse: even a GET fails at once."""
    async with relay(lambda wire: wire.close()) as rig:
        client = await rig.client()
        client.send(GET)
        assert error_of(await client.answer())[0] == 502
        assert len(rig.upstream.wires) == 1


@pytest.mark.parametrize(("policy", "header"), [("always", b""), ("never", b"Idempotency-Key: k\r\n")])
async def test_post_is_repeated_if_policy_or_client_says_so(relay, policy, header):
    """An Idempotency-Key counts more than a careful policy."""

    def answer(wire):
        if wire.requests == 2:
            wire.close()
        else:
            wire.write(OK)

    async with relay(answer, retry=policy) as rig:
        client = await rig.client()
        for _ in range(2):
            client.send(b"POST / HTTP/1.1\r\nHost: x\r\n" + header + b"Content-Length: 2\r\n\r\nhi")
            assert await client.answer() == OK
        assert rig.upstream.wires[1].bodies == [b"hi"]


async def test_post_that_cannot_have_been_read_is_repeated(relay):
    """The upstream closes before the request is written, unnoticed until then: it is sent again."""
    armed = []

    def timer():
        # Read first when a request begins, before anything is written upstream.
        if armed:
            armed.pop().close()
        return time.perf_counter()

    async with relay(OK, timer=timer) as rig:
        # A second upstream whose socket can be closed synchronously, from inside the relay's turn.
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        pool = rig.plane.lanes["main"].pool
        pool.upstream = replace(pool.upstream, port=listener.getsockname()[1])
        client = await rig.client()
        loop = asyncio.get_running_loop()
        client.send(POST)
        peer, _ = await loop.sock_accept(listener)
        await loop.sock_recv(peer, 1000)
        await loop.sock_sendall(peer, OK)
        assert await client.answer() == OK
        pool.upstream = replace(pool.upstream, port=rig.upstream.port)
        armed.append(peer)
        client.send(POST)
        assert await client.answer() == OK
        assert not armed
        assert rig.counter("proxy_retries") == 1
        assert rig.upstream.wires[0].bodies == [b"hi"]
        listener.close()
