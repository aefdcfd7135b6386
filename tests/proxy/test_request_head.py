import contextlib

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.proxy.errors import ForwardingFault
from evenkeel.proxy.framing import MessageError
from evenkeel.proxy.headers import KNOWN_BYTES
from evenkeel.proxy.request_head import (
    MAX_FIELDS,
    MAX_HEAD_BYTES,
    parse_any_request,
    parse_request,
    render_request,
)
from evenkeel.proxy.response_head import parse_any_response, parse_response

REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n"


def rendered(raw, target=None, authority=b"up:1"):
    head = parse_request(raw)
    return render_request(head, target or head.target, authority)


GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
FIELD = b"A: aaaaaaaaaaaaaaaaaaaa\r\n"
REFUSED = {
    ForwardingFault.AMBIGUOUS: [
        GET + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        GET + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
        GET + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n",
        GET + b"Content-Length: 1, 1\r\n\r\n",
        GET + b"Content-Length: +1\r\n\r\n",
        GET + b"Content-Length: -1\r\n\r\n",
        GET + b"Content-Length: \xb2\r\n\r\n",
        GET + b"Content-Length:\r\n\r\n",
        GET + b"Content-Length: 1234567890123456789\r\n\r\n",
        GET + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n",
        b"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        GET + b"Host: y\r\n\r\n",
        GET + b"A: b\r\n folded\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n",
        b"GET / HTTP/1.1\nHost: x\n\n",
    ],
    ForwardingFault.TRANSFER_CODING: [
        GET + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        GET + b"Transfer-Encoding: chunked, identity\r\n\r\n",
        GET + b"Transfer-Encoding: xchunked\r\n\r\n",
    ],
    ForwardingFault.MALFORMED: [
        GET + b"Transfer-Encoding : chunked\r\n\r\n",
        GET + b"Content-Length : 4\r\n\r\n",
        GET + b"A\x00: b\r\n\r\n",
        GET + b"A: b\x00\r\n\r\n",
        GET + b"A: b\rc\r\n\r\n",
        GET + b"no colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
    ],
    ForwardingFault.VERSION: [b"PRI * HTTP/2.0\r\n\r\n"],
    ForwardingFault.CONNECT_METHOD: [b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n"],
    ForwardingFault.HEAD_TOO_LARGE: [
        b"GET / HTTP/1.1\r\nA: " + b"a" * MAX_HEAD_BYTES,
        GET + FIELD * MAX_FIELDS + b"\r\n",
    ],
}


@pytest.mark.parametrize(
    ("fault", "raw"), [(fault, raw) for fault, heads in REFUSED.items() for raw in heads]
)
def test_request_that_can_be_read_in_two_ways_is_refused(fault, raw):
    """Every known way to make two readers disagree is a fault, named for what it is."""
    with pytest.raises(MessageError) as caught:
        parse_request(raw)
    assert caught.value.fault is fault


@pytest.mark.parametrize("version", [b"1.1", b"1.0"])
def test_number_of_fields_is_limited_whichever_way_a_head_is_read(version):
    """The ordinary parser and the other count alike: the limit is allowed, one more is not."""
    raw = b"GET / HTTP/" + version + b"\r\nHost: x\r\n" + FIELD * (MAX_FIELDS - 1)
    assert parse_request(raw + b"\r\n").end == len(raw) + 2
    with pytest.raises(MessageError) as caught:
        parse_request(raw + b"A: a\r\n\r\n")
    assert caught.value.fault is ForwardingFault.HEAD_TOO_LARGE


def test_fields_named_by_connection_are_removed_but_never_those_that_frame():
    """A client can't have the length, the host or the loop guard taken off its request."""
    raw = (
        b"POST / HTTP/1.1\r\nHost: x\r\nConnection: content-length, host, x-evenkeel-replay, COOKIE\r\n"
        b"Cookie: a\r\nX-Evenkeel-Replay: 1\r\ncookie: b\r\nContent-Length: 1\r\n\r\n"
    )
    assert (
        rendered(raw) == b"POST / HTTP/1.1\r\nHost: up:1\r\nX-Evenkeel-Replay: 1\r\nContent-Length: 1\r\n\r\n"
    )


def test_private_fields_are_removed_and_remembered():
    """x-evenkeel fields give notes; the loop guard stays and marks a replay."""
    raw = (
        b"POST / HTTP/1.1\r\nx-evenkeel-task: triage \r\nHost: x\r\nX-EVENKEEL-Prompt-Version: 7\r\n"
        b"x-evenkeel-replay: 1\r\nx-evenkeelish: stays\r\n\r\n"
    )
    head = parse_request(raw)
    assert head.notes == {b"task": b"triage", b"prompt-version": b"7"}
    assert head.replay
    assert rendered(raw) == (
        b"POST / HTTP/1.1\r\nHost: up:1\r\nx-evenkeel-replay: 1\r\nx-evenkeelish: stays\r\n\r\n"
    )


@pytest.mark.parametrize(
    "raw",
    [
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\n"
            b"Upgrade: h2c\r\nHTTP2-Settings: A\r\n\r\n"
        ),
        b"POST / HTTP/1.1\r\nConnection: Upgrade\r\nHost: x\r\nUpgrade: foo\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.0\r\nConnection: Upgrade\r\nHost: x\r\nUpgrade: foo\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: foo\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: foo, H2C\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\t,x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nUpgrade: x\r\n\r\n",
    ],
)
def test_upgrade_that_cannot_be_offered_is_left_out(raw):
    """h2c, alone or in a list; with a body; in HTTP/1.0; not named by Connection: plain requests."""
    assert not parse_request(raw).upgrade
    assert b"pgrade" not in rendered(raw)
    assert b"HTTP2" not in rendered(raw)


def reading(parse, *args):
    """All that a parser says of a head, but how it recognises the next one; or how it refuses it."""
    try:
        head = parse(*args)
    except MessageError as error:
        return error.fault, error.detail
    return head and {name: getattr(head, name) for name in head.__slots__ if name != "known"}


NAMES = [
    *(b"Host", b"host", b"Content-Length", b"CONTENT-LENGTH", b"Connection", b"connection"),
    *(b"Hosts", b"Content-Type", b"C", b"Te", b"Tea", b"Transfer-Encoding", b"Upgrade", b"User-Agent"),
    *(b"Keep-Alive", b"Proxy-Authorization", b"Proxy-X", b"x-evenkeel-task", b"X-Evenkeel-Replay"),
    *(b"x-evenkeel", b"Trailer", b"", b"bad name", b"\xff"),
]
VALUES = [
    *(b"x", b"5", b"0", b"12 ", b" 7", b"keep-alive", b"Keep-Alive", b"keep-alive ", b"close", b""),
    *(b"chunked", b"a\tb", b"\xe9", b"1\x00", b"1\n2", b"1\r2", b"1\r\n fold", b"9" * 19, b"05", b"h:1"),
    *(b"keep-alive, x-evenkeel", b"upgrade"),
]
LINES = st.lists(
    st.builds(
        b"%b:%b%b".__mod__,
        st.tuples(
            st.one_of(st.sampled_from(NAMES[:6]), st.sampled_from(NAMES)),
            st.sampled_from([b" ", b" ", b"", b"  ", b"\t"]),
            st.one_of(st.sampled_from(VALUES[:6]), st.sampled_from(VALUES)),
        ),
    ),
    max_size=5,
)


@given(
    st.sampled_from([b"GET / HTTP/1.1", b"POST /a HTTP/1.1", b"CONNECT a:1 HTTP/1.1", b"GET / HTTP/1.0"]),
    st.booleans(),
    LINES,
)
def test_ordinary_requests_are_read_in_one_pass_as_in_two(first, host, lines):
    """The short way through the parser says exactly what the long way says, or is not taken."""
    raw = b"\r\n".join([first, *([b"Host: h"] if host else []), *lines]) + b"\r\n\r\nbody"
    assert reading(parse_request, raw) == reading(parse_any_request, raw)


@given(
    st.sampled_from(
        [b"1.1 200 OK", b"1.1 204", b"1.1 304 x", b"1.1 500 ", b"1.0 200 OK", b"1.1 100 x", b"1.1 201\t"]
    ),
    st.sampled_from([[], [b"Content-Length: 5"], [b"content-length:0", b"Connection: keep-alive"]]),
    LINES,
    st.sampled_from([b"GET", b"HEAD"]),
)
def test_ordinary_responses_are_read_in_one_pass_as_in_two(first, usual, lines, method):
    raw = b"\r\n".join([b"HTTP/" + first, *usual, *lines]) + b"\r\n\r\nbody"
    assert reading(parse_response, raw, method) == reading(parse_any_response, raw, method)


@given(LINES, LINES, st.sampled_from([b"5", b"7", b"0", b"12", b"x", b"+5", b"5 ", b"\xb2"]), st.booleans())
def test_a_head_is_read_alike_after_any_other_of_its_connection(lines, others, length, same):
    """Parts taken over from the head before are what would have been read."""
    usual, further = (
        b"".join(line + b"\r\n" for line in some) for some in (lines, lines if same else others)
    )
    first = b"Content-Length: 5\r\n%b\r\nbody!" % usual
    second = b"Content-Length: %b\r\n%b\r\nmore" % (length, further)
    for parse, start, more in (
        (parse_request, REQUEST, ()),
        (parse_response, b"HTTP/1.1 200\r\n", (b"POST",)),
    ):
        try:
            last = parse(start + first, *more)
        except MessageError:
            continue
        assert reading(parse, start + second, *more) == reading(parse, start + second, *more, last)


@pytest.mark.parametrize(("length", "again"), [(b"9", True), (b"0", False), (b"12", False), (b"x", False)])
def test_a_head_that_differs_in_its_length_is_the_same_object_again(length, again):
    """Other lengths need as many digits, and are no zero; a GET is read anew each time."""
    last = parse_request(REQUEST + b"Content-Length: 5\r\nA: b\r\n\r\nbody!")
    raw = REQUEST + b"Content-Length: %b\r\nA: b\r\n\r\n" % length
    if length == b"x":
        with pytest.raises(MessageError):
            parse_request(raw, last)
    else:
        head = parse_request(raw, last)
        assert ((head is last), head.length, head.raw) == (again, int(length), raw)
    get = parse_request(REQUEST + b"\r\n")
    assert parse_request(REQUEST + b"\r\n", get) is not get


def test_a_large_head_is_not_kept_for_comparison():
    """The head would take its memory for as long as its connection lives."""
    raw = REQUEST + b"Content-Length: 5\r\nA: %b\r\n\r\n" % (b"a" * KNOWN_BYTES)
    assert parse_request(raw).known is None


@given(st.binary(max_size=60), st.integers(0, 3))
def test_requests_agree_with_llhttp(noise, place):
    """Another strict parser reads the same method, target and fields in whatever is accepted."""
    parts = [b"GET /p HTTP/1.1\r\n", b"Host: x\r\n", b"A: 1\r\n", b"\r\n"]
    parts.insert(place, noise)
    raw = b"".join(parts)
    try:
        head = parse_request(raw)
    except MessageError:
        return
    if head is None:
        return
    seen = []

    class Reader:
        def on_url(self, url):
            seen.append(url)

        def on_header(self, name, value):
            seen.append((name, value))

        def on_headers_complete(self):
            seen.append("complete")

    parser = httptools.HttpRequestParser(Reader())
    with contextlib.suppress(httptools.HttpParserInvalidMethodError):
        parser.feed_data(raw[: head.end])
        fields = raw[head.line_end + 2 : head.end - 4].split(b"\r\n")
        expected = [
            (name, value.strip(b" \t")) for name, _, value in (field.partition(b":") for field in fields)
        ]
        assert seen[0] == head.target
        assert [(name, value.strip(b" \t")) for name, value in seen[1:-1]] == expected
        assert seen[-1] == "complete"


NAMED = st.tuples(
    st.sampled_from(
        [b"A", b"x-b", b"Connection", b"TE", b"Upgrade", b"X-Evenkeel-Task", b"Keep-Alive", b"Cookie"]
    ),
    st.sampled_from([b"", b"1", b"close", b"a, Cookie", b"upgrade"]),
)


@given(st.lists(NAMED, max_size=8))
def test_rendering_twice_changes_nothing_more(fields):
    """A rendered head passes a second relay unchanged."""
    raw = b"GET / HTTP/1.1\r\nHost: up:1\r\n" + b"".join(b"%b: %b\r\n" % field for field in fields) + b"\r\n"
    once = rendered(raw)
    if not parse_request(raw).upgrade:
        assert rendered(once) == once
    assert parse_request(once).method == b"GET"


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_absolute_target_becomes_a_path_and_its_host_the_host(version):
    """The target's host and port replace `Host` (RFC 9112, 3.2.2); all else of the request stays."""
    given = b"POST http://h:81/p?q HTTP/" + version + b"\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
    head = parse_request(given)
    assert head.raw == b"POST /p?q HTTP/" + version + b"\r\nHost: h:81\r\nContent-Length: 2\r\n\r\nhi"
    assert (head.target, head.length, head.raw[head.end :]) == (b"/p?q", 2, b"hi")
    assert parse_request(b"OPTIONS http://h HTTP/1.1\r\nHost: x\r\n\r\n").target == b"*"
    assert parse_request(b"GET http://h/p HTTP/1.0\r\n\r\n").raw == b"GET /p HTTP/1.0\r\nHost: h\r\n\r\n"
