"""Requests that two readers could take differently: whoever reads behind the relay sees what it saw.

What must be refused case by case is in the tests of `proxy` and `clients`; here are the tricks that those
do not list, and a search for more.
"""

import asyncio
import re

import h11
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenkeel.proxy import Limits, Timeouts
from evenkeel.proxy.errors import ForwardingFault
from evenkeel.proxy.framing import MessageError
from evenkeel.proxy.request_head import parse_request
from tests.cases import cases
from tests.proxy.conftest import relay

CASES = cases(__file__)

IMPATIENT = {"limits": Limits(client_head_s=0.03, client_idle_s=0.03, linger_s=0.03)}
"""The relay ends a connection soon after it has nothing more to do on it, so that all of it can be read."""
SILENT = Timeouts(silence_s=0.25)
"""For an upstream that may have a request without an end, to which it says nothing."""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"
START = b"POST /v1/x HTTP/1.1\r\nHost: h\r\n"


def received(raw, answer=OK, timeouts=SILENT):
    """Send bytes; return what reaches the upstream on each connection, and the answer."""

    async def main():
        async with relay(answer, timeouts=timeouts, **IMPATIENT) as rig:
            text = await rig.exchange(raw)
            return [wire.received for wire in rig.upstream.wires], text

    return asyncio.run(main())


@pytest.mark.parametrize("lines", CASES["lengths"])
def test_a_length_in_doubt_ends_the_connection(lines):
    """Nothing reaches the upstream, and what follows is not read as a request."""
    reached, answer = received(START + lines.encode("latin-1") + b"\r\n0\r\n\r\n" + HIDDEN)
    assert not any(reached)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 "))


@pytest.mark.parametrize("body", CASES["chunks"])
def test_a_chunk_in_doubt_ends_the_connection(body):
    """The upstream never gets the end of such a request, nor what stands behind it."""
    reached, answer = received(START + b"Transfer-Encoding: chunked\r\n\r\n" + body.encode("latin-1"))
    assert b"/hidden" not in b"".join(reached)
    assert not any(data.endswith(b"0\r\n\r\n") for data in reached)
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert b" 200 " not in answer


@pytest.mark.parametrize("answer", CASES["answers"])
def test_an_answer_in_doubt_is_none(answer):
    """A client gets a 502 instead of an answer that another reader would end elsewhere."""
    _, text = received(START + b"\r\n", answer.encode("latin-1"))
    assert text.startswith(b"HTTP/1.1 502 ") or text == b""
    assert b"Set-Cookie" not in text


async def test_what_follows_an_answer_is_nobodys():
    """Bytes behind an answer's end are not kept for the next request on the connection."""
    poisoned = OK + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
    async with relay(poisoned) as rig:
        client = await rig.client()
        for _ in range(3):
            assert (await client.ask(START + b"\r\n")).endswith(b"\r\n\r\nok")
        assert len(rig.upstream.wires) == 3


POISON = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"


@pytest.mark.parametrize(
    ("method", "first", "later"),
    [
        (b"GET", b"HTTP/1.1 204 No Content\r\n\r\n" + POISON, b""),
        (b"GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" + POISON, b""),
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 54\r\n\r\n" + POISON, b""),
        (b"GET", b"HTTP/1.1 204 No Content\r\nContent-Length: 54\r\n\r\n", POISON),
        (b"GET", b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", POISON),
    ],
)
async def test_a_body_where_none_may_be_answers_no_later_request(method, first, later):
    """An upstream that sends one, at once or later, loses its connection (oven-sh/bun#37438)."""
    answers = iter([first, later + OK])

    async with relay(lambda wire: wire.write(next(answers))) as rig:
        client = await rig.client()
        client.send(method + b" /v1/x HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.until(b"\r\n\r\n")
        if not later:
            assert (await client.ask(START + b"\r\n")).endswith(b"\r\n\r\nok")
        else:
            client.send(START + b"\r\n")
            await client.until(b"\r\n\r\n")
        assert len(rig.upstream.wires) == 2


async def test_what_follows_a_refused_upgrade_is_a_request_with_a_route_of_its_own():
    """A proxy that tunnels before the answer is 101 lets it pass unseen (kemalcr/kemal#767)."""
    lines = b"Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n"
    refusal = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"

    async with relay(refusal, prefix="/v1", parse=False, **IMPATIENT) as rig:
        rig.upstream.on_data = lambda wire, _: wire.write(refusal)
        answer = await rig.exchange(b"GET /v1/ws HTTP/1.1\r\nHost: h\r\n" + lines + HIDDEN)
        assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"403", b"404"]
        assert b"hidden" not in rig.upstream.received


def test_an_upgrade_with_a_body_is_offered_to_nobody():
    """The end of the body would depend on the answer (nghttp2, CVE-2026-58055)."""
    lines = b"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 4\r\n\r\nbody"
    (sent,), answer = received(START + lines, timeouts=None)
    assert b"pgrade" not in sent
    assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("expect", [b"100-continue", b"x 100-continue", b"", b"100-continue, 100-continue"])
async def test_an_answer_instead_of_100_ends_both_connections(expect):
    """The next bytes may be the body or a request: nobody can know (lysine-dev/okhttp#3252)."""
    async with relay(OK, parse=False, **IMPATIENT) as rig:
        rig.upstream.on_data = lambda wire, _: wire.write(OK)
        client = await rig.client(
            START + b"Expect: " + expect + b"\r\nContent-Length: %d\r\n\r\n" % len(HIDDEN)
        )
        head = await client.until(b"\r\n\r\n")
        assert b"Connection: close" in head
        client.send(HIDDEN)
        assert await client.rest() == b"ok"
        assert b"hidden" not in rig.upstream.received
        assert (await rig.ask(b"GET /v1/x HTTP/1.1\r\nHost: h\r\n\r\n")).endswith(b"ok")
        assert len(rig.upstream.wires) == 2


def test_fields_of_a_trailer_are_nobodys_head():
    """A framing name in a trailer would be added behind what was checked (zoxy-io/zoxy#244)."""
    trailer = b"Content-Length: 40\r\nTransfer-Encoding: chunked\r\nAuthorization: x\r\n"
    raw = START + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n" + trailer + b"\r\n"
    (sent,), _ = received(raw, timeouts=None)
    assert sent.endswith(b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")


def requests_in(raw):
    """Target and body of every whole request that h11 finds."""
    found, reader = [], h11.Connection(h11.SERVER)
    reader.receive_data(raw)
    while True:
        event = reader.next_event()
        if isinstance(event, h11.Request):
            target, body = event.target, b""
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            found.append((target, body))
            reader.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
            reader.send(h11.EndOfMessage())
            if reader.our_state is not h11.DONE or reader.their_state is not h11.DONE:
                return found
            reader.start_next_cycle()
        else:
            return found


FRAMINGS = st.lists(
    st.sampled_from(
        [
            *(b"Content-Length: 0\r\n", b"Content-Length: 5\r\n", b"Content-Length: 38\r\n"),
            *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding : chunked\r\n", b"TE: chunked\r\n"),
            *(b"Transfer-Encoding: Chunked\t\r\n", b"Connection: content-length\r\n", b"X: a\r\n"),
            *(b"Connection: transfer-encoding, x\r\n", b"Expect: 100-continue\r\n", b"Upgrade: h2c\r\n"),
        ]
    ),
    max_size=3,
).map(b"".join)
BODIES = st.sampled_from(
    [
        *(b"", b"hello", b"0\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n", b"5;x=y\r\nhello\r\n0\r\nT: 1\r\n\r\n"),
        *(b"26\r\n" + HIDDEN + b"\r\n0\r\n\r\n", HIDDEN, b"\r\n" + HIDDEN, b"5\r\nhel", b"\r\n"),
    ]
)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([START, START.replace(b"1.1", b"1.0"), START.replace(b"POST", b"GET")]), FRAMINGS, BODIES
)
@example(START, b"Content-Length: 5\r\nConnection: content-length\r\n", b"hello")
@example(START, b"Content-Length: 5\r\n", b"26\r\n" + HIDDEN)
def test_the_upstream_sees_the_requests_that_were_answered(start, framing, body):
    """A second strict reader finds as many requests on the upstream's side as the client got answers.

    What is left of a body may read as a request with the method `ET`: it is passed on as one, and the
    upstream here, which knows no such method, hangs up (502). On a busy machine it may be too slow (504).
    """
    reached, answer = received(start + framing + b"\r\n" + body)
    requests = [request for wire in reached if wire for request in requests_in(wire)]
    assert len(requests) == len(re.findall(rb"HTTP/1\.[01] (?:200|502|504) ", answer))


@pytest.mark.parametrize("line", [b"a:\r\n", b"X-Long-Name: and a value\r\n"])
def test_a_head_that_comes_line_by_line_is_counted_as_it_comes(line):
    """Each line has the head read again, so one with too many is refused before it is whole or large."""
    head = b"GET / HTTP/1.1\r\nHost: h\r\n"
    while len(head) < 8192:
        head += line
        try:
            assert parse_request(head) is None
        except MessageError as error:
            fault = error.fault
            break
    assert fault is ForwardingFault.HEAD_TOO_LARGE
