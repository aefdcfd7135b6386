"""The admin port answers probes whatever others do with their connections."""

import asyncio
import socket
from contextlib import asynccontextmanager

import pytest

from evenkeel.console import server
from evenkeel.console.api import create_probes


@asynccontextmanager
async def serving_probes(app=None):
    """A server on a free port; yields the port."""
    sock = socket.create_server(("127.0.0.1", 0))
    sock.setblocking(False)
    async with server.serving(app or create_probes(lambda: b"up 1\n", dict, ""), [sock]):
        yield sock.getsockname()[1]


async def answer(port, path):
    """The whole answer to a request, on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
    try:
        return await asyncio.wait_for(reader.read(), 240)
    finally:
        writer.close()


async def half_open(port):
    """A connection with the beginning of a head."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /healthz HTTP/1.1\r\nx: ")
    await writer.drain()
    return reader, writer


async def test_probes_answer_while_700_heads_hang():
    """The oldest of those that wait make room; no more than the limit stay open."""
    async with serving_probes() as port:
        hanging = [await half_open(port) for _ in range(700)]
        for path in ("/healthz", "/metrics"):
            assert (await answer(port, path)).startswith(b"HTTP/1.1 200")
        reading = [asyncio.create_task(reader.read()) for reader, _ in hanging]
        await asyncio.wait(reading[:444], timeout=240)
        still_open = [task for task in reading if not task.done()]
        assert len(still_open) <= 256
        assert not any(task.done() for task in reading[-200:]), "the newest stay"
        for task in still_open:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        for _, writer in hanging:
            writer.close()


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("begun", [b"GET", b"GET / HTTP/1.1\r\n"])
async def test_a_head_that_does_not_arrive_in_time_ends_its_connection(begun, used, monkeypatch):
    """The first one, and one on a connection that has been used."""
    monkeypatch.setattr(server, "_HEAD_S", 0.05)

    async with serving_probes() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        if used:
            writer.write(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
            await reader.readuntil(b"ok\n")
        writer.write(begun)
        got = await asyncio.wait_for(reader.read(), 240)
        assert got == b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        writer.close()


async def test_a_head_without_end_is_cut_off():
    async with serving_probes() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"GET /healthz HTTP/1.1\r\n" + b"".join(b"x: %b\r\n" % (b"a" * 1000) for _ in range(400))
        )
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        writer.close()


def test_a_request_that_takes_long_is_not_in_the_way_of_probes(monkeypatch):
    """Beyond the limit others get a 503; probes are not counted."""

    async def scene():
        monkeypatch.setattr(server, "_MOST_REQUESTS", 2)
        release, begun = asyncio.Event(), asyncio.Semaphore(0)

        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                for step in ("startup", "shutdown"):
                    await receive()
                    await send({"type": f"lifespan.{step}.complete"})
                return
            if scope["path"] == "/slow":
                begun.release()
                await release.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"done"})

        async with serving_probes(app) as port:
            slow = [asyncio.create_task(answer(port, "/slow")) for _ in range(2)]
            for _ in slow:
                await begun.acquire()
            busy = await answer(port, "/other")
            assert busy.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 1" in busy
            assert (await answer(port, "/healthz")).startswith(b"HTTP/1.1 200")
            release.set()
            assert all(b"done" in answered for answered in await asyncio.gather(*slow))
            assert (await answer(port, "/other")).startswith(b"HTTP/1.1 200")

    asyncio.run(scene())
