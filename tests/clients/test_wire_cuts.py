"""Requests and answers cut into pieces anywhere, and of any content, compared with a direct connection."""

import itertools
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.clients.raw import raw

many = settings(
    max_examples=2 * settings.default.max_examples,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

TOKEN = st.text(string.ascii_letters + string.digits + "!#$%&'*+-.^_`|~", min_size=1, max_size=12)
VALUE = st.binary(max_size=30).map(
    lambda raw_value: bytes(byte for byte in raw_value if byte in b"\t" or (byte >= 0x20 and byte != 0x7F))
)
FIELDS = st.lists(st.tuples(TOKEN.map(lambda name: b"x-" + name.encode()), VALUE), max_size=6).map(
    lambda fields: b"".join(
        b"%b: %b\r\n" % field for field in fields if not field[0].lower().startswith(b"x-evenkeel-")
    )
)
TARGET = st.binary(max_size=40).map(
    lambda path: b"/" + bytes(byte for byte in path if byte > 0x20 and byte != 0x7F)
)
BODY = st.one_of(st.binary(max_size=200), st.binary(min_size=1, max_size=20).map(lambda piece: piece * 5000))
CUTS = st.lists(st.floats(0, 1), max_size=7)


def cut(data, places):
    """Pieces of data; places are shares of its length."""
    ends = sorted({int(place * len(data)) for place in places} | {0, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(ends)]


def chunked(body, places):
    """The chunked coding of a body cut at these places."""
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in cut(body, places)) + b"0\r\n\r\n"


@many
@given(
    method=st.sampled_from([b"POST", b"PUT", b"X-ODD"]),
    target=TARGET,
    fields=FIELDS,
    body=BODY,
    coding=st.one_of(st.none(), CUTS),
    cuts=CUTS,
)
def test_a_request_cut_anywhere_is_the_same_request(
    paths, upstream, method, target, fields, body, coding, cuts
):
    """The upstream is sent the same head and payload, however the bytes came and whatever they are."""
    if coding is None:
        end = b"Content-Length: %d\r\n\r\n" % len(body) + body
    else:
        end = b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body, coding)
    request = method + b" " + target + b" HTTP/1.1\r\nHost: " + upstream.authority + b"\r\n" + fields + end
    answers = []
    upstream.requests.clear()
    for port in (upstream.port, paths.proxy.port):
        with raw(port) as client:
            client.send_pieces(cut(request, cuts))
            answers.append(client.answer())
    assert answers[0] == answers[1]
    direct, proxied = upstream.requests
    assert proxied.head == direct.head
    assert proxied.body == direct.body == body
    if coding is None:
        assert proxied.raw_body == body


@many
@given(
    status=st.sampled_from([b"200 OK", b"201 Made", b"404 Not Found", b"500 \xe9"]),
    fields=FIELDS,
    body=BODY,
    coding=st.one_of(st.none(), CUTS),
    cuts=CUTS,
)
def test_an_answer_cut_anywhere_is_the_same_answer(paths, upstream, status, fields, body, coding, cuts):
    """The client is sent the same head and payload, however the bytes came and whatever they are."""
    if coding is None:
        end = b"Content-Length: %d\r\n\r\n" % len(body) + body
    else:
        end = b"Transfer-Encoding: chunked\r\n\r\n" + chunked(body, coding)
    answer = b"HTTP/1.1 " + status + b"\r\n" + fields + end

    async def handler(wire, request):
        await wire.body()
        for piece in cut(answer, cuts):
            wire.write(piece)
            await upstream.pause()

    upstream.handler = handler
    answers = []
    for port in (upstream.port, paths.proxy.port):
        with raw(port) as client:
            answers.append(
                client.ask(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
            )
    assert answers[0] == answers[1]
    assert answers[1][1] == body


@many
@given(
    body=st.binary(min_size=1, max_size=300),
    coding=st.one_of(st.none(), CUTS),
    end=st.sampled_from(["close", "reset"]),
    share=st.floats(0, 1, exclude_max=True),
)
def test_an_answer_that_stops_anywhere_is_never_taken_for_a_whole_one(
    paths, upstream, body, coding, end, share
):
    """Cut in the head: a 502 in place of the answer. Cut later: no end, and no byte that was not sent."""
    if coding is None:
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    else:
        answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(body, coding)
    sent = answer[: int(share * len(answer))]

    async def handler(wire, request):
        await wire.body()
        wire.write(sent)
        await upstream.pause()
        getattr(wire, end)()

    upstream.handler = handler
    with raw(paths.proxy.port) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        try:
            text = client.rest()
        except ConnectionResetError:
            return
    head, _, rest = text.partition(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 502 "):
        assert b'"type": "upstream_error"' in rest
        assert end == "reset" or b"\r\n\r\n" not in sent or answer.find(b"\r\n\r\n") + 4 > len(sent)
    elif coding is None:
        assert len(rest) < len(body)
        assert body.startswith(rest)
    else:
        payload, ended = unchunked(rest)
        assert not ended
        assert body.startswith(payload)


def unchunked(rest):
    """The payload in the start of a chunked body, and whether its end is there."""
    payload = b""
    while b"\r\n" in rest:
        line, _, rest = rest.partition(b"\r\n")
        size = int(line, 16)
        if not size:
            return payload, rest.startswith(b"\r\n")
        payload += rest[:size]
        rest = rest[size + 2 :]
    return payload, False


@pytest.mark.parametrize("count", [2, 5])
def test_pipelined_requests_cut_anywhere_stay_apart(paths, upstream, count):
    """Several requests in a row, cut at each place in turn, are served as they are directly."""
    one = b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nab%d"
    two = b"PUT /%d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab%d\r\n0\r\n\r\n"
    row = b"".join((one, two)[number % 2] % (number, number) for number in range(count))
    with raw(paths.proxy.port) as client:
        for place in range(1, len(row), 1 if count == 2 else 4):
            upstream.requests.clear()
            client.send_pieces([row[:place], row[place:]])
            for _ in range(count):
                assert client.answer()[1] == b"ok"
            assert [request.target for request in upstream.requests] == [b"/%d" % n for n in range(count)]
            assert [request.body for request in upstream.requests] == [b"ab%d" % n for n in range(count)]
