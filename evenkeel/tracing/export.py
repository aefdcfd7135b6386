"""Export of traces, and of ratings as log events, by OTLP over HTTP. Set up by the `OTEL_…` variables.

The SDK's own queue drops silently and its shutdown waits for a collector that is gone
(https://github.com/open-telemetry/opentelemetry-python/issues/2024). Here a bounded queue counts what it
loses, and its end does not wait.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Final, Literal

from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter
from opentelemetry.sdk.environment_variables import (
    OTEL_BSP_MAX_QUEUE_SIZE,
    OTEL_EXPORTER_OTLP_LOGS_TIMEOUT,
    OTEL_EXPORTER_OTLP_TIMEOUT,
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from evenkeel.core.network import share_trust_with_requests
from evenkeel.core.version import VERSION
from evenkeel.stores.counters import Tally
from evenkeel.tracing import names
from evenkeel.tracing.forwarded import ChosenIds, TracedSink
from evenkeel.tracing.shadow import ShadowSpans

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span

    from evenkeel.core.exchange import ExchangeSink
    from evenkeel.shadow.observer import ShadowObserver
    from evenkeel.stores.counters import Snapshot


Fate = Literal["exported", "queue_full", "export_failed", "shutdown", "error"]
"""Outcome for a span; all but the first are losses."""

log = logging.getLogger("evenkeel.traces")

# The default of OpenTelemetry's own processor.
_LARGEST_BATCH: Final = 512
# Seconds to wait at the end for a collector that has just failed. One that restarted meanwhile needs no
# longer.
_LAST_CHANCE_S: Final = 0.3
# Timeout of one export in seconds, unless a variable sets it. The standard's ten seconds would outlast a
# shutdown.
_TIMEOUT_S: Final = 5.0
# Spans that wait, unless a variable says how many; OpenTelemetry's own default.
_ROOM: Final = 2048
_EXPORTER_LOGGER: Final = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
_EVENT_EXPORTER_LOGGER: Final = "opentelemetry.exporter.otlp.proto.http._log_exporter"


class SpanQueue(SpanProcessor, SpanExporter):
    """Hands spans to an exporter in batches from a thread of its own, which nothing ever waits for.

    Thread-safe. A span that finds the queue full is dropped, so memory stays bounded while a collector is
    away. It stands on both sides of the SDK's batches, as their processor and as their exporter, to count
    what goes in and what comes out.
    """

    def __init__(
        self,
        exporter: SpanExporter,
        count: Callable[[Fate, int], None],
        *,
        room: int = _ROOM,
        delay_s: float | None = None,
    ) -> None:
        """Start the thread.

        The exporter may be slow, fail, or never come back. Every span that ends is counted once, by its
        outcome. `room` is for the spans that wait, those being exported included; a batch gathers for
        `delay_s`, else for `OTEL_BSP_SCHEDULE_DELAY`, else for 5 s.
        """
        self._exporter = exporter
        self._count = count
        self._room = room
        self._lock = threading.Lock()
        self._waiting = 0
        self._closed = False
        self._failing = False
        self._batches = BatchSpanProcessor(
            self,
            max_queue_size=room,
            max_export_batch_size=min(_LARGEST_BATCH, room),
            schedule_delay_millis=None if delay_s is None else delay_s * 1000,
        )

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Do nothing: a span counts from its end."""

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span, or count it as lost."""
        context = span.get_span_context()
        if context is None or not context.trace_flags.sampled:
            return
        lost: Fate | None = None
        with self._lock:
            if self._closed:
                lost = "shutdown"
            elif self._waiting >= self._room:
                lost = "queue_full"
            else:
                self._waiting += 1
        if lost is None:
            self._batches.on_end(span)
        else:
            self._count(lost, 1)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export a batch and free its places. Failures are logged once until the exporter works again."""
        try:
            result = self._exporter.export(spans)
        except Exception:  # noqa: BLE001 - named boundary: any exporter, any transport; counted
            result = SpanExportResult.FAILURE
        worked = result is SpanExportResult.SUCCESS
        with self._lock:
            # When the wait for the last ones is over they have been counted as lost.
            counted = self._closed
            if not counted:
                self._waiting -= len(spans)
        if not counted:
            self._count("exported" if worked else "export_failed", len(spans))
        if worked and self._failing:
            log.warning("traces are exported again")
        elif not worked and not self._failing:
            log.warning(
                "traces cannot be exported; everything else goes on. Check the collector and the "
                "OTEL_EXPORTER_OTLP_… variables. Losses are counted in evenkeel_spans_dropped_total."
            )
        self._failing = not worked
        return result

    def close(self, timeout_s: float) -> None:
        """Export what waits for at most so long; count the rest as lost. Returns in time in any case.

        The wait is shorter for a collector that has just failed.
        """
        _end(self._batches.shutdown, min(timeout_s, _LAST_CHANCE_S) if self._failing else timeout_s)
        with self._lock:
            left, self._waiting, self._closed = self._waiting, 0, True
        if left:
            self._count("shutdown", left)

    def shutdown(self) -> None:
        """Shut the exporter down, at the end of `close`."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int | None = None) -> bool:
        """Export the waiting spans now; see `SpanProcessor.force_flush`."""
        return self._batches.force_flush(timeout_millis)


def _end(shutdown: Callable[[], object], timeout_s: float) -> None:
    """Wait for a shutdown that exports what waits, for at most so long."""
    # A daemon: one that waits for a dead collector must not hold up the end of the process.
    ending = threading.Thread(target=shutdown, name="last-spans", daemon=True)
    ending.start()
    ending.join(timeout_s)


class ExportedSpans:
    """Spans of this process, sent to a collector."""

    def __init__(
        self,
        exporter: SpanExporter,
        events: LogRecordExporter | None = None,
        *,
        content: bool = False,
        delay_s: float | None = None,
    ) -> None:
        """Start the threads that export spans, and ratings as log events if `events` exports them.

        With `content`, spans carry prompts and answers.
        """
        self._tally = Tally()
        self._ids = ChosenIds()
        self._queue = SpanQueue(exporter, self._counted, room=_room(), delay_s=delay_s)
        self._events: BatchLogRecordProcessor | None = None
        logger = None
        if events is not None:
            # The SDK's own queue is bounded, and what it drops are copies: spans hold the same events.
            self._events = BatchLogRecordProcessor(events)
            logs = LoggerProvider(resource=_resource(), shutdown_on_exit=False)
            logs.add_log_record_processor(self._events)
            logger = logs.get_logger("evenkeel", VERSION, names.SCHEMA)
        provider = TracerProvider(resource=_resource(), shutdown_on_exit=False, id_generator=self._ids)
        provider.add_span_processor(self._queue)
        self._tracer = provider.get_tracer("evenkeel", VERSION, schema_url=names.SCHEMA)
        self._observer = ShadowSpans(self._tracer, self._ids, events=logger, content=content)

    @property
    def observer(self) -> ShadowObserver:
        """Return the observer for the replay plane."""
        return self._observer

    def sink(self, sink: ExchangeSink) -> ExchangeSink:
        """Return a sink for the data plane that passes exchanges on and reports each as a span."""
        return TracedSink(sink, self._tracer, self._ids, lambda: self._counted("error", 1))

    def snapshot(self) -> Snapshot:
        """Return counters of exported and lost spans."""
        return self._tally.snapshot()

    def finish(self, timeout_s: float) -> None:
        """Send what waits, for at most so long. Blocks; no span is taken afterwards."""
        self._queue.close(timeout_s)
        if self._events is not None:
            _end(self._events.shutdown, timeout_s)

    def _counted(self, fate: Fate, number: int) -> None:
        if fate == "exported":
            self._tally.add("spans_exported", number)
        else:
            self._tally.add("spans_dropped", number, reason=fate)


def otlp_exporter() -> OTLPSpanExporter:
    """Return an exporter of spans by OTLP over HTTP, protobuf.

    Raises: ValueError or the like for a variable that makes no sense.
    """
    share_trust_with_requests()
    # It logs each failure, several lines in each interval; that spans are lost is told once, and counted.
    logging.getLogger(_EXPORTER_LOGGER).setLevel(logging.CRITICAL)
    value = os.environ.get(OTEL_EXPORTER_OTLP_TRACES_TIMEOUT) or os.environ.get(OTEL_EXPORTER_OTLP_TIMEOUT)
    return OTLPSpanExporter(timeout=None if value else _TIMEOUT_S)


def otlp_events() -> OTLPLogExporter:
    """Return an exporter of log events; see `otlp_exporter`."""
    logging.getLogger(_EVENT_EXPORTER_LOGGER).setLevel(logging.CRITICAL)
    value = os.environ.get(OTEL_EXPORTER_OTLP_LOGS_TIMEOUT) or os.environ.get(OTEL_EXPORTER_OTLP_TIMEOUT)
    return OTLPLogExporter(timeout=None if value else _TIMEOUT_S)


def _resource() -> Resource:
    """Return the attributes of this process. Environment variables win over evenkeel's own values."""
    own = Resource.create({"service.name": "evenkeel", "service.version": VERSION})
    return own.merge(OTELResourceDetector().detect())


def _room() -> int:
    value = os.environ.get(OTEL_BSP_MAX_QUEUE_SIZE, "")
    return int(value) if value.isdecimal() and int(value) > 0 else _ROOM
