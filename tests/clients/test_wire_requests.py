"""Upstreams are sent, byte for byte, what they are sent without evenkeel."""

import gzip

import brotli
import pytest
import zstandard

from tests.clients.raw import raw
from tests.clients.recording import OK

TEXT = b'{"model":"m","messages":[{"role":"user","content":"caf\xc3\xa9 \xf0\x9f\x98\x80"}]}\n'
MULTIPART = (
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a\r\n b.bin"\r\n'
    b"Content-Type: application/octet-stream\r\n\r\n"
    + bytes(range(256))
    + b"\r\n\r\n--b\n--b--\r\n--b--\r\n epilogue"
)
METHODS = [
    *(b"GET", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE"),
    *(b"PROPFIND", b"QUERY", b"PURGE", b"get", b"M-SEARCH", b"!#$%&'*+-.^_`|~9z"),
]
TARGETS = [
    b"/v1/chat/completions",
    b"/",
    b"//v1//models/",
    b"//other.example/v1",
    b"/v1/../v1/./models",
    b"/v1/files/%2e%2e/a",
    b"/a%2Fb/%2f?x=%2F&y=%2f",
    b"/a?a=%2F&a",
    b"/a?",
    b"/a??b=?c=/&&=&",
    b"/a;p=1?q=a+b%20c",
    b"/v1?api-version=2024-10-21",
    b"/caf\xc3\xa9?n=\xe9\xff",
    b"/%zz/%/%u00e9",
    b"/{id}|\\^`<>\"'",
    b"/a#fragment",
    b"/" + b"long/" * 3000,
    b"*",
]
HEADERS = {
    "order, case and duplicates": b"X-B: 2\r\nx-a: 1\r\nX-b: 3\r\nAUTHORIZATION: Bearer K\r\nX-B: 2\r\n",
    "odd spacing": b"X-A:none\r\nX-B:   many   \r\nX-C:\t tab\t\r\nX-D:\r\nX-E:  \r\n",
    "bytes outside ASCII": b"X-Latin: caf\xe9\r\nX-UTF: caf\xc3\xa9 \xff\r\n",
    "no user agent and no accept are added": b"",
    "what clients negotiate": b"Accept: */*\r\nAccept-Encoding: gzip, br;q=0.5\r\nUser-Agent: a/1 (b)\r\n",
    "proxies' own traces": b"Via: 1.0 fred\r\nForwarded: for=a\r\nX-Forwarded-For: 1.2.3.4\r\n",
    "tracing": b"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\ntracestate: a=b\r\n",
    "caches": b'If-None-Match: W/"x", "y"\r\nCache-Control: no-cache\r\nRange: bytes=0-1\r\n',
    "cookies": b"Cookie: a=b; c=d\r\nCookie: e=f\r\n",
    "names like special ones": b"X-Connection: close\r\nHosts: a\r\nTransfer-Encodings: x\r\nTEA: 1\r\n",
    "every token character": b"!#$%&'*+-.^_`|~0aZ: 1\r\n",
    "one long value": b"X-Long: " + b"v" * 30_000 + b"\r\n",
    "two hundred fields": b"".join(b"X-%d: %d\r\n" % (number, number) for number in range(200)),
}
BODIES = {
    "gzip": (b"Content-Encoding: gzip\r\n", gzip.compress(TEXT, mtime=0)),
    "br": (b"Content-Encoding: br\r\n", brotli.compress(TEXT)),
    "zstd": (b"content-encoding: zstd\r\n", zstandard.compress(TEXT)),
    "said to be gzip": (b"Content-Encoding: gzip\r\n", TEXT),
    "multipart": (b'Content-Type: multipart/form-data; boundary="b"\r\n', MULTIPART),
    "not JSON": (b"Content-Type: application/json\r\n", b'{"a": NaN, "a": 1,}\x00\xff\r\n\r\n0\r\n\r\n'),
    "spaced JSON": (b"Content-Type: application/json\r\n", b'\r\n{ "b" : 1.0 , "a":1e0 }\n'),
    "like a request": (b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    "two megabytes": (b"", bytes(range(256)) * 8192),
}


def sent_both_ways(paths, request):
    """Send a request directly and through the proxy; return what the upstream receives of the second."""

    def talk(port):
        with raw(port) as client:
            client.send(request)
            assert client.read(len(OK)) == OK
        return paths.upstream.wires[-1].received

    direct, proxied = paths.both(talk)
    assert direct == request
    return proxied


@pytest.mark.parametrize("method", METHODS)
def test_every_method_passes_as_sent(paths, upstream, method):
    """Known and unknown methods, their case kept, with and without a body."""
    for rest in (b"\r\n", b"Content-Length: 3\r\n\r\na\x00b"):
        request = method + b" /v1/x HTTP/1.1\r\nHost: " + upstream.authority + b"\r\n" + rest
        assert sent_both_ways(paths, request) == request
        upstream.clear()


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target[:24].decode("latin-1"))
def test_the_request_target_is_not_read_but_copied(paths, upstream, target):
    """Nothing is decoded, quoted or merged, in any form of target."""
    request = b"OPTIONS " + target + b" HTTP/1.1\r\nHost: " + upstream.authority + b"\r\n\r\n"
    assert sent_both_ways(paths, request) == request


@pytest.mark.parametrize("fields", HEADERS.values(), ids=HEADERS)
def test_end_to_end_fields_pass_untouched_and_none_is_added(paths, upstream, fields):
    """Order, case, spacing, duplicates and bytes are the client's; `Host` may stand anywhere."""
    host = b"Host: " + upstream.authority + b"\r\n"
    for lines in (host + fields, fields + host):
        request = b"POST /v1/chat/completions HTTP/1.1\r\n" + lines + b"Content-Length: 2\r\n\r\n{}"
        assert sent_both_ways(paths, request) == request
        upstream.clear()


@pytest.mark.parametrize(("fields", "body"), BODIES.values(), ids=BODIES)
def test_bodies_pass_byte_for_byte(paths, upstream, fields, body):
    """Compressed, malformed, multipart and large bodies are not looked into."""
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: %b\r\n%bContent-Length: %d\r\n\r\n"
    request = head % (upstream.authority, fields, len(body)) + body
    assert sent_both_ways(paths, request) == request


@pytest.mark.parametrize(
    "dropped",
    [
        b"Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n",
        b"connection: X-One , x-two,\r\nx-one: 1\r\nX-TWO: 2\r\nX-Two: 3\r\n",
        b"Connection: x-a\r\nX-A: 1\r\nConnection: x-b\r\nX-B: 2\r\n",
        b"TE: trailers\r\nTrailer: X-T\r\n",
        b"Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eDp5\r\n",
        b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQ\r\n",
        b"Upgrade: websocket\r\n",
        b"X-Evenkeel-Task: triage\r\nx-evenkeel-session: s\r\nX-EVENKEEL-prompt-version: 1\r\n",
        b"Connection: content-length, Host\r\n",
    ],
)
def test_fields_of_one_connection_end_at_it(paths, upstream, dropped):
    """Hop-by-hop fields, those named by `Connection`, and evenkeel's own are removed, nothing beside them.

    Nobody can have `Content-Length` or `Host` removed, so that the upstream would misread the body.
    """
    head = b"POST /v1/x HTTP/1.1\r\nHost: " + upstream.authority + b"\r\nX-Before: 1\r\n"
    tail = b"X-After: 1\r\nContent-Length: 2\r\n\r\n{}"
    assert sent_both_ways(paths, head + dropped + tail) == head + tail


def test_host_is_the_upstreams(paths, upstream):
    """The one field that changes: a client that knows only the proxy's name still reaches a virtual host."""
    with raw(paths.proxy.port) as client:
        client.send(b"GET / HTTP/1.1\r\nA: 1\r\nhOST:proxy.example\r\nB: 2\r\n\r\n")
        assert client.read(len(OK)) == OK
    assert upstream.wires[0].received == (
        b"GET / HTTP/1.1\r\nA: 1\r\nhOST:" + upstream.authority + b"\r\nB: 2\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("sent", "payload"),
    [
        (b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", b"hello world"),
        (b'00000b;a=1;b="2"\r\nhello world\r\n000\r\nX-T: 1\r\nX-U: 2\r\n\r\n', b"hello world"),
        (b"A  \r\n0\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n", b"0\r\n\r\n0\r\n\r\n"),
        (b"0\r\n\r\n", b""),
        (b"%x\r\n" % (1 << 20) + b"\xfe" * (1 << 20) + b"\r\n0\r\n\r\n", b"\xfe" * (1 << 20)),
    ],
)
def test_chunked_uploads_keep_their_payload_and_lose_their_trailers(paths, upstream, sent, payload):
    """Sizes may change on the way, payload and coding do not; nothing of a trailer becomes a header."""
    head = (
        b"POST /v1/files HTTP/1.1\r\nHost: " + upstream.authority + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    received = sent_both_ways(paths, head + sent)
    assert received.startswith(head)
    assert upstream.requests[1].body == payload
    assert b"X-T" not in received


@pytest.mark.parametrize(
    "request_line_and_fields",
    [
        b"GET /v1/models HTTP/1.0\r\n",
        b"GET /v1/models HTTP/1.0\r\nHost: elsewhere\r\nX-A: 1\r\n",
        b"GET /v1/models HTTP/1.0\r\nConnection: keep-alive\r\n",
    ],
)
def test_http_1_0_requests_become_1_1_with_a_host(paths, upstream, request_line_and_fields):
    """The upstream is sent valid HTTP/1.1 with the client's own fields."""
    with raw(paths.proxy.port) as client:
        assert client.ask(request_line_and_fields + b"\r\n")[1] == b"ok"
    [request] = upstream.requests
    assert request.line == b"GET /v1/models HTTP/1.1"
    assert request.field(b"host") == upstream.authority
    assert request.field(b"x-a") == (b"1" if b"X-A" in request_line_and_fields else b"")
    assert len(request.fields) == 1 + (b"X-A" in request_line_and_fields)


HOST = b" / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"POST" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        # `tests/proxy/test_request_head.py` and `test_framing.py` have every way; these are one of each kind.
        (b"POST" + HOST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST" + HOST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", 400),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST" + HOST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 501),
        (CHUNKED + b"4\nabcd\r\n0\r\n\r\n", 400),
        (CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: x\n\n", 400),
        (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        (b"GET" + HOST + b"X: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (b"GET" + HOST + b"X: y\r\n" * 2000 + b"\r\n", 431),
    ],
)
def test_what_two_readers_could_take_differently_is_refused(paths, upstream, request_bytes, status):
    """The answer is OpenAI-shaped, the connection closes, and no later request is smuggled past it."""
    with raw(paths.proxy.port) as client:
        client.send(request_bytes + b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
        text = client.rest()
    assert text.startswith(b"HTTP/1.1 %d " % status)
    assert text.count(b"\r\n\r\n") == 1
    assert b'{"error": {"message": ' in text
    assert not any(request.complete for request in upstream.requests)
    assert not any(b"smuggled" in wire.received for wire in upstream.wires)
