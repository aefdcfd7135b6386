"""Redaction: which values are found, where texts stand in bodies, and what reaches the queue."""

import asyncio
import base64
import gzip
import itertools
import json
import random
import sys
import zlib
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evenkeel.core.exchange import QueueBounds
from evenkeel.core.protected_spans import protected_spans
from evenkeel.llm.encodings import decode_body
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.observer import NOBODY
from evenkeel.shadow.original import Reader, UnreadableExchange
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt import CHAT
from evenkeel.shadow.protection import BUILTIN, ProtectionError, RedactedSink, Redactor
from evenkeel.shadow.protection.detectors import OwnPattern, PresidioDetector, load_analyser
from evenkeel.shadow.protection.process import RedactionProcess
from evenkeel.shadow.protection.redaction import Placeholders, Unredactable, redact_events, redact_json
from evenkeel.shadow.worker import Worker
from evenkeel.stores.counters import Tally
from evenkeel.stores.sealing import KEY_VARIABLE, SealError, seal_of
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from tests.cases import cases
from tests.kit.records import altered
from tests.shadow.planes import captured
from tests.shadow.redactors import builtin, impossible
from tests.shadow.wild_exchanges import WildExchanges

CASES = cases(__file__)
ADDRESS = "ann@example.org"


def hide(text):
    """A detector that knows one value only."""
    return text.replace(ADDRESS, "[EMAIL_1]")


def exchange(request, response=b"{}", **changes):
    plain = {"route": "main", "request_headers": (), "response_headers": ()}
    return captured(request, response, **(plain | changes))


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
        return [replaced(item) for item in value]
    return {name: replaced(item) for name, item in value.items()} if isinstance(value, dict) else value


@given(value=JSON, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_any_json_stays_json_with_every_string_redacted(value, indent, ascii_only):
    """The same as parsing it, changing the strings, and writing it."""
    body = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert json.loads(redact_json(body, hide)) == replaced(value)


@pytest.mark.parametrize(
    "body", ["", "{", "{'a': 1}", "plain words", '{"a": 1} trailing', "[" * 100_000, "NaN of it"]
)
def test_what_is_no_json_is_refused(body):
    """Text cannot be told from structure in it."""
    with pytest.raises(Unredactable):
        redact_json(body, hide)


def test_json_within_a_string_stays_json():
    """Arguments of a call keep their escapes; names of members are data there."""
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
        "data: " + json.dumps({"id": "c", "choices": [{"index": 0, "delta": {"content": piece}}]})
        for piece in pieces
    ]
    return end.join([*lines, "data: [DONE]", ""])


@given(cuts=st.lists(st.integers(0, 40), max_size=6), end=st.sampled_from(["\n\n", "\r\n\r\n", "\r\r"]))
def test_a_value_is_found_however_a_stream_cuts_it(cuts, end):
    """The answer reads as if its whole text had been redacted, and every event is still there."""
    text = f"Write to {ADDRESS} and nobody else."
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    body = chat_events([text[a:b] for a, b in itertools.pairwise(places)], end)
    redacted = redact_events(body, hide)
    events = [json.loads(line[6:]) for line in redacted.splitlines() if line.startswith("data: {")]
    assert "".join(event["choices"][0]["delta"]["content"] for event in events) == hide(text)
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
    texts = [(event["index"], event["delta"]["text"]) for event in events]
    assert texts == [(0, "[EMAIL_1]"), (1, "<6>"), (0, ""), (1, "<9>")]


def test_what_a_cut_stream_ends_with_is_dropped():
    """Half an event may hold half a value; what came before it stays."""
    body = chat_events(["all is well"])[:-16] + '\n\ndata: {"choices": [{"delta": {"content": "ann@exam'
    redacted = redact_events(body, hide)
    assert "all is well" in redacted
    assert "ann" not in redacted


@pytest.mark.parametrize(
    "end", ["", "[DONE]\n", "data: [DONE]\n", '{"choices": [{"delta": {"content": "ann@exam']
)
def test_lines_of_json_are_redacted_like_events(end):
    """Some servers write no prefix; a line that is cut off is dropped."""
    lines = chat_events(["Ask ann@exa", "mple.org"], "\n").replace("data: ", "").replace("[DONE]\n", "")
    last = '{"choices": [{"delta": {}, "finish_reason": "stop"}]}\n'
    found = Redactor(BUILTIN).redact(exchange(b"{}", (lines + last + end).encode()))
    assert not found.emptied
    answer = read_answer({}, found.exchange.response_body, CHAT.answer_reader())
    assert (answer.text, answer.streamed) == ("Ask [EMAIL_1]", True)


def test_request_answer_and_session_share_their_placeholders():
    """An answer that repeats a value of the question still shows it."""
    body = json.dumps({"messages": [{"role": "user", "content": f"b@c.org and {ADDRESS}"}]}).encode()
    answer = json.dumps({"choices": [{"message": {"content": f"It is {ADDRESS}."}}]}).encode()
    found = Redactor(BUILTIN).redact(exchange(body, answer, session=ADDRESS, task="chat")).exchange
    assert b"[EMAIL_1] and [EMAIL_2]" in found.request_body
    assert b"It is [EMAIL_2]." in found.response_body
    assert (found.session, found.task) == ("[EMAIL_2]", "chat")


def test_a_compressed_body_stays_compressed():
    """Megabytes from a few kilobytes do not go on as megabytes; a body without a value stays to the byte."""
    headers = (("content-encoding", "deflate"), ("content-type", "application/json"))
    for text, hidden in ((ADDRESS, True), ("nothing", False)):
        body = zlib.compress(json.dumps({"messages": [text]}).encode())
        found = Redactor(BUILTIN).redact(exchange(body, request_headers=headers)).exchange
        assert (found.request_body == body) is not hidden
        assert (headers == found.request_headers) is not hidden
        if hidden:
            read = decode_body(dict(found.request_headers), found.request_body)
            assert json.loads(read) == {"messages": ["[EMAIL_1]"]}
            assert dict(found.request_headers)["content-type"] == "application/json"


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
    left = Reader({"main": RoutePlan((), 1, None)}).read(found.exchange)
    assert isinstance(left, UnreadableExchange)


class Kept:
    """A queue that has room for so many."""

    def __init__(self, room):
        self.room = room
        self.exchanges = []

    def put(self, exchanges):
        self.exchanges += exchanges[: self.room]
        return min(self.room, len(exchanges))


@pytest.mark.parametrize(
    "text",
    [
        "data:image/png;base64,iVBORw0KGgo= write to {}",
        "data:image/png;base64,iVBORw0KGgo=\n{}",
        "data:text/plain;base64, {}",
    ],
)
def test_text_behind_a_picture_is_looked_at(text):
    """The beginning of a picture is no way round redaction; a picture itself stays as it is."""
    redact = Placeholders(BUILTIN).redact
    assert redact(text.format(ADDRESS)) == text.format("[EMAIL_1]")
    picture = "data:image/png;base64,iVBORw0KGgo="
    assert redact(picture) is picture


@pytest.mark.parametrize("mark", ["\t", "\n", "\r\n", "/", "_", " ", "-", "."])
def test_groups_of_a_card_may_be_parted_by_anything(mark):
    """Tabs, line breaks, slashes and underscores part a number as spaces do; single digits are no groups."""
    redact = Placeholders(BUILTIN).redact
    assert redact(f"pay {mark.join(('4111', '1111', '1111', '1111'))} now") == "pay [CARD_1] now"
    assert redact("rows\t4111\t1111\t1111\t1112") == "rows\t4111\t1111\t1111\t1112"


def test_comments_and_fields_of_a_stream_are_looked_at():
    """A comment may quote what was asked; an address in a URL has its sign encoded."""
    stream = f': asked by {ADDRESS}\nevent: delta\ndata: {{"a": "ann%40example.org"}}\n\n'
    found = redact_events(stream, Placeholders(BUILTIN).redact)
    assert found == ': asked by [EMAIL_1]\nevent: delta\ndata: {"a": "[EMAIL_2]"}\n\n'


class Broken:
    """A detector in trouble."""

    def find(self, text):
        raise RuntimeError(text)


def test_the_sink_counts_and_passes_on():
    """Values by kind, bodies by reason; and as many are taken as the queue takes."""
    kept, tally = Kept(2), Tally()
    sink = RedactedSink(kept, Redactor(BUILTIN).redact, tally)
    body = json.dumps({"messages": [ADDRESS, "b@c.org", "192.0.2.1"]}).encode()
    assert sink.put([exchange(body), exchange(b"no json"), exchange(b"{}")]) == 2
    assert tally.value("redactions", kind="email") == 2
    assert tally.value("redactions", kind="ip") == 1
    assert tally.value("redaction_failures", reason="not_json") == 1
    assert ADDRESS.encode() not in kept.exchanges[0].request_body


def test_more_than_a_worker_reads_is_not_searched():
    """Sixteen megabytes from a few kilobytes are dropped with a reason; a picture of that size is no text."""
    text = json.dumps({"messages": ["10.0.0.1 a@b.de " * 500_000]}).encode()
    found = Redactor(BUILTIN).redact(exchange(text))
    assert (found.exchange.request_body, found.emptied) == (b"", ("too_long",))
    picture = json.dumps({"messages": ["data:image/png;base64," + "A" * 5_000_000, ADDRESS]}).encode()
    assert b"[EMAIL_1]" in Redactor(BUILTIN).redact(exchange(picture)).exchange.request_body


def test_exchanges_are_redacted_in_a_process_of_their_own():
    """An exchange that takes too long loses its bodies and is counted; the next gets another process."""
    kept, tally = Kept(9), Tally()
    process = RedactionProcess(builtin)
    process.start()
    try:
        sink = RedactedSink(kept, process.redact, tally)
        body = json.dumps({"messages": [ADDRESS]}).encode()
        for sent, limit_s in ((body, 240.0), (b'{"a": "endless"}', 0.1), (body, 240.0)):
            process._limit_s = limit_s
            assert sink.put([exchange(sent)]) == 1
    finally:
        process.close()
    found = [exchange.request_body for exchange in kept.exchanges]
    assert found == [b'{"messages": ["[EMAIL_1]"]}', b"", b'{"messages": ["[EMAIL_1]"]}']
    assert tally.value("redaction_failures", reason="too_slow") == 1
    with pytest.raises(ProtectionError, match="no model"):
        RedactionProcess(impossible).start()


def test_a_detector_in_trouble_lets_nothing_through(caplog):
    """The exchange is queued without its bodies, and the log names the error, not the text."""
    kept, tally = Kept(9), Tally()
    sink = RedactedSink(kept, Redactor([Broken()]).redact, tally)
    assert sink.put([exchange(b'{"a": "my secret"}', session="s")]) == 1
    (left,) = kept.exchanges
    assert (left.request_body, left.response_body, left.session) == (b"", b"", None)
    assert tally.value("redaction_failures", reason="error") == 1
    assert "RuntimeError" in caplog.text
    assert "my secret" not in caplog.text


def test_odd_traffic_is_redacted_and_still_read():
    """No wild exchange raises, and those that could be read before can be read afterwards."""
    rng = random.Random(5)
    redactor = Redactor(BUILTIN)
    compared = 0
    for number in range(60):
        wild = WildExchanges(rng).exchange(number)
        reader = Reader({wild.route: RoutePlan((), 0, None)})
        found = redactor.redact(wild)
        if found.emptied or isinstance(reader.read(wild), UnreadableExchange):
            continue
        compared += 1
        assert not isinstance(reader.read(found.exchange), UnreadableExchange)
    assert compared > 10


@pytest.mark.parametrize(("text", "redacted"), CASES["values are told from what looks like them"])
def test_values_are_told_from_what_looks_like_them(text, redacted):
    """Check digits, lengths and surroundings decide; what is no such value stays."""
    assert Placeholders(BUILTIN).redact(text) == (redacted or text)


def test_the_same_value_has_the_same_placeholder():
    """However it is written, and numbers go by the order in which values come."""
    values = Placeholders(BUILTIN)
    assert values.redact("a@b.org, c@d.org, A@B.ORG") == "[EMAIL_1], [EMAIL_2], [EMAIL_1]"
    assert values.redact("c@d.org: 4111111111111111") == "[EMAIL_2]: [CARD_1]"
    assert values.redact("4111-1111-1111-1111") == "[CARD_1]"
    assert values.replaced == {"email": 4, "card": 2}


def test_perturbations_leave_placeholders_alone():
    """A replay asks about the same placeholders as the original."""
    for pattern in BUILTIN:
        placeholder = f"[{pattern.kind.upper()}_12]"
        text = f"Please write to {placeholder} soon"
        assert placeholder in {text[span.start : span.end] for span in protected_spans(text)}


@example(["a@b.cd.a@a.eyJ"])  # the second address begins where the first one ended
@given(
    st.lists(
        st.sampled_from([*CASES["hostile"], "ann@example.org", "4111111111111111", " ", "\n", "é"]),
        max_size=40,
    )
)
def test_redacting_again_changes_nothing(pieces):
    """A placeholder is never taken for a value, and nothing is left over."""
    once = Placeholders(BUILTIN).redact("".join(pieces))
    assert Placeholders(BUILTIN).redact(once) == once


@pytest.mark.parametrize(("patterns", "text", "redacted"), CASES["own patterns"])
def test_own_patterns_are_found_and_come_to_an_end(patterns, text, redacted):
    """Their first group is replaced, and no placeholder is."""
    assert Placeholders([OwnPattern(*pattern) for pattern in patterns.items()]).redact(text) == redacted


@pytest.mark.parametrize(
    ("written", "said"), [("(", "missing"), ("(?=a)b", "no lookaround"), ("a*", "matches empty text")]
)
def test_an_own_pattern_that_cannot_be_used_says_why(written, said):
    """The error comes at the start, not in the middle of traffic."""
    with pytest.raises(ProtectionError, match=said):
        OwnPattern("mine", written)


def test_an_own_pattern_takes_linear_time():
    """Nested repetitions, which ruin other engines, do nothing to RE2."""
    assert not list(OwnPattern("mine", "(a+)+$").find("a" * 100_000 + "b"))


class Analyser:
    """Stands for Presidio: recognises capitalised words as persons, of whom some are doubtful."""

    def analyze(self, text, language, entities):
        assert (language, entities) == ("en", ["PERSON"])
        at = 0
        for word in text.split():
            at = text.index(word, at)
            if word.istitle():
                score = 0.4 if word == "Maybe" else 0.85
                yield SimpleNamespace(start=at, end=at + len(word), entity_type="PERSON", score=score)


def test_what_presidio_is_sure_of_is_replaced():
    """Kinds are those of Presidio in small letters, and least certainty counts."""
    detector = PresidioDetector(Analyser(), language="en", entities=["PERSON"], score=0.5)
    assert Placeholders([detector]).redact("ask Ann or Maybe Bob") == "ask [PERSON_1] or Maybe [PERSON_2]"


def no_model(supported_languages):
    """End the process, as Presidio does without a model."""
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (None, r"pip install 'evenkeel-proxy\[presidio\]'"),
        (SimpleNamespace(AnalyzerEngine=no_model), "install a spaCy model"),
    ],
)
def test_presidio_without_its_parts_says_what_to_install(monkeypatch, module, said):
    """The extra, or a model for the language."""
    monkeypatch.setitem(sys.modules, "presidio_analyzer", module)
    with pytest.raises(ProtectionError, match=said):
        load_analyser("en")


WORD = b"periwinkle"
EXCHANGE = exchange(WORD, WORD * 900, number=0xAB)
KEYS = [base64.b64encode(bytes([number]) * 32).decode() for number in (1, 2)]


@pytest.fixture
def queue_with(backend):
    """Opens one and the same queue with other keys."""
    return lambda *keys: backend.queue(backend.opened(seal=seal_of({KEY_VARIABLE: ",".join(keys)})))


def payload_on(queue):
    """Return the stored payload of the only exchange."""
    if isinstance(queue, SqliteExchangeQueue):
        return queue._database.connection().execute("SELECT payload FROM exchanges").fetchone()[0]
    return queue._store.client.get(f"{queue._prefix}{EXCHANGE.id}")


def test_an_exchange_is_compressed_and_then_encrypted(queue_with):
    """The store does not show its words, and it takes less room than on the wire."""
    queue = queue_with(KEYS[0])
    assert queue.put([EXCHANGE]) == 1
    assert WORD not in payload_on(queue)
    assert len(payload_on(queue)) < EXCHANGE.size_bytes / 10
    queue.check_readable()
    (lease,) = queue_with(KEYS[1], KEYS[0]).reserve(5, 10.0)
    assert lease.exchange == EXCHANGE
    assert not lease.fault


def test_a_worker_without_the_key_is_told_before_it_starts(queue_with):
    """Looking at the newest exchange is enough, and nothing is taken from the queue."""
    other = queue_with(KEYS[1])
    other.check_readable()  # there is nothing that could be lost
    queue_with(KEYS[0]).put([EXCHANGE])
    with pytest.raises(SealError, match=f"not in {KEY_VARIABLE}; put that key there"):
        other.check_readable()
    assert other.lag().waiting == 1


def worked_through(queue):
    """Have the worker go through a queue of exchanges that cannot be read; return its counts."""
    tally = Tally()
    asyncio.run(Worker(queue, None, SimpleNamespace(observer=NOBODY), tally=tally).drain())
    return tally


def test_what_cannot_be_decrypted_ends_among_the_dead_letters(queue_with, tmp_path):
    """The reason is counted, and the right key still opens the encrypted body."""
    readable = altered(EXCHANGE, id="00000000000000cd")
    queue_with(KEYS[0]).put([EXCHANGE])
    queue_with(KEYS[1]).put([readable])
    queue = queue_with(KEYS[1])
    first, second = queue.reserve(5, 10.0)
    assert (first.exchange.id, first.fault) == (EXCHANGE.id, "undecryptable")
    assert first.exchange.size_bytes == 0
    assert (second.exchange, second.fault) == (readable, "")
    queue.acknowledge([readable.id])
    queue.release([EXCHANGE.id])
    tally = worked_through(queue)
    assert tally.value("exchanges_dead", reason="undecryptable") == 1
    assert queue.lag().dead == 1
    assert queue.lag().waiting == queue.lag().leased == 0


def test_a_damaged_body_does_not_hold_up_the_others(queue_with, tmp_path):
    """The body becomes a dead letter of its own; others reserved with it are worked on."""
    queue = queue_with()
    queue.put([EXCHANGE])
    if isinstance(queue, SqliteExchangeQueue):
        with queue._database.write() as connection:
            connection.execute("UPDATE exchanges SET payload = x'7a00'")
    else:
        queue._store.client.set(f"{queue._prefix}{EXCHANGE.id}", b"z\x00")
    assert worked_through(queue).value("exchanges_dead", reason="damaged") == 1
    assert queue.lag().dead == 1


def test_bodies_in_the_file_are_forgotten_in_time(on_sqlite, tmp_path):
    """Exchanges that wait too long become dead letters, as "expired"; their room is free again."""
    queue = on_sqlite.queue(bounds=QueueBounds(kept_s=3600.0, bytes=300))
    queue.put([EXCHANGE])
    on_sqlite.clock.now += 3540.0
    later = altered(EXCHANGE, id="00000000000000cd", request_body=b"", response_body=b"")
    queue.put([later])
    assert len(payload_on(queue)) > 0
    on_sqlite.clock.now += 60.0
    assert queue.put([altered(later, id="00000000000000ef")]) == 1
    assert payload_on(queue) == b""
    first, *others = queue.reserve(5, 10.0)
    assert (first.exchange.id, first.fault) == (EXCHANGE.id, "expired")
    assert [lease.fault for lease in others] == ["", ""]
    queue.release([lease.exchange.id for lease in (first, *others)])
    queue.acknowledge([lease.exchange.id for lease in others])
    assert worked_through(queue).value("exchanges_dead", reason="expired") == 1
