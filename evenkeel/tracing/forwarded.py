"""Spans of sampled exchanges, made in the hand-off's thread after the answer has gone out.

A span is the forwarded request as the application saw it: it continues the application's trace (the
`traceparent` header, which the upstream gets untouched) and carries no content and no token counts, which
the application reports itself. Nothing here runs on the hot path, so a collector that is slow or gone costs
the user nothing.

Ids follow from the exchange, so that processes which never talk name the same span: the data plane reports
the forwarded request, the worker minutes later and elsewhere what it made of it. For the link both need the
same span's context, and all they share is the exchange.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer

    from evenkeel.core.exchange import Exchange, ExchangeSink
    from evenkeel.stores.counters import Tally


PROPAGATOR: Final = TraceContextTextMapPropagator()
"""Propagator of W3C `traceparent` and `tracestate`. Baggage is left out: it is the application's own."""

# Sizes of ids in the W3C trace context.
_TRACE_BYTES: Final = 16
_SPAN_BYTES: Final = 8


_NANOSECONDS: Final = 1_000_000_000


def application_context(exchange: Exchange) -> Context:
    """Return the context of the application's trace; an empty context if the request named none."""
    return PROPAGATOR.extract(dict(exchange.request_headers))


def forwarded_context(exchange: Exchange) -> SpanContext:
    """Return the span context of the forwarded request, in the application's trace or else in a new one.

    The span is not recorded if the application's trace is not.
    """
    span_id = _derived(exchange.id, "forwarded", _SPAN_BYTES)
    application = get_current_span(application_context(exchange)).get_span_context()
    if application.is_valid:
        return SpanContext(
            application.trace_id,
            span_id,
            is_remote=True,
            trace_flags=application.trace_flags,
            trace_state=application.trace_state,
        )
    trace_id = _derived(exchange.id, "application", _TRACE_BYTES)
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def shadow_trace_id(exchange_id: str) -> int:
    """Return the id of the trace of all work on an exchange, the same at each delivery."""
    return _derived(exchange_id, "shadow", _TRACE_BYTES)


class ChosenIds(RandomIdGenerator):
    """Generator of random ids, except for spans whose ids are chosen."""

    def __init__(self) -> None:
        self._chosen = threading.local()

    @contextmanager
    def chosen(self, *, trace_id: int, span_id: int | None = None) -> Iterator[None]:
        """Set the ids of a span that this thread starts in the block; a child keeps its parent's trace."""
        self._chosen.trace_id, self._chosen.span_id = trace_id, span_id
        try:
            yield
        finally:
            self._chosen.trace_id = self._chosen.span_id = None

    def generate_trace_id(self) -> int:
        """Return the chosen trace id, else a random one."""
        return getattr(self._chosen, "trace_id", None) or super().generate_trace_id()

    def generate_span_id(self) -> int:
        """Return the chosen span id, else a random one."""
        return getattr(self._chosen, "span_id", None) or super().generate_span_id()


def _derived(exchange_id: str, what: str, size: int) -> int:
    # Hashed and not copied, so that an exchange has different ids for different purposes.
    digest = blake2b(exchange_id.encode(), digest_size=size, person=what.encode()).digest()
    return int.from_bytes(digest, "big") or 1  # 0 means "no id"


class TracedSink:
    """Passes exchanges on to the queue and reports each as a span."""

    def __init__(self, sink: ExchangeSink, tracer: Tracer, ids: ChosenIds, tally: Tally) -> None:
        self._sink = sink
        self._tracer = tracer
        self._ids = ids
        self._tally = tally

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """Report each exchange as a span and pass all on, whether or not the queue takes them."""
        for exchange in exchanges:
            try:
                self._report(exchange)
            except Exception:  # noqa: BLE001 - named boundary: a span is never worth an exchange; counted
                self._tally.add("spans_dropped", reason="error")
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
                    "http.request.method": exchange.method,
                    "url.path": path,
                    "http.response.status_code": exchange.status,
                    "evenkeel.route": exchange.route,
                    "evenkeel.exchange.id": exchange.id,
                },
            )
        span.end(started + int(exchange.duration_s * _NANOSECONDS))
