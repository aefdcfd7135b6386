"""Applications that go away: the upstream is told at once, so that nobody pays for an answer nobody reads."""

import http.client
import json
from functools import partial

import pytest

from tests.clients.raw import PATIENCE_S, Raw
from tests.clients.recording import holding

pytestmark = pytest.mark.system

ROUNDS = 5

POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
HALF_LENGTH = b"POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf"
HALF_CHUNKED = b"POST /v1/files HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"
EVENT = b"5\r\nfirst\r\n"


thinking = holding()
streaming = holding(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + EVENT)


async def reading(wire, request):
    """Waits for the rest of an upload."""
    await wire.body()


MOMENTS = {
    "waiting": (thinking, POST, b""),
    "mid-stream": (streaming, POST, b"first\r\n"),
    "mid-upload": (reading, HALF_LENGTH, b""),
    "mid-upload in chunks": (reading, HALF_CHUNKED, b""),
    "waiting with a request behind": (thinking, POST + POST, b""),
}


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize(("handler", "request_bytes", "until"), MOMENTS.values(), ids=MOMENTS)
def test_the_upstream_sees_that_the_client_left(faulty, upstream, handler, request_bytes, until, how):
    """The upstream's connection ends with the client's, whatever was going on; a disconnect is counted."""
    upstream.handler = handler
    disconnects = partial(faulty.proxy.metric, "evenkeel_proxy_disconnects_total")
    before = disconnects()
    for number in range(1, ROUNDS + 1):
        client = Raw(faulty.proxy.port)
        client.send(request_bytes)
        if until:
            client.until(until)
        upstream.eventually(lambda: len(upstream.requests) == number)  # noqa: B023 - called at once
        wire = upstream.wires[-1]
        if how == "close":
            client.sock.close()
        else:
            client.leave()
        upstream.eventually(lambda: wire.ended)  # noqa: B023 - called at once
    assert len(upstream.requests) == ROUNDS
    # At least: those of the test before may be exported late.
    faulty.proxy.wait(lambda: disconnects() >= before + ROUNDS, "disconnects are counted")
    faulty.proxy.becomes(0, "evenkeel_proxy_in_flight")


def test_a_client_that_stopped_reading_and_leaves_ends_the_call(faulty, upstream):
    """The proxy, whose buffers are full, notices it with nothing to write and nothing to read."""

    async def flooding(wire, request):
        await wire.body()
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (64 << 20))
        wire.write(bytes(32 << 20))
        while True:
            await wire.more()

    upstream.handler = flooding
    client = Raw(faulty.proxy.port)
    client.send(POST)
    client.until(b"\r\n\r\n")
    upstream.eventually(lambda: upstream.wires)
    client.leave()
    upstream.eventually(lambda: upstream.wires[0].ended)
    faulty.proxy.becomes(0, "evenkeel_proxy_in_flight")


@pytest.mark.parametrize("end", ["close", "reset"])
def test_an_upstream_that_goes_away_during_an_upload(faulty, upstream, end):
    """A client that sends all before it reads finds a 502, where it would only have lost its connection."""

    async def handler(wire, request):
        await wire.exactly(100_000)
        getattr(wire, end)()

    upstream.handler = handler
    connection = http.client.HTTPConnection("127.0.0.1", faulty.proxy.port, timeout=PATIENCE_S)
    connection.request("POST", "/v1/files", bytes(8 << 20))
    answer = connection.getresponse()
    error = json.loads(answer.read())["error"]
    connection.close()
    assert (answer.status, error["code"]) == (502, "upstream_closed_without_answer")
    assert len(upstream.requests) == 1
