from __future__ import annotations

import asyncio
import json
import socket
import time
from dataclasses import replace

import pytest

from proxy import Limits, Timeouts

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def error_of(text):
    """Status and error object of an OpenAI-shaped answer."""
    head, _, body = text.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert b"content-type: application/json" in head
    return int(head.split(b" ")[1]), error


def unused_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def test_refusing_upstream_is_a_502_that_names_it(run, relay):
    """The message says which route and address, and what to check; the connection stays usable."""

    async def main():
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

    run(main)


def test_answer_to_a_failed_head_request_has_no_body(run, relay):
    """A 502 to HEAD is a head alone."""

    async def main():
        async with relay(OK, upstream_port=unused_port()) as rig:
            text = await rig.exchange(b"HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert text.startswith(b"HTTP/1.1 502 ")
            assert text.endswith(b"\r\n\r\n")

    run(main)


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
def test_upstream_that_gives_no_answer_is_a_502(run, relay, answer, code):
    """Closing, resetting, half a head and garbage: an OpenAI-shaped 502, sent once."""

    async def main():
        async with relay(answer) as rig:
            client = await rig.client()
            client.send(POST)
            status, error = error_of(await client.answer())
            assert (status, error["code"]) == (502, code)
            assert rig.upstream.received.count(b"POST") == 1

    run(main)


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize(
    "start",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n",
    ],
)
def test_truncation_reaches_the_client_as_truncation(run, relay, start, end):
    """What came is delivered, then the connection ends without the end of the message."""

    async def main():
        async with relay(lambda wire: wire.write(start)) as rig:
            client = await rig.client()
            client.send(GET)
            assert await client.read(len(start)) == start
            getattr(rig.upstream.wires[0], end)()
            assert await client.rest() == b""
            assert rig.counter("proxy_requests", status_class="aborted") == 1
            assert rig.counter("proxy_upstream_errors", reason="upstream_answer_truncated") == 1

    run(main)


def test_truncation_is_a_reset_where_the_close_is_the_end(run, relay):
    """An HTTP/1.0 client, for whom a close is a clean end, sees a reset instead."""

    async def main():
        start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"
        async with relay(lambda wire: wire.write(start)) as rig:
            client = await rig.client()
            client.send(b"GET / HTTP/1.0\r\n\r\n")
            await client.until(b"part")
            rig.upstream.wires[0].close()
            with pytest.raises(ConnectionResetError):
                await client.rest()

    run(main)


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
def test_bad_request_is_answered_and_the_connection_closed(run, relay, raw, status):
    """Nothing of it reaches the upstream."""

    async def main():
        async with relay(OK) as rig:
            found, error = error_of(await rig.exchange(raw + GET))
            assert (found, error["type"]) == (
                status,
                "invalid_request_error" if status < 500 else "upstream_error",
            )
            assert rig.upstream.wires == []

    run(main)


def test_bad_chunk_in_an_upload_is_a_400_and_cuts_the_upstream_off(run, relay):
    """The upstream never sees the end of an upload that broke."""

    async def main():
        async with relay(OK) as rig:
            client = await rig.client()
            client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
            await asyncio.wait_for(rig.upstream.accepted.wait(), 5)
            client.send(b"nonsense\r\n")
            assert error_of(await client.rest())[0] == 400
            await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 5)
            assert rig.upstream.wires[0].requests == 0

    run(main)


def test_unknown_path_is_a_404(run, relay):
    """Without a route for it, a path is answered by the relay."""

    async def main():
        async with relay(OK, prefix="/known") as rig:
            status, error = error_of(await rig.exchange(GET))
            assert (status, error["code"]) == (404, "no_route")
            assert rig.counter("proxy_requests", route="none", status_class="4xx") == 1

    run(main)


# Retries


def test_idempotent_request_is_repeated_once(run, relay):
    """A GET on a kept connection that dies unanswered is sent once more, on a fresh one."""

    def answer(wire):
        if wire.requests == 2:
            wire.close()
        else:
            wire.write(OK)

    async def main():
        async with relay(answer) as rig:
            client = await rig.client()
            for _ in range(2):
                client.send(GET)
                assert await client.answer() == OK
            assert len(rig.upstream.wires) == 2
            assert rig.counter("proxy_retries") == 1
            assert rig.counter("proxy_requests", status_class="2xx") == 2

    run(main)


def test_request_is_not_repeated_on_a_fresh_connection(run, relay):
    """A connection that was never used has no excuse: even a GET fails at once."""

    async def main():
        async with relay(lambda wire: wire.close()) as rig:
            client = await rig.client()
            client.send(GET)
            assert error_of(await client.answer())[0] == 502
            assert len(rig.upstream.wires) == 1

    run(main)


@pytest.mark.parametrize("end", ["close", "reset"])
def test_post_that_was_read_is_not_repeated(run, relay, end):
    """A completion that may have run is not run twice: the client is told."""

    def answer(wire):
        if wire.requests == 2:
            getattr(wire, end)()
        else:
            wire.write(OK)

    async def main():
        async with relay(answer) as rig:
            client = await rig.client()
            client.send(POST)
            assert await client.answer() == OK
            client.send(POST)
            assert error_of(await client.answer())[0] == 502
            assert sum(wire.requests for wire in rig.upstream.wires) == 2

    run(main)


@pytest.mark.parametrize(("policy", "header"), [("always", b""), ("never", b"Idempotency-Key: k\r\n")])
def test_post_is_repeated_if_policy_or_client_says_so(run, relay, policy, header):
    """An Idempotency-Key counts more than a careful policy."""

    def answer(wire):
        if wire.requests == 2:
            wire.close()
        else:
            wire.write(OK)

    async def main():
        async with relay(answer, retry=policy) as rig:
            client = await rig.client()
            for _ in range(2):
                client.send(b"POST / HTTP/1.1\r\nHost: x\r\n" + header + b"Content-Length: 2\r\n\r\nhi")
                assert await client.answer() == OK
            assert rig.upstream.wires[1].bodies == [b"hi"]

    run(main)


def test_post_that_cannot_have_been_read_is_repeated(run, relay):
    """The upstream closes before the request is written, unnoticed until then: it is sent again."""
    armed = []

    def timer():
        # Read first when a request begins, before anything is written upstream.
        if armed:
            armed.pop().close()
        return time.perf_counter()

    async def main():
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

    run(main)


def test_idle_connection_closed_by_the_upstream_is_not_used(run, relay, eventually):
    """A close that is seen between requests costs nothing: not even a retry."""

    async def main():
        async with relay(OK) as rig:
            client = await rig.client()
            client.send(POST)
            await client.answer()
            rig.upstream.wires[0].close()
            await eventually(lambda: not rig.plane.lanes["main"].pool._open)
            client.send(POST)
            assert await client.answer() == OK
            assert rig.counter("proxy_retries") == 0

    run(main)


@pytest.mark.parametrize(
    "answer", [OK, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"]
)
def test_unasked_bytes_end_an_idle_connection(run, relay, answer):
    """An upstream that speaks out of turn is not trusted with another request."""

    async def main():
        async with relay(answer + b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad") as rig:
            client = await rig.client()
            for _ in range(2):
                client.send(GET)
                assert await client.read(len(answer)) == answer
            assert len(rig.upstream.wires) == 2

    run(main)


# Clients that leave


def test_client_that_leaves_while_waiting_cancels_the_call(run, relay):
    """The upstream sees a closed connection while it still thinks."""

    async def main():
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

    run(main)


@pytest.mark.parametrize("framing", [b"Transfer-Encoding: chunked", b"Content-Length: 100000"])
def test_client_that_leaves_mid_stream_cancels_the_call(run, relay, framing):
    """The upstream stops paying for tokens nobody reads."""
    start = b"HTTP/1.1 200 OK\r\n" + framing + b"\r\n\r\n" + b"5\r\nfirst\r\n"

    async def main():
        async with relay(lambda wire: wire.write(start)) as rig:
            client = await rig.client()
            client.send(POST)
            await client.until(b"first")
            client.leave()
            await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 1)
            assert rig.counter("proxy_disconnects") == 1

    run(main)


def test_client_that_leaves_mid_upload_cancels_the_call(run, relay):
    """Half a request is not completed by anyone."""

    async def main():
        async with relay(OK) as rig:
            client = await rig.client()
            client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf")
            await asyncio.wait_for(rig.upstream.accepted.wait(), 5)
            client.leave()
            await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 1)
            assert rig.upstream.wires[0].requests == 0

    run(main)


def test_client_that_leaves_while_connecting_leaves_nothing_open(run, relay, eventually):
    """The attempt to connect ends with the client."""

    async def main():
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

    run(main)


def test_leaving_while_the_upload_is_stuck_is_noticed(run, relay, eventually):
    """Nothing is read from a client whose upstream is stuck; the sweep finds that it has left."""
    if not hasattr(socket, "TCP_INFO"):
        pytest.skip("this kernel does not tell")

    async def main():
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

    run(main)


# Time


def test_upstream_that_does_not_begin_is_a_504(run, relay):
    """The first-byte timeout answers, and cancels the call."""

    async def main():
        async with relay(lambda wire: None, timeouts=Timeouts(first_byte_s=0.08)) as rig:
            client = await rig.client()
            client.send(POST)
            status, error = error_of(await client.answer())
            assert (status, error["code"]) == (504, "upstream_first_byte_timeout")
            await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 1)

    run(main)


def test_upstream_that_stops_is_cut_off(run, relay):
    """The idle timeout ends a stalled stream as truncated."""
    start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"

    async def main():
        async with relay(lambda wire: wire.write(start), timeouts=Timeouts(idle_s=0.08)) as rig:
            client = await rig.client()
            client.send(GET)
            assert await client.rest() == start
            assert rig.counter("proxy_upstream_errors", reason="upstream_idle_timeout") == 1

    run(main)


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"])
def test_request_that_takes_too_long_in_all_is_ended(run, relay, start):
    """However busily an upstream drips, the total timeout holds: a 504, or a stream cut off."""

    async def drip(wire):
        wire.write(start)
        while True:
            wire.write(b"1\r\nx\r\n" if start else b"HTTP/1.1 102 Wait\r\n\r\n")
            await asyncio.sleep(0.01)  # real time is what is tested here

    async def main():
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
            await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 1)

    run(main)


def test_total_timeout_counts_connecting_and_spares_tunnels(run, relay, eventually):
    """It runs while nothing is connected, blames a slow upload on the client, and ends no WebSocket."""
    switching = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
    late = [0.0]

    async def main():
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
        full = socket.create_server(("127.0.0.1", 0), backlog=0)
        filler = [socket.socket() for _ in range(4)]
        for sock in filler:
            sock.setblocking(False)
            sock.connect_ex(full.getsockname())
        timeouts = Timeouts(total_s=0.08)
        async with relay(OK, upstream_port=full.getsockname()[1], timeouts=timeouts) as rig:
            client = await rig.client()
            client.send(POST)
            status, error = error_of(await client.answer())
            assert (status, error["code"]) == (504, "upstream_total_timeout")
        for sock in (full, *filler):
            sock.close()

    run(main)


def test_tunnel_in_which_nothing_moves_is_closed(run, relay, eventually):
    """The idle timeout ends a tunnel on both sides."""
    switching = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"

    async def main():
        async with relay(lambda wire: wire.write(switching), timeouts=Timeouts(idle_s=0.08)) as rig:
            client = await rig.client()
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
            assert await client.rest() == switching
            await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 1)
            await eventually(lambda: rig.counter("proxy_in_flight") == 0)

    run(main)


def test_slow_but_steady_stream_is_not_cut_off(run, relay):
    """A stream may last longer than every timeout if something keeps coming."""
    timeouts = Timeouts(first_byte_s=0.2, idle_s=0.2)

    async def main():
        async with relay(
            lambda wire: wire.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            timeouts=timeouts,
        ) as rig:
            client = await rig.client()
            client.send(GET)
            await client.until(b"\r\n\r\n")
            for _ in range(8):
                await asyncio.sleep(0.05)  # real time is what is tested here
                rig.upstream.wires[0].write(b"1\r\nx\r\n")
                assert await client.read(6) == b"1\r\nx\r\n"

    run(main)


def test_upstream_that_does_not_accept_is_a_504(run, relay):
    """The connect timeout has its own error."""

    async def main():
        full = socket.create_server(("127.0.0.1", 0), backlog=0)
        filler = [socket.socket() for _ in range(4)]
        for sock in filler:
            sock.setblocking(False)
            sock.connect_ex(full.getsockname())
        async with relay(OK, upstream_port=full.getsockname()[1], timeouts=Timeouts(connect_s=0.1)) as rig:
            client = await rig.client()
            client.send(POST)
            status, error = error_of(await client.answer())
            assert (status, error["code"]) == (504, "upstream_connect_timeout")
        for sock in (full, *filler):
            sock.close()

    run(main)


def test_slow_head_is_cut_off_however_busily_it_drips(run, relay):
    """The time for a head runs from its first byte; more bytes do not extend it."""

    async def main():
        async with relay(OK, limits=Limits(client_head_s=0.1)) as rig:
            client = await rig.client()
            dripping = asyncio.create_task(drip(client))
            assert error_of(await client.rest())[0] == 408
            dripping.cancel()

    async def drip(client):
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
        while True:
            client.send(b"x")
            await asyncio.sleep(0.01)  # real time is what is tested here

    run(main)


def test_silent_client_and_stalled_upload_are_let_go(run, relay):
    """A connection without requests is closed; an upload that stops is a 408."""

    async def main():
        limits = Limits(client_idle_s=0.08)
        async with relay(OK, limits=limits, timeouts=Timeouts(idle_s=0.08)) as rig:
            assert await (await rig.client()).rest() == b""
            text = await rig.exchange(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
            assert error_of(text)[0] == 408

    run(main)


def test_client_that_goes_on_sending_after_its_refusal_is_not_cut_off(run, relay, eventually):
    """It is waited for until it has sent all and closes, but not for ever."""
    late = [0.0]

    async def main():
        limits = Limits(linger_s=0.1)
        async with relay(OK, limits=limits, timer=lambda: time.perf_counter() + late[0]) as rig:
            client = await rig.client()
            client.send(b"nonsense\r\n\r\n")
            assert error_of(await client.rest())[0] == 400
            [refused] = rig.plane._clients
            for _ in range(10):
                await asyncio.sleep(0.03)  # real time is what is tested here
                client.send(b"more")
            assert not refused.transport.is_closing()
            late[0] = limits.client_idle_s
            await eventually(refused.transport.is_closing)

    run(main)


def test_idle_upstream_connection_is_closed_in_time(run, relay):
    """Unused connections do not pile up."""

    async def main():
        async with relay(OK, limits=Limits(upstream_idle_s=0.06)) as rig:
            client = await rig.client()
            client.send(GET)
            await client.answer()
            await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 2)
            client.send(GET)
            assert await client.answer() == OK

    run(main)


# Drain


def test_drain_lets_requests_finish_and_closes_the_rest(run, relay):
    """Idle connections close at once; an answer in flight says close, arrives, and is the last."""

    async def main():
        async with relay(lambda wire: None) as rig:
            idle = await rig.client()
            busy = await rig.client()
            busy.send(POST)
            await asyncio.wait_for(rig.upstream.accepted.wait(), 5)
            await asyncio.wait_for(rig.upstream.wires[0].started.wait(), 5)
            draining = asyncio.create_task(rig.plane.drain(5))
            assert await idle.rest() == b""
            with pytest.raises(OSError):  # noqa: PT011 - refused or reset, by platform
                await (await rig.client()).read(1)
            rig.upstream.wires[0].write(OK)
            assert await busy.rest() == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
            await asyncio.wait_for(draining, 1)

    run(main)


def test_drain_ends_with_the_last_stream(run, relay):
    """An answer that had begun before, and so did not say close, ends its connection all the same."""

    async def main():
        async with relay(
            lambda wire: wire.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        ) as rig:
            client = await rig.client()
            client.send(GET)
            await client.until(b"\r\n\r\n")
            draining = asyncio.create_task(rig.plane.drain(10))
            await asyncio.sleep(0)
            rig.upstream.wires[0].write(b"0\r\n\r\n")
            assert await client.rest() == b"0\r\n\r\n"
            await asyncio.wait_for(draining, 2)

    run(main)


def test_drain_is_finite(run, relay):
    """What has not finished in time is dropped."""

    async def main():
        async with relay(lambda wire: None) as rig:
            client = await rig.client()
            client.send(POST)
            await asyncio.wait_for(rig.upstream.accepted.wait(), 5)
            await rig.plane.drain(0.05)
            assert rig.counter("proxy_in_flight") == 0
            await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), 1)

    run(main)
