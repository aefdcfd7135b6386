"""Traces by OTLP over HTTP, as the standard `OTEL_…` variables say."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.environment_variables import (
    OTEL_BSP_MAX_QUEUE_SIZE,
    OTEL_EXPORTER_OTLP_TIMEOUT,
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider

from evenkeel import __version__
from evenkeel.stores.counters import Tally
from evenkeel.tracing.export import SpanQueue
from evenkeel.tracing.forwarded import TracedSink
from evenkeel.tracing.ids import ChosenIds
from evenkeel.tracing.shadow import ShadowSpans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from evenkeel.core.exchange import ExchangeSink
    from evenkeel.shadow.observing import ShadowObserver
    from evenkeel.stores.counters import Snapshot
    from evenkeel.tracing.export import Fate

_TIMEOUT_S: Final = 5.0
"""Of one export, where no variable says otherwise: the standard's ten would outlast a shutdown."""
_ROOM: Final = 2048
_EXPORTER_LOGGER: Final = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


class ExportedSpans:
    """Spans of this process, sent to a collector. As `Spans`."""

    def __init__(
        self, exporter: SpanExporter, *, content: bool = False, delay_s: float | None = None
    ) -> None:
        """Start the thread that exports.

        Args:
            exporter: Where spans go.
            content: Whether prompts and answers are told.
            delay_s: See `SpanQueue`.
        """
        self._tally = Tally()
        self._ids = ChosenIds()
        self._queue = SpanQueue(exporter, self._counted, room=_room(), delay_s=delay_s)
        provider = TracerProvider(resource=_resource(), shutdown_on_exit=False, id_generator=self._ids)
        provider.add_span_processor(self._queue)
        self._tracer = provider.get_tracer("evenkeel", __version__)
        self._observer = ShadowSpans(self._tracer, self._ids, content=content)

    @property
    def observer(self) -> ShadowObserver:
        """As `Spans.observer`."""
        return self._observer

    def sink(self, sink: ExchangeSink) -> ExchangeSink:
        """As `Spans.sink`."""
        return TracedSink(sink, self._tracer, self._ids, lambda: self._counted("error", 1))

    def snapshot(self) -> Snapshot:
        """As `Spans.snapshot`."""
        return self._tally.snapshot()

    def finish(self, timeout_s: float) -> None:
        """As `Spans.finish`."""
        self._queue.close(timeout_s)

    def _counted(self, fate: Fate, spans: int) -> None:
        if fate == "exported":
            self._tally.add("spans_exported", spans)
        else:
            self._tally.add("spans_dropped", spans, reason=fate)


def otlp_exporter() -> OTLPSpanExporter:
    """Exports by OTLP over HTTP, protobuf.

    Raises: ValueError or the like for a variable that makes no sense.
    """
    # It logs each failure, several lines in each interval; that spans are lost is told once, and counted.
    logging.getLogger(_EXPORTER_LOGGER).setLevel(logging.CRITICAL)
    said = os.environ.get(OTEL_EXPORTER_OTLP_TRACES_TIMEOUT) or os.environ.get(OTEL_EXPORTER_OTLP_TIMEOUT)
    return OTLPSpanExporter(timeout=None if said else _TIMEOUT_S)


def _resource() -> Resource:
    """What all spans say of this process. What the variables say comes before evenkeel's own word."""
    own = Resource.create({"service.name": "evenkeel", "service.version": __version__})
    return own.merge(OTELResourceDetector().detect())


def _room() -> int:
    said = os.environ.get(OTEL_BSP_MAX_QUEUE_SIZE, "")
    return int(said) if said.isdecimal() and int(said) > 0 else _ROOM
