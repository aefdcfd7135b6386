"""A client's connection: versions of HTTP, tunnels, and everything that takes too long."""

import asyncio
import socket
import struct
import time

import pytest

from evenkeel.proxy import Limits, Timeouts
from tests.proxy.conftest import PATIENCE_S, eventually, relay
from tests.proxy.plain import GET, OK, POST, error_of


async def test_answer_ends_where_its_length_says():
    """Bytes of an upstream beyond the length are dropped, and its connection with them."""
    async with relay(lambda wire: wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")) as rig:
        client = await rig.client()
        for number in (1, 2):
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await client.until(b"ab")
            rig.upstream.wires[-1].write(b"cdHTTP/1.1 200 OK\r\n")
            assert await client.read(2) == b"cd"
            await eventually(rig.upstream.wires[-1].lost.is_set)
            assert len(rig.upstream.wires) == number


async def test_many_pipelined_requests_hold_little():
    """A client that sends without reading is read no further than the bound, and served in full."""
    one = b"GET /%06d HTTP/1.1\r\nHost: x\r\nX-Fill: " + b"f" * 200 + b"\r\n\r\n"
    async with relay(OK) as rig:
        client = await rig.client()
        client.send(b"".join(one % number for number in range(1000)))
        for _ in range(1000):
            assert await client.read(len(OK)) == OK
        lines = [line for line in rig.upstream.received.split(b"\r\n") if line.startswith(b"GET ")]
        assert lines == [b"GET /%06d HTTP/1.1" % number for number in range(1000)]


async def test_http_1_0_client_keeps_a_connection_it_asked_to_keep():
    """An HTTP/1.0 connection is kept after an answer with a length, and the client is told so."""
    async with relay(OK) as rig:
        client = await rig.client()
        for _ in range(2):
            assert b"\r\nConnection: keep-alive\r\n" in await client.ask(
                b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"
            )
        client.send(b"GET / HTTP/1.0\r\n\r\n")
        assert b"\r\nConnection: close\r\n" in await client.rest()


async def test_client_ending_its_half_of_a_tunnel_still_hears_the_rest():
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


async def test_the_upgrade_that_an_upstream_requires_is_named_to_the_client():
    refusal = b"HTTP/1.1 426 No\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\nno"
    async with relay(refusal) as rig:
        assert await rig.ask(GET) == refusal


async def test_an_answer_that_never_gets_beyond_its_beginning_is_given_up():
    """A hundred interim answers at once are more than any server has to say."""
    async with relay(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000) as rig:
        client = await rig.client()
        client.send(GET)
        await client.until(b"HTTP/1.1 502")
    async with relay(b"HTTP/1.1 102 Processing\r\n\r\n" * 50 + OK) as rig:
        client = await rig.client()
        client.send(GET)
        await client.until(OK)


async def test_unknown_path_is_a_404():
    async with relay(OK, prefix="/known") as rig:
        status, error = error_of(await rig.exchange(GET))
        assert (status, error["code"]) == (404, "no_route")
        assert rig.counter("proxy_requests", route="none", status_class="4xx") == 1


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"])
async def test_request_that_takes_too_long_in_all_is_ended(start):
    """However busily an upstream drips, the total timeout holds: a 504, or a stream cut off."""

    async def drip(wire):
        wire.write(start)
        while True:
            wire.write(b"1\r\nx\r\n" if start else b"HTTP/1.1 102 Wait\r\n\r\n")
            await asyncio.sleep(0.01)  # real time is what is tested here

    dripping = []
    async with relay(
        lambda wire: dripping.append(asyncio.create_task(drip(wire))), timeouts=Timeouts(total_s=0.1)
    ) as rig:
        client = await rig.client()
        client.send(POST)
        text = await client.until(b"}}") if not start else await client.rest()
        dripping[0].cancel()
        assert rig.counter("proxy_upstream_errors", reason="upstream_total_timeout") == 1
        if start:
            assert text.endswith(b"x\r\n")
        else:
            assert b"HTTP/1.1 504 " in text
            assert b'"upstream_total_timeout"' in text
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), PATIENCE_S)


async def test_total_timeout_counts_connecting_and_spares_tunnels(deaf_port):
    """The time runs while nothing is connected, blames a slow upload on the client, and ends no WebSocket."""
    switching = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
    late = [0.0]
    timeouts = Timeouts(total_s=5)
    async with relay(
        lambda wire: wire.write(switching), timeouts=timeouts, timer=lambda: time.perf_counter() + late[0]
    ) as rig:
        tunnel, upload = await rig.client(), await rig.client()
        tunnel.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
        assert await tunnel.until(b"\r\n\r\n") == switching
        upload.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
        await eventually(lambda: len(rig.upstream.wires) == 2)
        late[0] = 6
        assert error_of(await upload.rest())[0] == 408
        rig.upstream.wires[0].write(b"still here")
        assert await tunnel.read(10) == b"still here"
    async with relay(OK, upstream_port=deaf_port, timeouts=Timeouts(total_s=0.08)) as rig:
        status, error = error_of(await rig.ask(POST))
        assert (status, error["code"]) == (504, "upstream_total_timeout")


async def test_tunnel_in_which_nothing_moves_is_closed():
    switching = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
    upgrade = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
    async with relay(lambda wire: wire.write(switching), timeouts=Timeouts(silence_s=0.5)) as rig:
        assert await rig.exchange(upgrade) == switching
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), PATIENCE_S)
        await eventually(lambda: rig.counter("proxy_in_flight") == 0)


async def test_slow_head_is_cut_off_however_busily_it_drips():
    """The time for a head runs from its first byte; more bytes do not extend it."""

    async def drip(client):
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
        while True:
            client.send(b"x")
            await asyncio.sleep(0.01)  # real time is what is tested here

    async with relay(OK, limits=Limits(client_head_s=0.1)) as rig:
        client = await rig.client()
        dripping = asyncio.create_task(drip(client))
        assert error_of(await client.rest())[0] == 408
        dripping.cancel()


@pytest.mark.parametrize(
    "half", [b"Content-Length: 9\r\n\r\nhalf", b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"]
)
async def test_silent_client_and_stalled_upload_are_let_go(half):
    """A connection without requests is closed; an upload that stops is a 408, and ends upstream."""
    limits = Limits(client_idle_s=0.08)
    async with relay(OK, limits=limits, timeouts=Timeouts(silence_s=0.08)) as rig:
        assert await (await rig.client()).rest() == b""
        status, error = error_of(await rig.exchange(b"POST / HTTP/1.1\r\nHost: x\r\n" + half))
        assert (status, error["code"]) == (408, "request_timeout")
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), PATIENCE_S)
        assert rig.upstream.wires[0].requests == 0


async def test_client_that_goes_on_sending_after_its_refusal_is_not_cut_off():
    """The relay waits until the client has sent all and closes, but not forever."""
    late = [0.0]
    limits = Limits(linger_s=60.0)
    async with relay(OK, limits=limits, timer=lambda: time.perf_counter() + late[0]) as rig:
        client = await rig.client()
        client.send(b"nonsense\r\n\r\n")
        assert error_of(await client.rest())[0] == 400
        [refused] = rig.plane._clients
        for _ in range(3):
            refused.tick(40.0)
            assert not refused.transport.is_closing()
            client.send(b"more")
            await eventually(lambda: refused._quiet_s < 40.0)
        late[0] = limits.client_idle_s
        refused.tick(0.0)
        assert refused.transport.is_closing()


@pytest.mark.parametrize("asked_for_a_tunnel", [False, True])
async def test_what_the_upstream_said_before_it_broke_the_connection_is_passed_on(asked_for_a_tunnel):
    """One that closes upon an upload, or while a client talks on, has its last words heard."""
    request = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n"
    answer = b"HTTP/1.1 413 Big\r\nContent-Length: 3\r\n\r\nbig"
    if asked_for_a_tunnel:
        request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
        answer = b"last words"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with relay(b"", upstream_port=listening.getsockname()[1]) as rig:
            client = await rig.client()
            client.send(request)
            upstream, _ = await asyncio.to_thread(listening.accept)
            await asyncio.to_thread(upstream.recv, 9000)
            if asked_for_a_tunnel:
                upstream.send(
                    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
                )
                await client.until(b"\r\n\r\n")
            upstream.send(answer)
            upstream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            upstream.close()
            # The relay writes before it has read: the connection is lost with the answer unread.
            [connection] = rig.plane._clients
            connection.data_received(bytes(1000))
            assert (await client.rest()).endswith(answer[-3:])
            assert rig.counter("proxy_upstream_errors") == 0


async def test_a_slow_stream_is_not_a_stalled_one():
    """A stream that lasts longer than its timeout, with pauses shorter than that, is delivered whole."""
    start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with relay(lambda wire: wire.write(start), timeouts=Timeouts(silence_s=60)) as rig:
        client = await rig.client()
        client.send(POST)
        await client.until(start)
        [relayed] = rig.plane._clients
        for _ in range(3):
            relayed.tick(40.0)
            rig.upstream.wires[0].write(b"5\r\nevent\r\n")
            assert await client.read(10) == b"5\r\nevent\r\n"
        rig.upstream.wires[0].write(b"0\r\n\r\n")
        assert await client.read(5) == b"0\r\n\r\n"


async def test_idle_upstream_connection_is_closed_in_time():
    async with relay(OK, limits=Limits(upstream_idle_s=0.06)) as rig:
        client = await rig.client()
        await client.ask(GET)
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), PATIENCE_S)
        assert await client.ask(GET) == OK


async def test_leaving_while_the_upload_is_stuck_is_noticed():
    """Nothing is read from a client whose upstream is stuck; the sweep finds that it has left."""
    if not hasattr(socket, "TCP_INFO"):
        pytest.skip("this kernel does not tell")
    async with relay(OK, limits=Limits(linger_s=0.04)) as rig:
        client = await rig.client()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
        wire = await rig.upstream.begun()
        wire.transport.pause_reading()
        [relayed] = rig.plane._clients
        while not relayed._held:
            client.send(b"u" * (1 << 20))
            await asyncio.sleep(0.002)
        client.leave()
        await eventually(lambda: rig.counter("proxy_disconnects") == 1)


async def test_an_upstreams_head_that_trickles_in_takes_little_time():
    """The head is read again for each line only, a thousand at most: else one answer would take minutes."""
    sending = []

    def trickle(wire):
        wire.write(b"HTTP/1.1 200 OK\r\n")
        sending.append(asyncio.ensure_future(lines(wire)))

    async def lines(wire):
        while not wire.transport.is_closing():
            wire.write(b"a:\r\n")
            await asyncio.sleep(0)

    async with relay(trickle) as rig:
        answer = await rig.ask(GET)
        assert b"more than 1000 lines" in answer
        await sending[0]
