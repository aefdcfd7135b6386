"""Upstreams that break off, stall, talk nonsense and close idle connections.

Those that give no answer at all are in `tests/proxy/test_errors.py`.
"""

import asyncio
import json

import httpx2
import openai
import pytest

from tests.clients.raw import raw
from tests.clients.recording import OK, holding

pytestmark = pytest.mark.system

GET = b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
EVENT = b"5\r\nfirst\r\n"


def error_of(answer):
    """Status and code of an OpenAI-shaped error."""
    head, body = answer
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "upstream_error"
    assert "127.0.0.1" not in error["message"]
    assert "sock" not in error["message"].replace("no-socket", "")
    assert "route '" in error["message"]
    return int(head.split(b" ")[1]), error["code"]


BROKEN_OFF = {
    "closes in a body with a length": (HEAD + b"Content-Length: 10\r\n\r\nfirst", "close"),
    "resets in a body with a length": (HEAD + b"Content-Length: 10\r\n\r\nfirst", "reset"),
    "closes between chunks": (CHUNKED + EVENT, "close"),
    "closes in a chunk": (CHUNKED + b"7\r\nfirst", "close"),
    "closes before the last line break": (CHUNKED + EVENT + b"0\r\n", "close"),
    "resets between chunks": (CHUNKED + EVENT, "reset"),
    "resets where the close would be the end": (HEAD + b"\r\nfirst", "reset"),
}


@pytest.mark.parametrize(("sent", "end"), BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_an_upstream_that_breaks_off_in_the_body(faulty, upstream, sent, end):
    """The client gets what came, and then the same error that it gets without the proxy.

    That no cut answer looks whole is tested with a socket in `tests/clients/test_wire_cuts.py`.
    """
    upstream.handler = holding(sent)
    base = f"{faulty.proxy.url}/v1"
    with openai.OpenAI(base_url=base, api_key="k", max_retries=0) as client:
        create = client.chat.completions.with_streaming_response.create
        with create(model="m", messages=[], stream=True) as answer:
            pieces = answer.iter_bytes()
            assert next(pieces) == b"first"
            upstream.call(getattr(upstream.wires[-1], end))
            with pytest.raises((httpx2.RemoteProtocolError, httpx2.ReadError)):
                list(pieces)


def test_an_upstream_that_stalls_in_its_answer(faulty, upstream):
    """The answer is cut after the time set so that it is seen to be cut, and the upstream call is ended."""
    starts = (CHUNKED + EVENT, HEAD + b"Content-Length: 10\r\n\r\nfirst")
    with raw(faulty.proxy.port) as first, raw(faulty.proxy.port) as second:
        for client, start in zip((first, second), starts, strict=True):
            upstream.handler = holding(start)
            client.send(POST.replace(b"/v1", b"/stalling/v1"))
            client.until(b"first")
        assert (first.rest(), second.rest()) == (b"\r\n", b"")
    upstream.eventually(lambda: all(wire.ended for wire in upstream.wires))


def test_garbage_in_the_middle_of_a_stream_cuts_it(faulty, upstream):
    """The good part is delivered, the rest is not, and the answer has no end."""
    upstream.handler = holding(CHUNKED + EVENT)
    with raw(faulty.proxy.port) as client:
        client.send(POST)
        begun = client.until(b"first")
        upstream.call(lambda: upstream.wires[0].write(b"garbage\r\n0\r\n\r\n"))
        assert begun + client.rest() == CHUNKED + EVENT


def test_every_fault_is_an_error_the_sdk_understands(faulty, upstream):
    """The SDK raises its own classes with our code and message, and retries as often as it was told to."""

    async def resets(wire, request):
        await wire.body()
        wire.reset()

    upstream.handler = resets
    for path, status, code, cause in (
        ("/refusing/v1", 502, "upstream_refused", "refused the connection"),
        ("/unaccepting/v1", 504, "upstream_connect_timeout", "in time"),
        ("/v1", 502, "upstream_closed_without_answer", "without an answer"),
    ):
        with openai.OpenAI(base_url=faulty.proxy.url + path, api_key="k", max_retries=0) as client:
            with pytest.raises(openai.InternalServerError, match=cause) as caught:
                client.chat.completions.create(model="m", messages=[])
            assert (caught.value.status_code, caught.value.code) == (status, code)
    with openai.OpenAI(base_url=f"{faulty.proxy.url}/v1", api_key="k", max_retries=1) as client:
        before = len(upstream.requests)
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="m", messages=[])
        assert len(upstream.requests) - before == 2


# Idle connections that the upstream closes


def ending(end, after_s=None):
    """A handler that answers and ends the connection without having said so, perhaps as a request comes."""

    async def handler(wire, request):
        await wire.body()
        wire.write(OK)
        if after_s is not None:
            await asyncio.sleep(after_s)
        getattr(wire, end)()

    return handler


STALE = pytest.mark.parametrize(
    "handler", [ending("close"), ending("close", 0.0005), ending("reset", 0.0005)]
)


@STALE
def test_requests_that_may_be_repeated_survive_stale_connections(faulty, upstream, handler):
    """None of 100 requests in a row fails at an upstream that closes after each answer without saying so."""
    upstream.handler = handler
    with raw(faulty.proxy.port) as client:
        for _ in range(100):
            assert client.ask(GET) == (OK[:-2], b"ok")
    assert len([request for request in upstream.requests if request.complete]) == 100


@STALE
def test_completions_are_never_run_twice_by_stale_connections(faulty, upstream, handler):
    """A completion that meets the close on its way gets a 502, which the SDK repeats; none runs twice.

    Nobody can tell from outside whether an upstream that closes has read what reached it before. Only
    where it is proven that it has not, the request is sent again.
    """
    upstream.handler = handler
    served = []
    with raw(faulty.proxy.port) as client:
        for number in range(100):
            answer = client.ask(POST.replace(b"chat", b"%d" % number))
            if answer == (OK[:-2], b"ok"):
                served.append(b"/v1/%d/completions" % number)
            else:
                assert error_of(answer) == (502, "upstream_closed_without_answer")
    run = [request.target for request in upstream.requests if request.complete]
    assert run == served
    assert len(served) >= 50  # no two failures in a row: a fresh connection is not stale


@pytest.mark.parametrize(
    "goodbye", [b"", b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"]
)
def test_a_close_that_came_before_the_request_fails_nothing(faulty, upstream, goodbye):
    """A connection whose end was seen in time is not used, nor a 408 before it taken for the next answer."""

    async def handler(wire, request):
        await wire.body()
        wire.write(OK)
        if goodbye:
            await upstream.pause()
            wire.write(goodbye)
        else:
            wire.transport.write_eof()
        while True:
            await wire.more()

    upstream.handler = handler
    with raw(faulty.proxy.port) as client:
        for number in range(1, 31):
            assert client.ask(POST) == (OK[:-2], b"ok")
            # The proxy has closed its half too, so it has seen the end of the other.
            upstream.eventually(lambda: len([w for w in upstream.wires if w.ended]) == number)  # noqa: B023 - called at once
    assert len(upstream.requests) == 30
