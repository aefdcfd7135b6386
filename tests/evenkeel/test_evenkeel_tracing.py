"""Spans of sampled exchanges."""

from __future__ import annotations

import time

import httpx2
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from evenkeel.tracing import TracedSink
from shadow.handoff import Exchange


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


@pytest.fixture
def spans():
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    sink = Sink()
    traced = TracedSink(sink, provider.get_tracer("test"))
    yield traced, sink, exporter.get_finished_spans
    provider.shutdown()


def test_a_span_is_the_forwarded_request(spans):
    """Its times are the exchange's own, and it holds no content."""
    traced, sink, finished = spans
    assert traced.put([exchange()]) == 1
    assert len(sink.taken) == 1
    (span,) = finished()
    assert span.name == "POST /v1/chat/completions"
    assert (span.start_time, span.end_time) == (1_000_500_000_000, 1_000_750_000_000)
    assert span.attributes["evenkeel.route"] == "support"
    assert span.attributes["http.response.status_code"] == 200
    assert span.parent is None
    assert "secret" not in span.to_json()


def test_a_span_continues_the_applications_trace(spans):
    """The W3C header names the parent; a malformed one is ignored."""
    traced, _, finished = spans
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    traced.put([exchange(request_headers=(("traceparent", parent),))])
    traced.put([exchange(request_headers=(("traceparent", "nonsense"),))])
    first, second = finished()
    assert f"{first.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert f"{first.parent.span_id:016x}" == "b7ad6b7169203331"
    assert second.parent is None


def test_a_dead_collector_costs_nothing(start, upstream, tmp_path):
    """With traces on and nobody listening, requests pass, exchanges are queued, and the stop is quick."""
    config = tmp_path / "evenkeel.yaml"
    config.write_text(
        f"routes: [{{upstream: '{upstream}', sampling_rate: 1}}]\ntelemetry: {{traces: true}}\n"
    )
    dead = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with start("--config", str(config), environment=dead) as running:
        body = {"model": "simulated-1", "messages": [{"role": "user", "content": "Hello there."}]}
        for _ in range(5):
            assert httpx2.post(f"{running.proxy}/v1/chat/completions", json=body).status_code == 200
        running.settle()
        assert running.metric("evenkeel_exchanges_queued_total") == 5
        stopping = time.monotonic()
    assert time.monotonic() - stopping < 30
