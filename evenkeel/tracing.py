"""Spans of sampled exchanges, made in the hand-off's thread after the answer has gone out.

A span is the forwarded request as the application saw it: it continues the application's trace (the
`traceparent` header, which the upstream gets untouched) and carries no content. Nothing here runs on the hot
path, so a collector that is slow or gone costs the user nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from evenkeel import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.trace import Tracer

    from shadow.handoff import Exchange, ExchangeSink

_NANOSECONDS = 1_000_000_000
_EXPORT_S = 5


def otlp_provider() -> TracerProvider:
    """A provider that exports by OTLP over HTTP, as the standard `OTEL_…` variables say."""
    resource = Resource.create({"service.name": "evenkeel", "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=_EXPORT_S)))
    return provider


class TracedSink:
    """Passes exchanges on to the queue and reports each as a span."""

    def __init__(self, sink: ExchangeSink, tracer: Tracer) -> None:
        self._sink = sink
        self._tracer = tracer
        self._propagator = TraceContextTextMapPropagator()

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """As `ExchangeSink.put`. A span is made whether or not the queue takes the exchange."""
        for exchange in exchanges:
            self._report(exchange)
        return self._sink.put(exchanges)

    def _report(self, exchange: Exchange) -> None:
        started = int(exchange.received_at * _NANOSECONDS)
        path = exchange.path.partition("?")[0]
        span = self._tracer.start_span(
            f"{exchange.method} {path}",
            context=self._propagator.extract(dict(exchange.request_headers)),
            kind=SpanKind.SERVER,
            start_time=started,
            attributes={
                "http.request.method": exchange.method,
                "url.path": path,
                "http.response.status_code": exchange.status,
                "evenkeel.route": exchange.route,
                "evenkeel.exchange.id": exchange.id,
            },
        )
        span.end(started + int(exchange.duration_s * _NANOSECONDS))
