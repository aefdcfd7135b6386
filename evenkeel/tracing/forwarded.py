"""Spans of sampled exchanges, made in the hand-off's thread after the answer has gone out.

A span is the forwarded request as the application saw it: it continues the application's trace (the
`traceparent` header, which the upstream gets untouched) and carries no content and no token counts, which
the application reports itself. Nothing here runs on the hot path, so a collector that is slow or gone costs
the user nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opentelemetry.trace import SpanKind

from evenkeel.tracing import names
from evenkeel.tracing.ids import application_context, forwarded_context

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.trace import Tracer

    from evenkeel.core.exchange import Exchange, ExchangeSink
    from evenkeel.tracing.ids import ChosenIds

_NANOSECONDS: Final = 1_000_000_000


class TracedSink:
    """Passes exchanges on to the queue and reports each as a span."""

    def __init__(
        self, sink: ExchangeSink, tracer: Tracer, ids: ChosenIds, lost: Callable[[], None] = lambda: None
    ) -> None:
        """Wire it.

        Args:
            sink: Where exchanges go.
            tracer: Makes the spans.
            ids: What the tracer's provider takes its ids from.
            lost: Told of each span that could not be made.
        """
        self._sink = sink
        self._tracer = tracer
        self._ids = ids
        self._lost = lost

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """As `ExchangeSink.put`. A span is made whether or not the queue takes the exchange."""
        for exchange in exchanges:
            try:
                self._report(exchange)
            except Exception:  # noqa: BLE001 - named boundary: a span is never worth an exchange; counted
                self._lost()
        return self._sink.put(exchanges)

    def _report(self, exchange: Exchange) -> None:
        started = int(exchange.received_at * _NANOSECONDS)
        path = exchange.path.partition("?")[0]
        own = forwarded_context(exchange)
        with self._ids.chosen(trace_id=own.trace_id, span_id=own.span_id):
            span = self._tracer.start_span(
                f"{exchange.method} {path}",
                context=application_context(exchange),
                kind=SpanKind.SERVER,
                start_time=started,
                attributes={
                    names.HTTP_METHOD: exchange.method,
                    names.URL_PATH: path,
                    names.HTTP_STATUS: exchange.status,
                    names.ROUTE: exchange.route,
                    names.EXCHANGE: exchange.id,
                },
            )
        span.end(started + int(exchange.duration_s * _NANOSECONDS))
