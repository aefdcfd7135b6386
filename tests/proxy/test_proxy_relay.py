from __future__ import annotations

import asyncio

import pytest

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CLOSE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


async def test_request_changes_only_where_it_must(relay):
    """Case, order, duplicates, spacing and body pass; Host is rewritten, hop-by-hop fields go."""
    async with relay(OK) as rig:
        await_close = await rig.exchange(
            b"POST /any/%7Epath/../x?q=%20&a+b HTTP/1.1\r\n"
            b"hOST: app.example\r\nX-b: 1\r\nX-A:2\r\nx-B:  3\r\nAccept: */*\r\n"
            b"Connection: close, X-Private\r\nX-Private: p\r\nKeep-Alive: 5\r\nTE: trailers\r\n"
            b"X-Evenkeel-Task: t\r\nCOOKIE: a=\xe9\r\nContent-Length: 4\r\n\r\n\x00\xff\r\n"
        )
        host = b"127.0.0.1:%d" % rig.upstream.port
        assert rig.upstream.received == (
            b"POST /any/%7Epath/../x?q=%20&a+b HTTP/1.1\r\n"
            b"hOST: " + host + b"\r\nX-b: 1\r\nX-A:2\r\nx-B:  3\r\nAccept: */*\r\n"
            b"COOKIE: a=\xe9\r\nContent-Length: 4\r\n\r\n\x00\xff\r\n"
        )
        assert await_close == b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


async def test_response_changes_only_where_it_must(relay):
    """Status, reason, fields and body pass; fields of the upstream's own connection go."""
    answer = (
        b"HTTP/1.1 299 Odd  Reason\r\nSet-Cookie: a\r\nset-cookie: b\r\nX-H: \xe9\r\n"
        b"Connection: X-Hop, keep-alive\r\n"
        b"Keep-Alive: timeout=5\r\nX-Hop: 1\r\nContent-Encoding: gzip\r\n"
        b"Content-Length: 3\r\n\r\n\x1f\x8b\x00"
    )
    async with relay(answer) as rig:
        client = await rig.client()
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await client.answer() == (
            b"HTTP/1.1 299 Odd  Reason\r\nSet-Cookie: a\r\nset-cookie: b\r\nX-H: \xe9\r\n"
            b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x00"
        )


async def test_keep_alive_is_said_to_nobody_else(relay):
    """The commonest connection option goes too, both ways, and everything else stays in place."""
    answer = b"HTTP/1.1 200 OK\r\nA: 1\r\nConnection: keep-alive\r\nContent-Length: 2\r\nB: 2\r\n\r\nok"
    async with relay(answer) as rig:
        client = await rig.client()
        client.send(b"GET / HTTP/1.1\r\nA: 1\r\nconnection:Keep-Alive\r\nHost: x\r\nB: 2\r\n\r\n")
        assert await client.answer() == b"HTTP/1.1 200 OK\r\nA: 1\r\nContent-Length: 2\r\nB: 2\r\n\r\nok"
        host = b"127.0.0.1:%d" % rig.upstream.port
        assert rig.upstream.received == b"GET / HTTP/1.1\r\nA: 1\r\nHost: " + host + b"\r\nB: 2\r\n\r\n"


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


@pytest.mark.parametrize(
    "method", [b"GET", b"OPTIONS", b"PATCH", b"DELETE", b"PROPFIND", b"QUERY", b"x-odd!"]
)
async def test_any_method_passes(relay, method):
    """A method that no one has heard of is forwarded like any other."""
    async with relay(OK, parse=False) as rig:
        rig.upstream.on_data = lambda wire, data: wire.write(OK)
        client = await rig.client()
        client.send(method + b" /x HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await client.answer() == OK
        assert rig.upstream.received.startswith(method + b" /x HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n"),
        (b"HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\nETag: x\r\n\r\n"),
        (b"DELETE", b"HTTP/1.1 204 No Content\r\n\r\n"),
        (b"GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
)
async def test_answers_without_a_body_end_at_their_head(relay, method, answer):
    """Both connections are used again after an answer that has a length but no body."""
    async with relay(answer) as rig:
        client = await rig.client()
        for _ in range(3):
            client.send(method + b" / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await client.until(b"\r\n\r\n") == answer
        assert len(rig.upstream.wires) == 1


async def test_keep_alive_uses_one_connection_each_way(relay):
    """Many requests of one client take one upstream connection."""
    async with relay(OK) as rig:
        client = await rig.client()
        for number in range(20):
            client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n%03d" % number)
            assert await client.answer() == OK
        assert len(rig.upstream.wires) == 1
        assert rig.upstream.wires[0].bodies == [b"%03d" % number for number in range(20)]
        assert rig.counter("proxy_requests", status_class="2xx") == 20
        assert rig.counter("proxy_in_flight") == 0


async def test_pipelined_requests_are_answered_in_order(relay):
    """Requests that arrive together are served one after the other, bodies told apart."""

    def answer(wire):
        body = wire.bodies[-1]
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    async with relay(answer) as rig:
        client = await rig.client()
        client.send(
            b"\r\nPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na"
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"2\r\nbb\r\n0\r\nT: 1\r\n\r\n"
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nccc"
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nignored"
        )
        text = await client.rest()
        assert [part[-4:].strip() for part in text.split(b"HTTP/1.1")[1:]] == [b"a", b"bb", b"ccc"]
        assert rig.upstream.wires[0].bodies == [b"a", b"bb", b"ccc"]


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


async def test_chunked_upload_reaches_the_upstream_as_it_arrives(relay, eventually):
    """Each piece of a chunked upload is sent on before the next one comes; the trailer is dropped."""
    async with relay(OK) as rig:
        client = await rig.client()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in (b"one", b"two", b"three"):
            client.send(b"%x;ext=1\r\n%b\r\n" % (len(piece), piece))
            await eventually(lambda: rig.upstream.received.endswith(piece + b"\r\n"))  # noqa: B023 - called at once
        client.send(b"0\r\nX-Trailer: 1\r\n\r\n")
        assert await client.answer() == OK
        assert rig.upstream.wires[0].bodies == [b"onetwothree"]
        assert b"X-Trailer" not in rig.upstream.received


async def test_expect_continue_passes_both_ways(relay):
    """The upstream's 100 reaches the client, which sends its body only then."""
    async with relay(OK) as rig:
        rig.upstream.on_data = lambda wire, data: (
            wire.write(b"HTTP/1.1 100 Continue\r\nX-I: 1\r\n\r\n") if b"Expect" in data else None
        )
        client = await rig.client()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert await client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\nX-I: 1\r\n\r\n"
        client.send(b"body")
        assert await client.answer() == OK
        assert rig.upstream.wires[0].bodies == [b"body"]


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


async def test_http_1_0_client_gets_what_it_can_read(relay):
    """A chunked answer reaches an HTTP/1.0 client without chunks, ended by the close."""
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    async with relay(answer) as rig:
        text = await rig.exchange(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert text == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcde"
        assert rig.upstream.received == b"GET /a HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % rig.upstream.port


async def test_http_1_0_client_keeps_a_connection_it_asked_to_keep(relay):
    """With a length, an HTTP/1.0 connection is kept, and the client is told so."""
    async with relay(OK) as rig:
        client = await rig.client()
        for _ in range(2):
            client.send(b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
            assert b"\r\nConnection: keep-alive\r\n" in await client.answer()
        client.send(b"GET / HTTP/1.0\r\n\r\n")
        assert b"\r\nConnection: close\r\n" in await client.rest()


async def test_body_ended_by_the_close_becomes_chunked(relay):
    """An answer without a length, ended by the upstream's close, has a clean end for the client."""

    def answer(wire):
        wire.write(b"HTTP/1.0 200 Fine\r\nX: 1\r\n\r\nsome ")
        wire.write(b"bytes")
        wire.close()

    async with relay(answer) as rig:
        client = await rig.client()
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        text = await client.until(b"0\r\n\r\n")
        head, _, body = text.partition(b"\r\n\r\n")
        assert head == b"HTTP/1.1 200 Fine\r\nX: 1\r\nTransfer-Encoding: chunked"
        assert body in {b"5\r\nsome \r\n5\r\nbytes\r\n0\r\n\r\n", b"a\r\nsome bytes\r\n0\r\n\r\n"}


async def test_websocket_is_tunnelled(relay):
    """After 101 bytes pass both ways unread, and one side's end is passed on."""

    def answer(wire):
        wire.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81hello"
        )
        wire._parser = None
        wire.upstream.on_data = lambda wire, data: wire.write(b"echo:" + data)

    async with relay(answer, parse=True) as rig:
        client = await rig.client()
        client.send(
            b"GET /v1/realtime HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n"
        )
        text = await client.until(b"\x81hello")
        assert text.startswith(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        )
        assert b"Connection: Upgrade\r\nUpgrade: websocket\r\n" in rig.upstream.received
        client.send(b"\x00\xff raw")
        assert await client.read(10) == b"echo:\x00\xff ra"
        assert await client.read(1) == b"w"
        rig.upstream.wires[0].close()
        assert await client.rest() == b""


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


async def test_declined_upgrade_goes_on_with_http(relay):
    """An upstream that does not switch answers as usual, and the connection serves the next request."""
    async with relay(OK) as rig:
        client = await rig.client()
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: foo\r\n\r\n")
        assert await client.answer() == OK
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await client.answer() == OK


async def test_base_path_and_prefix_are_applied(relay):
    """The route's prefix goes and /v1 moves to the upstream's base path; the query stays."""
    async with relay(OK, base="/openai/deployments/m", prefix="/triage") as rig:
        client = await rig.client()
        client.send(b"GET /triage/v1/chat/completions?api-version=1%2F2 HTTP/1.1\r\nHost: x\r\n\r\n")
        await client.answer()
        assert rig.upstream.received.startswith(
            b"GET /openai/deployments/m/chat/completions?api-version=1%2F2 HTTP/1.1\r\n"
        )


async def test_large_bodies_pass_whole_in_both_directions(relay):
    """Megabytes up and down arrive byte for byte, through full buffers."""
    blob = bytes(range(256)) * 16384

    def answer(wire):
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(blob) + blob)

    async with relay(answer) as rig:
        client = await rig.client()
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(blob) + blob)
        text = await client.answer()
        assert text.endswith(blob)
        assert len(text) < len(blob) + 100
        assert rig.upstream.wires[0].bodies == [blob]


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
