"""Messages with a few bytes changed anywhere, from either side: never a hang, a crash or another's answer."""

import contextlib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.clients.raw import raw
from tests.clients.recording import fixed

many = settings(
    max_examples=2 * settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

REQUESTS = [
    b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, x-a\r\nX-A: 1\r\n\r\n",
    b'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n{"model": 1}',
    b"PUT /v1/f HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: 1\r\n\r\n",
    b"GET /v1/realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
]
ANSWERS = [
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.0 200 OK\r\n\r\nhello",
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello",
    b"HTTP/1.1 204 No Content\r\n\r\n",
]
PIECES = [
    *(b"\r\n", b"\n", b"\r", b"\r\n\r\n", b" ", b":", b"\x00", b"0", b"-1", b"\xff", b",", b";", b"1" * 20),
    *(b"\r\nContent-Length: 3", b"\r\nTransfer-Encoding: chunked", b"\r\nConnection: upgrade", b"\r\n x"),
]
PIECE = st.one_of(st.binary(max_size=3), st.sampled_from(PIECES))
CHANGES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 4), PIECE), min_size=1, max_size=3)


def changed(message, changes):
    """A message with pieces put in the place of others."""
    for share, length, piece in changes:
        place = int(share * len(message))
        message = message[:place] + piece + message[place + length :]
    return message


def healthy(port):
    """Return whether a proper request is answered on a new connection."""
    with raw(port) as client:
        return client.ask(b"GET /healthy HTTP/1.1\r\nHost: x\r\n\r\n")[1] == b"ok"


@many
@given(message=st.sampled_from(REQUESTS), changes=CHANGES)
def test_any_bytes_of_a_client_do_no_harm(paths, upstream, message, changes):
    """The client is answered or cut off, and the upstream gets messages that can be read in one way only."""
    with raw(paths.proxy.port) as client, contextlib.suppress(ConnectionError):
        client.send(changed(message, changes))
        client.sock.settimeout(0.02)  # what may be the start of a request is waited for
        with contextlib.suppress(TimeoutError):
            client.rest()
    assert healthy(paths.proxy.port)
    for wire in upstream.wires:
        head = bytes(wire.received).partition(b"\r\n\r\n")[0].lower()
        assert b"\n" not in head.replace(b"\r\n", b"")
        assert head.count(b"\r\ncontent-length:") + head.count(b"\r\ntransfer-encoding:") <= 1
    upstream.clear()


@many
@given(message=st.sampled_from(ANSWERS), changes=CHANGES)
def test_any_bytes_of_an_upstream_do_no_harm(paths, upstream, message, changes):
    """The client gets an answer or sees a cut one, in either case at once, and the next request is served."""
    answer = changed(message, changes)

    async def handler(wire, request):
        await wire.body()
        wire.write(answer)
        wire.close()

    upstream.handler = handler
    with raw(paths.proxy.port) as client, contextlib.suppress(ConnectionError):
        client.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close, upgrade\r\nUpgrade: x\r\n\r\n")
        text = client.rest()
        assert text.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")) or text == b""
    upstream.handler = fixed(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    assert healthy(paths.proxy.port)
