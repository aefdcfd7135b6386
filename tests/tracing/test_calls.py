"""Calls to models in a trace: what they are named, what is sent along, what is said of their content."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import (
    error_attributes,
    http_attributes,
    server_attributes,
    url_attributes,
)

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.llm.chat import read_reply
from evenkeel.llm.observer import ModelCall, ObservedMessage
from evenkeel.shadow.perturbations.control import IdenticalResend
from evenkeel.shadow.planner import Trial
from evenkeel.shadow.replay import Replayer, Target
from evenkeel.tracing.export import ExportedSpans
from evenkeel.tracing.shadow import LONGEST_CHARS, input_messages, output_messages, server_of
from tests.cases import cases
from tests.llm.scripted import Canned, Clock, error, said
from tests.llm.scripted import serving as scripted
from tests.metrics.judge.scripted_judge import GOOD, QUESTION, run
from tests.stores.examples import exchange, verdict

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
EXCHANGE = exchange(0xAA, request_headers=(("traceparent", PARENT), ("tracestate", "a=b")))
ROOT = Path(__file__).parents[2]
CALL = ModelCall("replay", "chat", "m", "http://127.0.0.1:1/v1/chat/completions")


def observed(scene):
    """Run a scene with an observer; gives its outcome and the spans."""
    exporter = InMemorySpanExporter()
    spans = ExportedSpans(exporter)
    outcome = scene(spans.observer)
    spans.finish(240)
    return outcome, {span.name: span for span in exporter.get_finished_spans()}


def replayed(**options):
    """The headers that an upstream saw of a replay which it throttled once."""

    async def send():
        clock = Clock()
        replayer = Replayer(concurrency=1, timeout_s=240, clock=clock, sleep=clock.sleep)
        async with scripted([error(429), said("hi")]) as upstream:
            await replayer.send(Target(f"{upstream.url}/chat/completions"), b"{}", **options)
            await replayer.close()
            return upstream.headers

    return asyncio.run(send())


def test_a_replay_without_traces_carries_no_trace_context():
    """Nothing of the application's trace, and none of evenkeel's."""
    seen = replayed()
    assert len(seen) == 2
    assert not any({"traceparent", "tracestate", "baggage"} & headers.keys() for headers in seen)


def test_a_replay_carries_its_own_spans_context():
    """Each attempt is a span, which the upstream's own belong below; the application's is in neither."""
    exporter = InMemorySpanExporter()
    spans = ExportedSpans(exporter)
    with spans.observer.exchange(EXCHANGE, 1):
        seen = replayed(observed=lambda: spans.observer.call(CALL))
    spans.finish(240)
    first, second, root = exporter.get_finished_spans()
    assert [headers["traceparent"] for headers in seen] == [
        f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-{span.context.trace_flags:02x}"
        for span in (first, second)
    ]
    assert first.parent.span_id == second.parent.span_id == root.context.span_id
    assert first.attributes["error.type"] == "rate_limited"
    assert second.attributes["gen_ai.response.model"] == "scripted"
    assert all("0af7651916cd43dd" not in value for headers in seen for value in headers.values())
    assert not any({"tracestate", "baggage"} & headers.keys() for headers in seen)


def test_a_call_outside_of_an_exchange_has_no_span():
    """A probe of the judge's health begins no trace, and sends no context."""

    def scene(observer):
        with observer.call(CALL) as report:
            report.ended(Answer("", model="m"))
            return dict(report.headers)

    headers, spans = observed(scene)
    assert headers == {}
    assert spans == {}


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ZeroDivisionError("secret"), "ZeroDivisionError"), (asyncio.CancelledError(), "cancelled")],
)
def test_an_exception_ends_every_span_above_it_with_its_kind(error, reason):
    """The message, which may quote a prompt, is in none of them; the exception goes on to the caller."""

    def scene(observer):
        with pytest.raises(type(error)), observer.exchange(EXCHANGE, 2), observer.call(CALL):
            raise error

    _, spans = observed(scene)
    assert {name: span.attributes["error.type"] for name, span in spans.items()} == {
        "evenkeel.shadow": reason,
        "chat m": reason,
    }
    assert not any("secret" in span.to_json() for span in spans.values())


@pytest.mark.parametrize(
    ("canned", "error_type"),
    [
        (GOOD, None),
        (said("Hard to say."), None),
        (error(500), "server_error"),
        (Canned(cut=True), "connection"),
    ],
    ids=["good", "unreadable", "500", "cut"],
)
def test_a_judges_trouble_is_the_type_of_its_spans_error(canned, error_type):
    """The types are the reasons evenkeel counts; a reply that is no rating was a call that worked."""

    def scene(observer):
        async def asking(judge, _scripted):
            with observer.exchange(EXCHANGE, 1):
                await judge.ask(QUESTION)

        run([canned], asking, observer=observer, timeout_s=240.0)

    _, spans = observed(scene)
    span = spans["chat scripted"]
    assert span.attributes.get("error.type") == error_type
    assert span.attributes.get("gen_ai.usage.input_tokens") == (None if error_type else 100)
    assert span.attributes["gen_ai.prompt.name"] == QUESTION.prompt_version


NO_RATING = Failure("similarity", 1, "timeout", "secret")


@pytest.mark.parametrize(
    ("changes", "events"),
    [
        ({"rating": None, "failure": NO_RATING}, [("similarity", None, "timeout")]),
        ({"rating": None, "failure": Failure("replay", 1, "timeout", "secret")}, []),
        (
            {"rating": 2, "quality_failures": (Failure("faithfulness", 1, "refused", "secret"),)},
            [("similarity", 2.0, None), ("faithfulness", None, "refused")],
        ),
        (
            {"rating": 1, "quality": (QualityScore("citations", 1, 1.0, 0.5, "agreement"),)},
            [("similarity", 1.0, None), ("citations", 0.5, None)],
        ),
    ],
    ids=["judge", "replay", "quality", "agreement"],
)
def test_what_could_not_be_measured_has_a_reason_and_no_score(changes, events):
    """A failed rating or quality is an event without a value; a failed replay left nothing to evaluate."""
    logged = verdict(1, exchange_id=EXCHANGE.id, scorer="judge", **{"quality": ()} | changes)

    def scene(observer):
        with (
            observer.exchange(EXCHANGE, 1),
            observer.trial(Trial(EXCHANGE.id, IdenticalResend(), 0.0, 7)) as report,
        ):
            report.logged(logged)

    _, spans = observed(scene)
    trial = spans["trial baseline.identical"]
    names = ("gen_ai.evaluation.name", "gen_ai.evaluation.score.value", "error.type")
    assert [tuple(event.attributes.get(name) for name in names) for event in trial.events] == events
    assert trial.attributes["evenkeel.outcome"] == ("failed" if logged.failure else "rated")
    assert "secret" not in trial.to_json()


def test_odd_characters_of_a_model_name_spoil_no_batch():
    """Half a character cannot be sent; it is replaced in name and attributes."""
    odd = ModelCall("judge", "chat", "m\ud83d", "http://127.0.0.1:1/v1")

    def scene(observer):
        with observer.exchange(EXCHANGE, 1), observer.call(odd) as report:
            report.ended(Answer("", model="n\ude00", finish_reason="\ud800"))

    _, spans = observed(scene)
    span = spans["chat m\ufffd"]
    assert span.attributes["gen_ai.response.model"] == "n\ufffd"
    assert span.attributes["gen_ai.response.finish_reasons"] == ("\ufffd",)


@pytest.mark.parametrize(("url", "server"), cases(__file__)["servers"])
def test_the_server_is_told_without_the_rest_of_its_url(url, server):
    """The provider is the one whose API is spoken; no path, query or user."""
    assert list(server_of(url).values()) == server
    # A unix socket has a path and no port.
    assert list(server_of(url, "/run/llm.sock").values())[1:] == ["/run/llm.sock", None]


def names():
    """Every name that the sources write."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "evenkeel/tracing").glob("*.py"))
    return set(re.findall(r'"((?:gen_ai|evenkeel|server|error|http|url)\.[a-z_.]+)"', sources))


def test_names_are_the_conventions_own():
    """Every name outside of `evenkeel.` is one that OpenTelemetry's package of conventions has."""
    modules = (gen_ai_attributes, error_attributes, http_attributes, server_attributes, url_attributes)
    known = {value for module in modules for value in vars(module).values() if isinstance(value, str)}
    ours = names()
    assert len(ours) > 30
    # Of an event the package has no constant.
    foreign = {name for name in ours if not name.startswith("evenkeel.")} - known
    assert foreign == {"gen_ai.evaluation.result"}


def test_the_page_about_traces_knows_every_name():
    """Names on the page are attributes, events or spans that are really reported, or parts of one."""
    page = (ROOT / "docs" / "tracing.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`((?:gen_ai|evenkeel|server|error)\.[a-z_.]+)`", page))
    assert len(told) > 10
    assert told <= names()


texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=60)


@given(st.lists(st.tuples(texts, texts), max_size=4), texts, st.none() | texts)
def test_content_is_json_that_can_be_sent(said, answer, finish):
    """Texts may be anything, halves of characters included."""
    sent = input_messages([ObservedMessage(*message) for message in said])
    assert len(json.loads(sent.encode())) == len(said)
    result = Answer(text=answer, finish_reason=finish, tool_calls=(ToolCall(answer, answer),))
    (message,) = json.loads(output_messages(result).encode())
    assert ("finish_reason" in message) == (finish is not None)


def test_tool_calls_are_parts_of_the_answer():
    """A message that only calls has no text part; arguments count towards the length."""
    calls = (ToolCall("look_up", '{"id": 7}'), ToolCall("note", "n" * LONGEST_CHARS))
    (message,) = json.loads(output_messages(Answer("", tool_calls=calls)))
    first, second = message["parts"]
    assert first == {"type": "tool_call", "name": "look_up", "arguments": '{"id": 7}'}
    assert second["arguments"].endswith("n… [9 characters left out]")


def test_long_content_is_cut_and_says_so():
    """16,000 characters of all texts together: ten of the second message are left, none of the third."""
    texts = [
        ObservedMessage("system", "s" * (LONGEST_CHARS - 10)),
        ObservedMessage("user", "u" * 25),
        ObservedMessage("user", "v" * 3),
    ]
    first, second, third = (message["parts"][0]["content"] for message in json.loads(input_messages(texts)))
    assert first == texts[0].content
    assert second == "u" * 10 + "… [15 characters left out]"
    assert third == "… [3 characters left out]"


@pytest.mark.parametrize(
    "odd", [{}, {"choices": []}, {"choices": [None], "usage": "?"}, {"usage": {"prompt_tokens": -1}}]
)
def test_an_odd_completion_says_nothing(odd):
    """A member that is missing or of another type counts as not said."""
    assert read_reply(odd)[1] == Answer("")
