"""Spans on their way out: every one is counted, and no collector holds anything up."""

from __future__ import annotations

import logging
import threading

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from evenkeel.core.exchange import Exchange
from evenkeel.tracing.export import ExportedSpans, SpanQueue, otlp_exporter
from tests.evenkeel.otlp_receiver import collecting


class Scripted(SpanExporter):
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
    """A tracer on a queue before an exporter, and what the queue counted."""
    exporters = []

    def make(exporter, **options):
        exporters.append(exporter)
        counted = {}

        def count(fate, spans):
            counted[fate] = counted.get(fate, 0) + spans

        made = SpanQueue(exporter, count, delay_s=60, **options)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(made)
        return made, provider.get_tracer("test"), counted

    yield make
    for exporter in exporters:
        exporter.released.set()


def end_spans(tracer, number):
    for _ in range(number):
        tracer.start_span("one").end()


def test_what_arrives_is_counted(queue):
    """Seven spans end, seven are exported at the end."""
    made, tracer, counted = queue(Scripted(SpanExportResult.SUCCESS))
    end_spans(tracer, 7)
    made.close(5)
    assert counted == {"exported": 7}


def test_a_full_queue_drops_what_comes_and_keeps_what_waits(queue):
    """With room for four behind a collector that hangs, seven of eleven are lost at once, four at the end."""
    exporter = Scripted("hang")
    made, tracer, counted = queue(exporter, room=4)
    end_spans(tracer, 4)  # as many as make a batch
    assert exporter.entered.wait(10)
    end_spans(tracer, 7)
    assert counted == {"queue_full": 7}
    made.close(0.05)
    assert counted == {"queue_full": 7, "shutdown": 4}


def test_what_fails_is_counted_and_told_once(queue, caplog):
    """A refused batch and one that raised are losses; the log tells of them once, and when it is over."""
    refused, broken, fine = SpanExportResult.FAILURE, RuntimeError("no"), SpanExportResult.SUCCESS
    made, tracer, counted = queue(Scripted(refused, broken, fine))
    with caplog.at_level(logging.WARNING, "evenkeel.traces"):
        for _ in range(3):
            end_spans(tracer, 2)
            made.force_flush()
    assert counted == {"export_failed": 4, "exported": 2}
    assert [record.getMessage().partition(";")[0] for record in caplog.records] == [
        "traces cannot be exported",
        "traces are exported again",
    ]


def test_the_end_does_not_wait_for_a_collector_that_hangs(queue):
    """Closing returns in its time, what waited is lost, and a late success is not counted twice."""
    exporter = Scripted("hang")
    made, tracer, counted = queue(exporter)
    end_spans(tracer, 3)
    made.close(0.2)
    assert counted == {"shutdown": 3}
    exporter.released.set()
    end_spans(tracer, 1)
    assert counted == {"shutdown": 4}


def test_the_end_hardly_waits_for_a_collector_that_just_failed(queue):
    """After a lost batch, a close that may take longer than a test gives up early."""
    exporter = Scripted(SpanExportResult.FAILURE, "hang")
    made, tracer, counted = queue(exporter)
    end_spans(tracer, 2)
    made.force_flush()
    end_spans(tracer, 1)
    made.close(600)
    assert counted == {"export_failed": 2, "shutdown": 1}


def test_sampled_out_spans_are_nobodys_loss(queue):
    """A span that is not recorded is not counted."""
    made, _, counted = queue(Scripted(SpanExportResult.SUCCESS))
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    provider.add_span_processor(made)
    end_spans(provider.get_tracer("test"), 3)
    made.close(5)
    assert counted == {}


def report(collector_url, monkeypatch, timeout_s=3.0):
    """One exchange reported to a collector by the real exporter; the counters."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector_url)
    spans = ExportedSpans(otlp_exporter(), delay_s=60)
    exchange = Exchange(
        "00000000000000aa", "support", 1000.5, 0.25, "POST", "/v1/chat/completions", 200, (), b"", (), b""
    )

    class Sink:
        def put(self, exchanges):
            return len(exchanges)

    assert spans.sink(Sink()).put([exchange]) == 1
    spans.finish(timeout_s)
    return {(name, labels.get("reason")): number for name, labels, number in spans.snapshot()["counters"]}


def test_a_span_reaches_a_real_receiver(monkeypatch):
    """By OTLP over HTTP: ids, times and attributes as protobuf, under evenkeel's name."""
    with collecting() as collector:
        counters = report(collector.url, monkeypatch)
        (span,) = collector.spans()
        (resource,) = collector.resources()
    assert counters == {("spans_exported", None): 1}
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (1_000_500_000_000, 1_000_750_000_000)
    assert len(span.trace_id) == 16
    assert resource["service.name"] == "evenkeel"


@pytest.mark.parametrize("fault", ["no listener", "silent", "500"])
def test_a_collector_in_trouble_costs_one_span(fault, monkeypatch):
    """The span is handed over, closing ends, and the loss is counted."""
    if fault == "no listener":
        counters = report("http://127.0.0.1:9", monkeypatch, 1.0)
    else:
        with collecting(0 if fault == "silent" else 500) as collector:
            counters = report(collector.url, monkeypatch, 1.0)
            assert collector.refused == 1
    assert sum(counters.values()) == 1
    ((name, reason),) = counters
    assert name == "spans_dropped"
    assert reason in {"export_failed", "shutdown"}
