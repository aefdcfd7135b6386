"""Requests that may be sent again: the proof, the rules, and the repetition."""

import asyncio
import socket
import time
from dataclasses import replace

import pytest

from evenkeel.proxy.request_head import parse_request
from evenkeel.proxy.retry import TcpInfo, may_repeat, request_unread
from tests.proxy.conftest import relay
from tests.proxy.plain import GET, OK, POST, error_of

CLOSE, CLOSE_WAIT = 7, 8


@pytest.mark.parametrize(
    ("info", "tls", "elapsed_s", "unread"),
    [
        (None, False, 0.0, False),
        # The close came back faster than a round trip: it had been sent before.
        (TcpInfo(CLOSE_WAIT, 0, 0.020), False, 0.015, True),
        (TcpInfo(CLOSE_WAIT, 0, 0.020), True, 0.015, True),
        # Slower than that, and all our bytes confirmed: it may have been read.
        (TcpInfo(CLOSE_WAIT, 0, 0.020), False, 0.025, False),
        # Some of our bytes were not confirmed by the close, or reset by the kernel.
        (TcpInfo(CLOSE_WAIT, 1, 0.020), False, 0.025, True),
        (TcpInfo(CLOSE, 0, 0.020), False, 0.025, True),
        (TcpInfo(CLOSE_WAIT, 1, 0.020), True, 0.025, False),
        (TcpInfo(CLOSE, 0, 0.020), True, 0.025, False),
    ],
)
def test_proof_that_a_request_was_not_read(info, tls, elapsed_s, unread):
    """A close proves it by coming too soon or by not confirming the request; nothing else does."""
    assert request_unread(info, tls=tls, elapsed_s=elapsed_s) is unread


@pytest.mark.parametrize(
    ("raw", "unread", "repeat"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", False, True),
        (b"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n", False, True),
        (b"POST / HTTP/1.1\r\nHost: x\r\nIDEMPOTENCY-key: k\r\n\r\n", False, True),
        (b"POST / HTTP/1.1\r\nHost: x\r\nX: idempotency-key: k\r\n\r\n", False, False),
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", True, True),
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", False, False),
    ],
)
def test_repeating_follows_method_key_and_proof(raw, unread, repeat):
    """Idempotent requests always, others if they provably have not been read."""
    assert may_repeat(parse_request(raw), unread=unread) is repeat


async def test_request_is_not_repeated_on_a_fresh_connection():
    """A connection that was never used has no excuse: even a GET fails at once."""
    async with relay(lambda wire: wire.close()) as rig:
        assert error_of(await rig.ask(GET))[0] == 502
        assert len(rig.upstream.wires) == 1


async def test_post_is_repeated_if_the_client_says_so():
    """An Idempotency-Key says that the request may be sent twice."""

    def answer(wire):
        if wire.requests == 2:
            wire.close()
        else:
            wire.write(OK)

    async with relay(answer) as rig:
        client = await rig.client()
        for _ in range(2):
            answer = await client.ask(
                b"POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\nhi"
            )
            assert answer == OK
        assert rig.upstream.wires[1].bodies == [b"hi"]


async def test_post_that_cannot_have_been_read_is_repeated():
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
        assert await client.ask(POST) == OK
        assert not armed
        assert rig.counter("proxy_retries") == 1
        assert rig.upstream.wires[0].bodies == [b"hi"]
        listener.close()
