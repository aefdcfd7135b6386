"""Spans of sampled exchanges, and how another process names them."""

from __future__ import annotations

import logging

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import ValidationError

from evenkeel.core.exchange import Exchange
from evenkeel.settings import Settings
from evenkeel.shadow.observer import NOBODY
from evenkeel.tracing import NoSpans, open_spans
from evenkeel.tracing.export import ExportedSpans
from evenkeel.tracing.forwarded import forwarded_context, shadow_trace_id

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ROUTES = [{"upstream": "http://127.0.0.1:9"}]


class Sink:
    def __init__(self):
        self.taken = []

    def put(self, exchanges):
        self.taken += exchanges
        return len(exchanges)


def exchange(**changes):
    fields = {
        "id": "00000000000000aa",
        "route": "support",
        "received_at": 1000.5,
        "duration_s": 0.25,
        "method": "POST",
        "path": "/v1/chat/completions?api-version=1",
        "status": 200,
        "request_headers": (),
        "request_body": b"secret prompt",
        "response_headers": (),
        "response_body": b"secret answer",
    }
    return Exchange(**{**fields, **changes})


def reported(*exchanges):
    """What one process makes of exchanges: its sink, and its spans."""
    exporter, sink = InMemorySpanExporter(), Sink()
    spans = ExportedSpans(exporter)
    assert spans.sink(sink).put(list(exchanges)) == len(exchanges)
    spans.finish(5)
    return sink, exporter.get_finished_spans()


def test_a_span_is_the_forwarded_request():
    """Its times are the exchange's own, and it holds no content."""
    sink, (span,) = reported(exchange())
    assert len(sink.taken) == 1
    assert span.name == "POST /v1/chat/completions"
    assert (span.start_time, span.end_time) == (1_000_500_000_000, 1_000_750_000_000)
    assert span.attributes["evenkeel.route"] == "support"
    assert span.attributes["http.response.status_code"] == 200
    assert span.parent is None
    assert "secret" not in span.to_json()
    assert not any(name.startswith("gen_ai.") for name in span.attributes)


def test_a_span_continues_the_applications_trace():
    """The W3C header names the parent; a malformed one is ignored."""
    _, (first, second) = reported(
        exchange(request_headers=(("traceparent", PARENT),)),
        exchange(request_headers=(("traceparent", "nonsense"),)),
    )
    assert f"{first.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert f"{first.parent.span_id:016x}" == "b7ad6b7169203331"
    assert second.parent is None


def test_a_span_that_cannot_be_made_costs_no_exchange():
    """Time at the end of the world overflows the span; the exchange is queued, the loss counted."""
    spans, sink = ExportedSpans(InMemorySpanExporter()), Sink()
    assert spans.sink(sink).put([exchange(received_at=float("inf")), exchange()]) == 2
    spans.finish(5)
    assert len(sink.taken) == 2
    assert spans.snapshot()["counters"] == [
        ["spans_dropped", {"reason": "error"}, 1],
        ["spans_exported", {}, 1],
    ]


@pytest.mark.parametrize("headers", [(), (("traceparent", PARENT), ("tracestate", "a=b"))])
def test_another_process_names_the_same_span(headers):
    """Trace and span id follow from the exchange alone, whether or not the application has a trace."""
    one = exchange(request_headers=headers)
    _, (span,) = reported(one)
    named = forwarded_context(one)
    assert (named.trace_id, named.span_id) == (span.context.trace_id, span.context.span_id)
    assert named.is_remote
    assert named.trace_flags.sampled


def test_a_trace_that_the_application_does_not_record_is_not_recorded_here():
    """The flag of its header decides, for the span and for the link to it."""
    one = exchange(request_headers=(("traceparent", PARENT[:-2] + "00"),))
    sink, spans = reported(one)
    assert len(sink.taken) == 1
    assert spans == ()
    assert not forwarded_context(one).trace_flags.sampled


def test_ids_are_evenly_spread_although_sampled_exchanges_have_low_ids():
    """Of 400 consecutive exchanges about half have traces whose low 64 bits are in the lower half."""
    traces = [shadow_trace_id(f"{number:016x}") for number in range(400)]
    assert len(set(traces)) == 400
    assert 150 < sum(trace % 2**64 < 2**63 for trace in traces) < 250


def test_the_variables_say_who_reports(monkeypatch):
    """`OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` come before evenkeel's own name."""
    _, (span,) = reported(exchange())
    assert span.resource.attributes["service.name"] == "evenkeel"
    monkeypatch.setenv("OTEL_SERVICE_NAME", "robustness")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging")
    _, (span,) = reported(exchange())
    assert span.resource.attributes["service.name"] == "robustness"
    assert span.resource.attributes["deployment.environment.name"] == "staging"


def test_without_traces_nothing_is_in_the_way():
    """The sink is the queue itself, nobody observes, and there is nothing to finish."""
    spans, sink = open_spans(Settings(routes=ROUTES)), Sink()
    assert isinstance(spans, NoSpans)
    assert spans.sink(sink) is sink
    assert spans.observer is NOBODY
    assert spans.snapshot() == {}
    spans.finish(1)


def test_a_variable_that_makes_no_sense_costs_the_traces_only(monkeypatch, caplog):
    """It is reported, and everything else goes on."""
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "-5")
    with caplog.at_level(logging.WARNING, "evenkeel.traces"):
        spans = open_spans(Settings(routes=ROUTES, telemetry={"traces": True}))
    assert isinstance(spans, NoSpans)
    assert "ValueError" in caplog.text
    assert "everything else goes on" in caplog.text


def test_a_place_for_traces_says_where_the_id_goes():
    """An address without `{trace_id}`, or of no web page, is refused with what to write."""
    good = "https://tempo.example/explore?id={trace_id}"
    assert Settings(routes=ROUTES, telemetry={"trace_url": good}).telemetry.trace_url == good
    for bad, words in (
        ("https://tempo.example/", "write {trace_id} there"),
        ("javascript:{trace_id}", "http"),
    ):
        with pytest.raises(ValidationError, match=words):
            Settings(routes=ROUTES, telemetry={"trace_url": bad})


@pytest.mark.parametrize("size", ["100", "0", "-3", "many"])
def test_any_size_of_the_queue_is_survived(size, monkeypatch):
    """A queue smaller than the usual batch works; what is no size is ignored."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", size)
    _, spans = reported(exchange())
    assert len(spans) == 1
