"""Clients are sent, byte for byte, what they are sent without evenkeel."""

import gzip

import brotli
import pytest
import zstandard

from tests.clients.raw import raw
from tests.clients.recording import OK, fixed, holding

TEXT = b'{"choices":[{"message":{"content":"caf\xc3\xa9"}}]}\n'
SENTINEL = b"HTTP/1.1 222 Next\r\nContent-Length: 4\r\n\r\nnext"


def framed(body, fields=b"", line=b"HTTP/1.1 200 OK"):
    return line + b"\r\n" + fields + b"Content-Length: %d\r\n\r\n" % len(body) + body


UNCHANGED = {
    "plain": framed(TEXT, b"Content-Type: application/json\r\n"),
    "gzip": framed(gzip.compress(TEXT, mtime=0), b"Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n"),
    "br": framed(brotli.compress(TEXT), b"content-encoding: br\r\n"),
    "zstd": framed(zstandard.compress(TEXT), b"Content-Encoding: zstd\r\n"),
    "said to be gzip": framed(TEXT, b"Content-Encoding: gzip\r\n"),
    "every byte": framed(bytes(range(256)) * 64, b"Content-Type: audio/mpeg\r\n"),
    "three megabytes": framed(bytes(range(256)) * 12288),
    "empty": framed(b""),
    "rate limits": framed(
        b"{}",
        b"Retry-After: 20\r\nretry-after-ms: 20000\r\nx-ratelimit-remaining-tokens: 0\r\nx-request-id: r\r\n",
        b"HTTP/1.1 429 Too Many Requests",
    ),
    "duplicates, order and case": framed(
        b"{}", b"Set-Cookie: a=1\r\nSERVER: x\r\nset-cookie: b=2\r\nset-cookie: a=1\r\nDate: yesterday\r\n"
    ),
    "odd spacing": framed(b"{}", b"X-A:none\r\nX-B:   many   \r\nX-C:\r\nX-D: \xe9\xff\r\n"),
    "no server and no date are added": framed(b"{}"),
    "odd reason": framed(b"{}", b"", b"HTTP/1.1 299 It  is\tfine \xe9"),
    "empty reason": framed(b"{}", b"", b"HTTP/1.1 200 "),
    "no reason": framed(b"{}", b"", b"HTTP/1.1 200"),
    "status nobody knows": framed(b"{}", b"", b"HTTP/1.1 799 Odd"),
    "redirect": framed(b"", b"Location: http://elsewhere.example/v1\r\n", b"HTTP/1.1 307 Temporary"),
    "challenge": framed(b"{}", b'WWW-Authenticate: Bearer realm="x"\r\n', b"HTTP/1.1 401 Unauthorized"),
    "teapot": framed(TEXT, b"", b"HTTP/1.1 418 I'm a teapot"),
    "error page": framed(b"<html>", b"Content-Type: text/html\r\n", b"HTTP/1.1 503 Unavailable"),
    "large head": framed(b"{}", b"X-Long: " + b"v" * 100_000 + b"\r\n"),
    "204": b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n",
    "304": b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\nContent-Length: 99\r\n\r\n',
    "205": b"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n",
    "interim": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + OK,
}


WITHOUT_BODY = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 12345\r\nX-A: 1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\n",
]


@pytest.mark.parametrize(
    ("method", "answer"),
    [*((b"GET", answer) for answer in UNCHANGED.values()), *((b"HEAD", answer) for answer in WITHOUT_BODY)],
    ids=[*UNCHANGED, *(f"to HEAD {number}" for number in range(len(WITHOUT_BODY)))],
)
def test_answers_pass_byte_for_byte_and_the_connection_goes_on(paths, upstream, method, answer):
    """Status line, fields and body are the upstream's, none follows HEAD; the next request is answered."""

    async def handler(wire, request):
        await wire.body()
        wire.write(SENTINEL if request.target == b"/next" else answer)

    def talk(port):
        with raw(port) as client:
            client.send(method + b" /v1/x HTTP/1.1\r\nHost: x\r\n\r\n")
            text = client.read(len(answer))
            client.send(b"GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
            return text, client.read(len(SENTINEL))

    upstream.handler = handler
    direct, proxied = paths.both(talk)
    assert proxied == direct == (answer, SENTINEL)


@pytest.mark.parametrize(
    "dropped",
    [
        b"Connection: keep-alive\r\nKeep-Alive: timeout=5, max=100\r\n",
        b"Connection: X-Hop\r\nX-Hop: 1\r\nx-hop: 2\r\n",
        b"connection: close, x-hop\r\nX-HOP: 1\r\n",
        b"Proxy-Connection: keep-alive\r\nTrailer: X-T\r\nUpgrade: h2, h2c\r\n",
        b'Proxy-Authenticate: Basic realm="x"\r\n',
    ],
)
def test_fields_of_the_upstreams_connection_end_at_it(paths, upstream, dropped):
    """Hop-by-hop fields and those named by `Connection` are removed; the client's connection stays open."""
    start, end = b"HTTP/1.1 200 OK\r\nX-Before: 1\r\n", b"X-After: 1\r\nContent-Length: 2\r\n\r\n{}"
    upstream.handler = fixed(start + dropped + end)
    with raw(paths.proxy.port) as client:
        for _ in range(2):
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.read(len(start + end)) == start + end


@pytest.mark.parametrize(
    ("sent", "payload"),
    [
        (b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", b"hello world"),
        (b"0b;a=1\r\nhello world\r\n0\r\nX-T: 1\r\nGrpc-Status: 0\r\n\r\n", b"hello world"),
        (b"0\r\n\r\n", b""),
    ],
)
def test_chunked_answers_keep_their_payload_and_lose_their_trailers(paths, upstream, sent, payload):
    """The head is unchanged, the payload too; the connection goes on after it."""
    start = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    def talk(port):
        with raw(port) as client:
            upstream.handler = fixed(start + sent)
            first = client.ask(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            upstream.handler = fixed(SENTINEL)
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            return first, client.read(len(SENTINEL))

    direct, proxied = paths.both(talk)
    assert proxied == direct == ((start, payload), SENTINEL)


def test_each_event_arrives_before_the_next_is_made(paths, upstream):
    """The upstream sends an event only after the client has received the one before: nothing is held back."""
    events = [b'data: {"n": %d}\n\n' % number for number in range(30)]

    def talk(port):
        pieces = iter(events)

        async def handler(wire, request):
            await wire.body()
            wire.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            talking.append(wire)

        talking = []
        upstream.handler = handler
        with raw(port) as client:
            client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            seen = [client.until(b"\r\n\r\n")]
            for event in pieces:
                chunk = b"%x\r\n%b\r\n" % (len(event), event)
                upstream.call(lambda: talking[0].write(chunk))  # noqa: B023 - called at once
                seen.append(client.read(len(chunk)))
        return seen

    direct, proxied = paths.both(talk)
    assert proxied == direct
    assert len(proxied) == 31


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_an_answer_ended_by_the_close_ends_cleanly(paths, upstream, version):
    """All of it arrives; an HTTP/1.1 client is told where it ends, an HTTP/1.0 client sees the close."""

    async def handler(wire, request):
        await wire.body()
        wire.write(b"HTTP/1.0 200 Fine\r\nX-A: 1\r\n\r\n")
        wire.write(b"some bytes\r\n" * 1000)
        wire.close()

    upstream.handler = handler
    with raw(paths.proxy.port) as client:
        head, body = client.ask(b"GET / HTTP/" + version + b"\r\nHost: x\r\n\r\n")
    assert body == b"some bytes\r\n" * 1000
    assert head.startswith(b"HTTP/1.1 200 Fine\r\nX-A: 1\r\n")
    assert (b"\r\nTransfer-Encoding: chunked\r\n" in head) == (version == b"1.1")


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n", "close"),
        # Without framing a reset is all that tells a loss from an end.
        (b"HTTP/1.0 200 OK\r\n\r\npart", "reset"),
    ],
)
def test_a_cut_answer_is_seen_to_be_cut_by_an_http_1_0_client(paths, upstream, start, end):
    """The client can read no chunks, so where the close would be the end it sees a reset."""
    upstream.handler = holding(start)
    with raw(paths.proxy.port) as client:
        client.send(b"GET / HTTP/1.0\r\nHost: x\r\n\r\n")
        client.until(b"part")
        upstream.call(getattr(upstream.wires[-1], end))
        with pytest.raises(ConnectionResetError):
            client.rest()


@pytest.mark.parametrize(
    "answer", [OK, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"]
)
def test_http_1_0_clients_are_sent_what_they_can_read(paths, upstream, answer):
    """Never chunks; the close ends the answer unless the client asked to keep the connection."""
    upstream.handler = fixed(answer)
    with raw(paths.proxy.port) as client:
        client.send(b"GET / HTTP/1.0\r\n\r\n")
        head, _, body = client.rest().partition(b"\r\n\r\n")
    assert body == b"ok"
    assert b"chunked" not in head
    assert b"\r\nConnection: close" in head
