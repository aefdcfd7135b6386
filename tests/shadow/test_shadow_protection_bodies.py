"""Redaction of exchanges: what leaves is still what the API speaks, without the values to be hidden."""

from __future__ import annotations

import gzip
import itertools
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.exchange import Exchange
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.original import Left, Reader
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.protection import BUILTIN, RedactedSink, Redactor
from evenkeel.shadow.protection.bodies import Unredactable, redact_events, redact_json
from evenkeel.stores.counters import Tally
from tests.shadow.wild_exchanges import WildExchanges

ADDRESS = "ann@example.org"


def hide(text):
    """A detector that knows one value only."""
    return text.replace(ADDRESS, "[EMAIL_1]")


def exchange(request, response=b"{}", *, request_headers=(), response_headers=(), **changes):
    return Exchange(
        *("0123456789abcdef", "main", 1.0, 0.1, "POST", "/v1/chat/completions", 200),
        *(request_headers, request, response_headers, response),
        **changes,
    )


def test_only_strings_change_and_everything_else_stays_to_the_byte():
    """White space, numbers as they were written, escapes, members that come twice, and their order."""
    body = (
        '{ "model":"m@x",\t"seed": 1.0e2, "big": 123456789012345678901234567890.50,\r\n'
        ' "messages":[{"role": "user","content" : "\\u00e9 a: \\"ann@example.org\\" \\ud83d"}],'
        ' "stop": ["x", "ann@example.org"], "x": [], "x": null}'
    )
    wanted = body.replace(ADDRESS, "[EMAIL_1]").replace("\\u00e9", "\\u00e9")
    assert redact_json(body, hide) == wanted
    assert redact_json(body, str) == body


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.just(ADDRESS),
    lambda below: (
        st.lists(below, max_size=4)
        | st.dictionaries(
            st.text(max_size=5) | st.sampled_from(["content", "id", "type", "text"]), below, max_size=4
        )
    ),
    max_leaves=20,
)


def replaced(value):
    """The same value with the address hidden in every string, by walking it."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list):
        return [replaced(one) for one in value]
    return {name: replaced(one) for name, one in value.items()} if isinstance(value, dict) else value


@settings(max_examples=80, deadline=None)
@given(value=JSON, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_any_json_stays_json_with_every_string_redacted(value, indent, ascii_only):
    """The same as parsing it, changing the strings, and writing it."""
    body = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert json.loads(redact_json(body, hide)) == replaced(value)


@pytest.mark.parametrize(
    "body", ["", "{", "{'a': 1}", "plain words", '{"a": 1} trailing', "[" * 100_000, "NaN of it"]
)
def test_what_is_no_json_is_refused(body):
    """In it nobody can tell text from structure."""
    with pytest.raises(Unredactable):
        redact_json(body, hide)


def test_json_within_a_string_stays_json():
    """As arguments of a call: escapes next to a value are not torn apart, names of members are data there."""
    inner = json.dumps({"note": f"to\n{ADDRESS}", ADDRESS: [1, ADDRESS]}, indent=1)
    body = json.dumps({"tool_calls": [{"function": {"name": "mail", "arguments": inner}}]})
    found = json.loads(Redactor(BUILTIN).redact(exchange(body.encode())).exchange.request_body)
    arguments = json.loads(found["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"note": "to\n[EMAIL_1]", "[EMAIL_1]": [1, "[EMAIL_1]"]}


def test_words_of_the_api_and_signatures_stay():
    """A pattern that is too broad does not break the request; text in their place is redacted."""
    body = '{"role": "user", "type": "x y", "model": "m", "signature": "u ser", "id": "user"}'
    wanted = '{"role": "user", "type": "#", "model": "m", "signature": "u ser", "id": "#"}'
    assert redact_json(body, lambda _: "#") == wanted


def chat_events(pieces, end="\n\n"):
    lines = [
        "data: " + json.dumps({"id": "c", "choices": [{"index": 0, "delta": {"content": one}}]})
        for one in pieces
    ]
    return end.join([*lines, "data: [DONE]", ""])


@settings(max_examples=60, deadline=None)
@given(cuts=st.lists(st.integers(0, 40), max_size=6), end=st.sampled_from(["\n\n", "\r\n\r\n", "\r\r"]))
def test_a_value_is_found_however_a_stream_cuts_it(cuts, end):
    """The answer reads as if its whole text had been redacted, and every event is still there."""
    text = f"Write to {ADDRESS} and nobody else."
    places = [0, *sorted(min(one, len(text)) for one in cuts), len(text)]
    body = chat_events([text[a:b] for a, b in itertools.pairwise(places)], end)
    redacted = redact_events(body, hide)
    events = [json.loads(line[6:]) for line in redacted.splitlines() if line.startswith("data: {")]
    assert "".join(one["choices"][0]["delta"]["content"] for one in events) == hide(text)
    assert redacted.count("data: ") == body.count("data: ")
    assert redact_events(redacted, hide) == redacted


def test_texts_of_one_stream_are_kept_apart():
    """Two choices, or two blocks, that come in turns are two texts; a value in one leaves the other alone."""
    halves = [ADDRESS[:6], ADDRESS[6:]]
    lines = [
        json.dumps(
            {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}
        )
        for half in halves
        for index, text in ((0, half), (1, f"<{len(half)}>"))
    ]
    body = "".join(f"event: content_block_delta\ndata: {line}\n\n" for line in lines)
    events = [
        json.loads(line[6:]) for line in redact_events(body, hide).splitlines() if line.startswith("data")
    ]
    texts = [(one["index"], one["delta"]["text"]) for one in events]
    assert texts == [(0, "[EMAIL_1]"), (1, "<6>"), (0, ""), (1, "<9>")]


def test_what_a_cut_stream_ends_with_is_dropped():
    """Half an event may hold half a value; what came before it stays."""
    body = chat_events(["all is well"])[:-16] + '\n\ndata: {"choices": [{"delta": {"content": "ann@exam'
    redacted = redact_events(body, hide)
    assert "all is well" in redacted
    assert "ann" not in redacted


def test_a_stream_is_read_as_before():
    """The answer of a redacted stream is the redacted answer."""
    pieces = ["Ask ", "ann@exa", "mple.org", ", or 4111 1111", " 1111 1111"]
    given_ = exchange(
        b'{"messages": []}',
        chat_events(pieces).encode(),
        response_headers=(("content-type", "text/event-stream"),),
    )
    found = Redactor(BUILTIN).redact(given_)
    answer = read_answer(dict(given_.response_headers), found.exchange.response_body)
    assert answer.text == "Ask [EMAIL_1], or [CARD_1]"
    assert found.replaced == {"email": 1, "card": 1}


def test_request_answer_and_session_share_their_placeholders():
    """Whether an answer repeats a value of the question can still be seen."""
    body = json.dumps({"messages": [{"role": "user", "content": f"b@c.org and {ADDRESS}"}]}).encode()
    answer = json.dumps({"choices": [{"message": {"content": f"It is {ADDRESS}."}}]}).encode()
    found = Redactor(BUILTIN).redact(exchange(body, answer, session=ADDRESS, task="chat")).exchange
    assert b"[EMAIL_1] and [EMAIL_2]" in found.request_body
    assert b"It is [EMAIL_2]." in found.response_body
    assert (found.session, found.task) == ("[EMAIL_2]", "chat")


def test_a_compressed_body_comes_out_plain_if_it_was_changed():
    """Its header goes with the compression; a body without a value keeps both, to the byte."""
    headers = (("content-type", "application/json"), ("content-encoding", "gzip"))
    for text, hidden in ((ADDRESS, True), ("nothing", False)):
        body = gzip.compress(json.dumps({"messages": [text]}).encode(), mtime=0)
        found = Redactor(BUILTIN).redact(exchange(body, request_headers=headers)).exchange
        assert (found.request_body == body) is not hidden
        assert (headers == found.request_headers) is not hidden
        if hidden:
            assert json.loads(found.request_body) == {"messages": ["[EMAIL_1]"]}


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        (b"To: ann@example.org", (), "not_json"),
        (b'{"a": "ann@example.org\xff"}', (), "not_text"),
        (b"ann@example.org", (("content-encoding", "gzip"),), "encoding_broken"),
        (b"ann@example.org", (("content-encoding", "secret"),), "encoding_unsupported"),
        (gzip.compress(bytes(17 << 20), mtime=0), (("content-encoding", "gzip"),), "too_large"),
    ],
)
def test_what_cannot_be_looked_at_does_not_leave(body, headers, reason):
    """The body is dropped and counted, and the worker gives the exchange up."""
    found = Redactor(BUILTIN).redact(exchange(body, request_headers=headers))
    assert found.exchange.request_body == b""
    assert found.emptied == (reason,)
    left = Reader({"main": RoutePlan((), (0.1,), 1, None)}).read(found.exchange)
    assert isinstance(left, Left)


class Kept:
    """A queue that has room for so many."""

    def __init__(self, room):
        self.room = room
        self.exchanges = []

    def put(self, exchanges):
        self.exchanges += exchanges[: self.room]
        return min(self.room, len(exchanges))


class Broken:
    """A detector in trouble."""

    def find(self, text):
        raise RuntimeError(text)


def test_the_sink_counts_and_passes_on():
    """Values by kind, bodies by reason; and as many are taken as the queue takes."""
    kept, tally = Kept(2), Tally()
    sink = RedactedSink(kept, Redactor(BUILTIN), tally)
    body = json.dumps({"messages": [ADDRESS, "b@c.org", "192.0.2.1"]}).encode()
    assert sink.put([exchange(body), exchange(b"no json"), exchange(b"{}")]) == 2
    assert tally.value("redactions", kind="email") == 2
    assert tally.value("redactions", kind="ip") == 1
    assert tally.value("redaction_failures", reason="not_json") == 1
    assert ADDRESS.encode() not in kept.exchanges[0].request_body


def test_a_detector_in_trouble_lets_nothing_through(caplog):
    """The exchange is queued without its bodies, and the log names the error, not the text."""
    kept, tally = Kept(9), Tally()
    assert (
        RedactedSink(kept, Redactor([Broken()]), tally).put([exchange(b'{"a": "my secret"}', session="s")])
        == 1
    )
    (left,) = kept.exchanges
    assert (left.request_body, left.response_body, left.session) == (b"", b"", None)
    assert tally.value("redaction_failures", reason="error") == 1
    assert "RuntimeError" in caplog.text
    assert "my secret" not in caplog.text


def test_odd_traffic_is_redacted_and_still_read():
    """Of wild exchanges, none raises, and what could be read before can be read afterwards."""
    rng = random.Random(5)
    redactor = Redactor(BUILTIN)
    compared = 0
    for number in range(60):
        wild = WildExchanges(rng).exchange(number)
        reader = Reader({wild.route: RoutePlan((), (0.3,), 0, None)})
        found = redactor.redact(wild)
        if found.emptied or isinstance(reader.read(wild), Left):
            continue
        compared += 1
        assert not isinstance(reader.read(found.exchange), Left)
    assert compared > 10
