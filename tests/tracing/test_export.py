"""Spans on their way out: every one is counted, and no collector holds anything up."""

import logging
import threading
import time
from functools import partial

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from pydantic import ValidationError

from evenkeel.settings import Settings
from evenkeel.shadow.observer import NOBODY
from evenkeel.stores.counters import Tally
from evenkeel.tracing import NoSpans, export, open_spans
from evenkeel.tracing.export import ExportedSpans, SpanOutbox, otlp_exporter
from evenkeel.tracing.forwarded import forwarded_context, shadow_trace_id
from tests.otlp_receiver import collecting
from tests.stores import examples


class ScriptedExporter(SpanExporter):
    """Exports as it is told: a result, an exception, or not before it is released."""

    def __init__(self, *script):
        self.script = list(script)
        self.released = threading.Event()
        self.entered = threading.Event()
        self.batches = []

    def export(self, spans):
        self.batches.append(len(spans))
        self.entered.set()
        act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if act == "hang":
            self.released.wait()
            act = SpanExportResult.SUCCESS
        if isinstance(act, Exception):
            raise act
        return act


@pytest.fixture
def queue():
    """An outbox before an exporter, a tracer on it, and what it has counted, by reason."""
    exporters = []

    def make(exporter, *, room=2048, delay_s=60):
        exporters.append(exporter)
        tally = Tally()
        made = SpanOutbox(exporter, tally, room=room, delay_s=delay_s)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(made)

        def counted():
            return {
                labels.get("reason", "exported"): number for _, labels, number in tally.snapshot()["counters"]
            }

        return made, provider.get_tracer("test"), counted

    yield make
    for exporter in exporters:
        exporter.released.set()


def wait_until(check):
    """Wait for what another thread does; the test's own limit ends it."""
    while not check():
        time.sleep(0.002)


def end_spans(tracer, number):
    for _ in range(number):
        tracer.start_span("one").end()


def test_what_arrives_is_counted(queue):
    """Seven spans end, seven are exported at the end; three that are not recorded are nobody's loss."""
    made, tracer, counted = queue(ScriptedExporter(SpanExportResult.SUCCESS))
    unrecorded = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    unrecorded.add_span_processor(made)
    end_spans(unrecorded.get_tracer("test"), 3)
    end_spans(tracer, 7)
    made.close(240)
    assert counted() == {"exported": 7}


def test_a_full_queue_drops_what_comes_and_keeps_what_waits(queue):
    """Seven of eleven spans are lost at once behind a collector that hangs, four at the end."""
    exporter = ScriptedExporter("hang")
    made, tracer, counted = queue(exporter, room=4)
    end_spans(tracer, 4)  # as many as make a batch
    assert exporter.entered.wait(240)
    end_spans(tracer, 7)
    assert counted() == {"queue_full": 7}
    made.close(0.05)
    assert counted() == {"queue_full": 7, "shutdown": 4}


def test_what_fails_is_counted_and_told_once(queue, caplog):
    """A refused batch and one that raised are losses; the log tells of them once, and when it is over."""
    refused, broken, fine = SpanExportResult.FAILURE, RuntimeError("no"), SpanExportResult.SUCCESS
    made, tracer, counted = queue(ScriptedExporter(refused, broken, fine), room=2)
    with caplog.at_level(logging.WARNING, "evenkeel.traces"):
        for number in (2, 4, 6):
            end_spans(tracer, 2)
            wait_until(lambda number=number: sum(counted().values()) == number)
        made.close(240)
    assert counted() == {"export_failed": 4, "exported": 2}
    own = [record.getMessage() for record in caplog.records if record.thread == made._thread.ident]
    assert [line.partition(";")[0] for line in own] == [
        "traces cannot be sent (export_failed)",
        "traces are sent again",
    ]


def test_the_end_does_not_wait_for_a_collector_that_hangs(queue):
    """Closing returns in its time, what waited is lost, and a late success is not counted twice."""
    exporter = ScriptedExporter("hang")
    made, tracer, counted = queue(exporter)
    end_spans(tracer, 3)
    made.close(0.2)
    assert counted() == {"shutdown": 3}
    exporter.released.set()
    end_spans(tracer, 1)
    assert counted() == {"shutdown": 4}


def test_the_end_hardly_waits_for_a_collector_that_just_failed(queue):
    """A close that may take longer than a test gives up early after a lost batch."""
    exporter = ScriptedExporter(SpanExportResult.FAILURE, "hang")
    made, tracer, counted = queue(exporter, room=2)
    end_spans(tracer, 2)
    wait_until(lambda: counted() == {"export_failed": 2})
    end_spans(tracer, 1)
    made.close(600)
    assert counted() == {"export_failed": 2, "shutdown": 1}


def report(collector_url, monkeypatch, collector=None):
    """Report an exchange to a collector by the real exporter; return the counters."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector_url)
    spans = ExportedSpans(otlp_exporter(), delay_s=0.01)
    assert spans.sink(Sink()).put([exchange()]) == 1
    if collector is not None:
        wait_until(lambda: collector.requests)
    spans.finish(0.2)
    return {(name, labels.get("reason")): number for name, labels, number in spans.snapshot()["counters"]}


@pytest.mark.parametrize("fault", ["no listener", "silent", "500"])
def test_a_collector_in_trouble_costs_one_span(fault, monkeypatch):
    """The span is handed over, closing ends, and the loss is counted."""
    if fault == "no listener":
        counters = report("http://127.0.0.1:9", monkeypatch)
    else:
        with collecting(0 if fault == "silent" else 500) as collector:
            counters = report(collector.url, monkeypatch, collector)
    assert sum(counters.values()) == 1
    ((name, reason),) = counters
    assert name == "spans_dropped"
    assert reason in {"export_failed", "shutdown"}


PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
ROUTES = [{"upstream": "http://127.0.0.1:9"}]


class Sink:
    def __init__(self):
        self.taken = []

    def put(self, exchanges):
        self.taken += exchanges
        return len(exchanges)


exchange = partial(
    examples.exchange,
    0xAA,
    route="support",
    received_at=1000.5,
    duration_s=0.25,
    request_headers=(),
    request_body=b"secret prompt",
    response_body=b"secret answer",
)


def reported(*exchanges):
    """Report exchanges as one process does; return its sink, and its spans."""
    exporter, sink = InMemorySpanExporter(), Sink()
    spans = ExportedSpans(exporter)
    assert spans.sink(sink).put(list(exchanges)) == len(exchanges)
    spans.finish(240)
    return sink, exporter.get_finished_spans()


def test_a_span_is_the_forwarded_request():
    """The times are the exchange's own, and the span holds no content."""
    sink, (span,) = reported(exchange(path="/v1/chat/completions?api-version=1"))
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
    spans.finish(240)
    assert len(sink.taken) == 2
    assert spans.snapshot()["counters"] == [
        ["spans_dropped", {"reason": "error"}, 1],
        ["spans_exported", {}, 1],
    ]


@pytest.mark.parametrize("headers", [(), (("traceparent", PARENT), ("tracestate", "a=b"))])
def test_another_process_names_the_same_span(headers):
    """Trace and span id follow from the exchange alone, whether or not the application has a trace."""
    forwarded = exchange(request_headers=headers)
    _, (span,) = reported(forwarded)
    named = forwarded_context(forwarded)
    assert (named.trace_id, named.span_id) == (span.context.trace_id, span.context.span_id)
    assert named.is_remote
    assert named.trace_flags.sampled


def test_a_trace_that_the_application_does_not_record_is_not_recorded_here():
    """The flag of its header decides, for the span and for the link to it."""
    forwarded = exchange(request_headers=(("traceparent", PARENT[:-2] + "00"),))
    sink, spans = reported(forwarded)
    assert len(sink.taken) == 1
    assert spans == ()
    assert not forwarded_context(forwarded).trace_flags.sampled


def test_ids_are_evenly_spread_although_sampled_exchanges_have_low_ids():
    """About half of 400 consecutive exchanges have traces whose low 64 bits are in the lower half."""
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
    monkeypatch.setattr(export, "otlp_exporter", lambda: int("folding"))
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
    """A queue smaller than the usual batch works; what is no size, or no delay, is ignored."""
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", size)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", size)
    _, spans = reported(exchange())
    assert len(spans) == 1
