"""Connections: reuse, pipelining, 100-continue, uploads as they come, and what leaves HTTP."""

import base64
import functools
import hashlib
import http.client

import pytest

from tests.clients.raw import raw
from tests.clients.recording import OK, fixed
from tests.proxy.websocket import frame

GET = b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
ACCEPT_SALT = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
KEY = base64.b64encode(bytes(range(16)))


async def numbered(wire, request):
    """Answers with the request's target and body, every third time in chunks."""
    text = request.target + b" " + await wire.body()
    if request.target.endswith(b"3"):
        wire.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        wire.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(text), text))
    else:
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text))


def request(number):
    """A request, another one for each number."""
    body = b"body-%d" % number
    return {
        0: b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number,
        1: b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (number, len(body), body),
        2: b"PUT /%d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\nX-T: 1\r\n\r\n"
        % (number, len(body), body),
    }[number % 3]


def test_one_connection_serves_many_requests(paths, upstream):
    """A hundred requests of one client take one connection to the upstream, as they would directly."""
    upstream.handler = numbered

    def talk(port):
        with raw(port) as client:
            answers = []
            for number in range(100):
                answers.append(client.ask(request(number)))
        return answers

    direct, proxied = paths.both(talk)
    assert proxied == direct
    assert len(upstream.wires) == 2


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_close_is_obeyed(paths, upstream, number):
    """A client that asks for the last answer gets it and then the end; nothing it sent later is served."""
    upstream.handler = numbered
    last = request(number).replace(b"Host: x\r\n", b"Host: x\r\nConnection: close\r\n")
    with raw(paths.proxy.port) as client:
        head, body = client.ask(last + request(7))
        assert client.rest() == b""
    assert body.startswith(b"/%d " % number)
    assert b"\r\nConnection: close\r\n" in head
    assert len(upstream.requests) == 1


EXPECTING = b"POST /v1/files HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"


def test_a_client_that_asks_for_100_continue_gets_the_upstreams(paths, upstream):
    """The body is sent only after the upstream has asked for it; its head was there before."""

    async def handler(wire, recorded):
        wire.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await wire.body()
        wire.write(OK)

    def talk(port):
        with raw(port) as client:
            client.send(EXPECTING)
            interim = client.until(b"\r\n\r\n")
            return interim, client.ask(b"body")

    upstream.handler = handler
    direct, proxied = paths.both(talk)
    assert proxied == direct
    assert [recorded.body for recorded in upstream.requests] == [b"body", b"body"]
    assert upstream.requests[1].field(b"expect") == b"100-continue"


def test_a_refusal_in_the_middle_of_an_upload_is_read_by_a_client_that_sends_on(paths, upstream):
    """A client that uploads all before it reads finds the answer that came early, as it does directly."""

    async def handler(wire, recorded):
        await wire.exactly(1000)
        wire.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        await wire.body()

    def talk(port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=240)
        connection.request("POST", "/v1/files", bytes(12 << 20))
        answer = connection.getresponse()
        seen = answer.status, answer.reason, answer.read()
        connection.close()
        return seen

    upstream.handler = handler
    assert talk(paths.proxy.port) == (413, "Too Large", b"big")


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_uploads_reach_the_upstream_while_they_are_sent(paths, upstream, framing):
    """Each piece is with the upstream before the client sends the next: nothing is collected."""

    def talk(port):
        wires = len(upstream.wires)

        def arrived(piece):
            return len(upstream.wires) > wires and piece in upstream.wires[-1].received

        with raw(port) as client:
            field = b"Transfer-Encoding: chunked" if framing == "chunked" else b"Content-Length: 400"
            client.send(b"POST /v1/files HTTP/1.1\r\nHost: x\r\n" + field + b"\r\n\r\n")
            for number in range(20):
                piece = b"%020d" % number
                client.send(b"14\r\n%b\r\n" % piece if framing == "chunked" else piece)
                upstream.eventually(functools.partial(arrived, piece))
            return client.ask(b"0\r\n\r\n" if framing == "chunked" else b"")

    direct, proxied = paths.both(talk)
    assert proxied == direct == (OK[:-2], b"ok")
    assert upstream.requests[-1].body == b"".join(b"%020d" % number for number in range(20))


async def echo(wire, recorded):
    """A WebSocket server that says back what it hears, until it hears a close frame."""
    accept = base64.b64encode(hashlib.sha1(recorded.field(b"sec-websocket-key") + ACCEPT_SALT).digest())
    wire.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\nSec-WebSocket-Protocol: realtime\r\n\r\n" + frame(b"hello")
    )
    opcode = 0
    while opcode != 8:
        first, second = await wire.exactly(2)
        opcode = first & 15
        size = second & 127
        if size == 126:
            size = int.from_bytes(await wire.exactly(2), "big")
        mask = await wire.exactly(4)
        masked = await wire.exactly(size)
        wire.write(frame(bytes(byte ^ mask[place % 4] for place, byte in enumerate(masked)), opcode))


def test_a_websocket_passes_in_both_directions(paths, upstream):
    """Handshake, frames of all kinds and the close are those of a direct connection."""
    upstream.handler = echo

    def talk(port):
        with raw(port) as client:
            client.send(
                b"GET /v1/realtime?model=m HTTP/1.1\r\nHost: %b\r\nConnection: Upgrade\r\n"
                b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %b\r\n"
                b"Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.K\r\n\r\n"
                % (upstream.authority, KEY)
            )
            seen = [client.until(b"\r\n\r\n"), client.read(7)]
            for opcode, payload in (
                (1, b'{"type":"session.update"}'),
                (2, bytes(range(256)) * 200),
                (9, b"ping"),
                (8, b"\x03\xe8"),
            ):
                client.send(frame(payload, opcode, mask=b"\x01\x80\xff\x7f"))
                seen.append(client.read(len(frame(payload, opcode))))
            return [*seen, client.rest()]

    direct, proxied = paths.both(talk)
    assert proxied == direct
    assert b"\r\nSec-WebSocket-Accept: " in proxied[0]
    assert proxied[1:3] == [frame(b"hello"), frame(b'{"type":"session.update"}')]
    assert upstream.requests[1].head == upstream.requests[0].head


@pytest.mark.parametrize("ending", ["client", "upstream"])
def test_any_upgrade_is_a_tunnel_until_one_side_ends_it(paths, upstream, ending):
    """Bytes behind the 101 are not looked at, and the end of one side reaches the other."""

    async def handler(wire, recorded):
        wire.write(b"HTTP/1.1 101 Sure\r\nConnection: upgrade\r\nUpgrade: odd/2\r\n\r\n")
        taken = b""
        while not taken.endswith(b"stop"):
            taken += await wire.exactly(1)
        wire.write(taken[::-1])
        if ending == "upstream":
            wire.close()
        else:
            while True:
                await wire.more()

    noise = bytes(range(256)) + b"HTTP/1.1 400 No\r\n\r\n" * 3 + b"stop"

    def talk(port):
        with raw(port) as client:
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: odd/2\r\n\r\n")
            seen = [client.until(b"\r\n\r\n")]
            client.send(noise)
            seen.append(client.read(len(noise)))
            if ending == "upstream":
                seen.append(client.rest())
        upstream.eventually(lambda: upstream.wires[-1].ended)
        return seen

    upstream.handler = handler
    direct, proxied = paths.both(talk)
    assert proxied == direct
    assert proxied[1] == noise[::-1]


def test_what_is_sent_with_the_handshake_is_not_lost(paths, upstream):
    """An eager client may speak before the upstream has agreed: its bytes come first in the tunnel."""

    async def handler(wire, recorded):
        wire.write(b"HTTP/1.1 101 Sure\r\nConnection: upgrade\r\nUpgrade: odd\r\n\r\nfrom-upstream")
        wire.write(await wire.exactly(11))
        wire.write(await wire.exactly(5))

    def talk(port):
        with raw(port) as client:
            client.send(
                b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: odd\r\n\r\nfrom-client"
            )
            seen = client.until(b"from-client")
            client.send(b"later")
            return seen, client.until(b"later")

    upstream.handler = handler
    direct, proxied = paths.both(talk)
    assert proxied == direct
    assert proxied[0].endswith(b"\r\n\r\nfrom-upstreamfrom-client")


def test_both_directions_of_one_request_flow_at_once(paths, upstream):
    """An answer may begin before the upload ends and go on with it: each piece is echoed before the next."""

    async def handler(wire, recorded):
        wire.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        body = b""
        while size := int((await wire.until(b"\r\n")).strip(), 16):
            piece = await wire.exactly(size)
            await wire.exactly(2)
            body += piece
            wire.write(b"%x\r\n%b\r\n" % (size, piece))
        await wire.exactly(2)
        wire.write(b"0\r\n\r\n")

    def talk(port):
        with raw(port) as client:
            client.send(b"POST /v1/audio/live HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            client.until(b"\r\n\r\n")
            seen = []
            for number in range(20):
                piece = b"6\r\n%06d\r\n" % number
                client.send(piece)
                seen.append(client.read(len(piece)))
            client.send(b"0\r\n\r\n")
            return seen, client.read(5)

    upstream.handler = handler
    direct, proxied = paths.both(talk)
    assert proxied == direct


def test_a_client_that_reads_slowly_gets_all_of_it(paths, upstream):
    """Sixty megabytes pass whole to a reader that pauses, and the upstream is made to wait meanwhile."""
    blob = bytes(range(256)) * (60 << 12)  # more than the sockets of any system take
    waiting = [-1]

    def settled():
        waiting.append(upstream.call(upstream.wires[-1].transport.get_write_buffer_size))
        return waiting[-1] == waiting[-2]

    upstream.handler = fixed(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(blob) + blob)
    with raw(paths.proxy.port) as client:
        client.send(GET)
        client.until(b"\r\n\r\n")
        upstream.eventually(settled)
        assert waiting[-1] > 0
        assert client.read(len(blob)) == blob
        assert client.ask(GET)[0].endswith(b"Content-Length: %d\r\n\r\n" % len(blob))
