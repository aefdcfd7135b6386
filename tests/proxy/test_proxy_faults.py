from __future__ import annotations

import asyncio
import socket

import pytest

from tests.proxy.plain import GET, OK, POST, error_of


def unused_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


async def test_refusing_upstream_is_a_502_that_names_it(relay):
    """The message says which route and address, and what to check; the connection stays usable."""
    port = unused_port()
    async with relay(OK, upstream_port=port) as rig:
        client = await rig.client()
        for _ in range(2):
            client.send(POST)
            status, error = error_of(await client.answer())
            assert (status, error["code"]) == (502, "upstream_refused")
            assert f"http://127.0.0.1:{port}" in error["message"]
            assert "'main'" in error["message"]
        assert rig.counter("proxy_upstream_errors", reason="upstream_refused") == 2
        assert rig.counter("proxy_requests", status_class="5xx") == 2


async def test_answer_to_a_failed_head_request_has_no_body(relay):
    """A 502 to HEAD is a head alone."""
    async with relay(OK, upstream_port=unused_port()) as rig:
        text = await rig.exchange(b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert text.startswith(b"HTTP/1.1 502 ")
        assert text.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda wire: wire.close(), "upstream_closed_without_answer"),
        (lambda wire: wire.reset(), "upstream_closed_without_answer"),
        (lambda wire: (wire.write(b"HTTP/1.1 200 OK\r\nConte"), wire.close()), "upstream_answer_truncated"),
        (lambda wire: wire.write(b"SSH-2.0-x\r\n"), "upstream_answer_malformed"),
        (
            lambda wire: wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n"),
            "upstream_answer_malformed",
        ),
        (
            lambda wire: wire.write(b"HTTP/1.1 101 Sure\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
            "upstream_answer_malformed",
        ),
        (
            lambda wire: wire.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            "upstream_answer_malformed",
        ),
    ],
)
async def test_upstream_that_gives_no_answer_is_a_502(relay, answer, code):
    """Closing, resetting, half a head and garbage: an OpenAI-shaped 502, sent once."""
    async with relay(answer) as rig:
        client = await rig.client()
        client.send(POST)
        status, error = error_of(await client.answer())
        assert (status, error["code"]) == (502, code)
        assert rig.upstream.received.count(b"POST") == 1


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


async def test_truncation_is_a_reset_where_the_close_is_the_end(relay):
    """An HTTP/1.0 client, for whom a close is a clean end, sees a reset instead."""
    start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"
    async with relay(lambda wire: wire.write(start)) as rig:
        client = await rig.client()
        client.send(b"GET / HTTP/1.0\r\n\r\n")
        await client.until(b"part")
        rig.upstream.wires[0].close()
        with pytest.raises(ConnectionResetError):
            await client.rest()


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (b"GET / HTTP/1.1\nHost: x\n\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 70000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: aaaaaaaaaaaaaaaaaaaa\r\n" * 256 + b"\r\n", 431),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ],
)
async def test_bad_request_is_answered_and_the_connection_closed(relay, raw, status):
    """Nothing of it reaches the upstream."""
    async with relay(OK) as rig:
        found, error = error_of(await rig.exchange(raw + GET))
        assert (found, error["type"]) == (
            status,
            "invalid_request_error" if status < 500 else "upstream_error",
        )
        assert rig.upstream.wires == []


async def test_bad_chunk_in_an_upload_is_a_400_and_cuts_the_upstream_off(relay):
    """The upstream never sees the end of an upload that broke."""
    async with relay(OK) as rig:
        client = await rig.client()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        await asyncio.wait_for(rig.upstream.accepted.wait(), 5)
        client.send(b"nonsense\r\n")
        assert error_of(await client.rest())[0] == 400
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 5)
        assert rig.upstream.wires[0].requests == 0


async def test_unknown_path_is_a_404(relay):
    """Without a route for it, a path is answered by the relay."""
    async with relay(OK, prefix="/known") as rig:
        status, error = error_of(await rig.exchange(GET))
        assert (status, error["code"]) == (404, "no_route")
        assert rig.counter("proxy_requests", route="none", status_class="4xx") == 1
