"""Export of traces, and of evaluations as log events, by OTLP over HTTP. Set up by the `OTEL_…` variables.

The SDK's own queue drops silently and its shutdown waits for a collector that is gone
(https://github.com/open-telemetry/opentelemetry-python/issues/2024). Here a bounded queue counts what it
loses, and its end does not wait.
"""

from __future__ import annotations

import logging
import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter, LogRecordExportResult
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
    from opentelemetry.sdk._logs import ReadableLogRecord, ReadWriteLogRecord
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
_ROOM: Final = 2048
_EVENT_EXPORTER_LOGGER: Final = "opentelemetry.exporter.otlp.proto.http._log_exporter"
_EXPORTER_LOGGER: Final = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


class _Outbox:
    """Bounded count of the items that wait for a collector, and their outcomes.

    Further items are dropped to bound memory. Failures are logged once until the exporter works again.
    """

    def __init__(self, what: str, count: Callable[[Fate, int], None], room: int) -> None:
        self._what = what
        self._count = count
        self._room = room
        self._lock = threading.Lock()
        self._waiting = 0
        self._closed = False
        self._failing = False

    def accepts(self) -> bool:
        """Take a place and return True; count the item as lost and return False if there is none."""
        with self._lock:
            lost: Fate | None = (
                "shutdown" if self._closed else "queue_full" if self._waiting >= self._room else None
            )
            if lost is None:
                self._waiting += 1
        if lost is not None:
            self._count(lost, 1)
        return lost is None

    def exported(self, export: Callable[[], object], number: int) -> bool:
        """Export a batch, free its places, and return whether the exporter accepted it."""
        try:
            result = export()
        except Exception:  # noqa: BLE001 - named boundary: any exporter, any transport; counted
            result = None
        worked = result in {SpanExportResult.SUCCESS, LogRecordExportResult.SUCCESS}
        with self._lock:
            # When the wait for the last ones is over they have been counted as lost.
            counted = self._closed
            if not counted:
                self._waiting -= number
        if not counted:
            self._count("exported" if worked else "export_failed", number)
        if worked and self._failing:
            log.warning("%s are exported again", self._what)
        elif not worked and not self._failing:
            log.warning(
                "%s cannot be exported; everything else goes on. Check the collector and the "
                "OTEL_EXPORTER_OTLP_… variables. Losses are counted in evenkeel_%s_dropped_total.",
                self._what,
                "spans" if self._what == "traces" else self._what,
            )
        self._failing = not worked
        return worked

    def close(self, shutdown: Callable[[], object], timeout_s: float) -> None:
        """Let `shutdown` export the waiting items for at most `timeout_s`; count the rest as lost.

        The wait is shorter for a collector that has just failed.
        """
        # A daemon: one that waits for a dead collector must not hold up the end of the process.
        ending = threading.Thread(target=shutdown, name="last-spans", daemon=True)
        ending.start()
        ending.join(min(timeout_s, _LAST_CHANCE_S) if self._failing else timeout_s)
        with self._lock:
            left, self._waiting, self._closed = self._waiting, 0, True
        if left:
            self._count("shutdown", left)


class SpanQueue(SpanProcessor):
    """Hands spans to an exporter in batches from a thread of its own, which nothing ever waits for.

    Thread-safe. A span that finds the queue full is dropped, so memory stays bounded while a collector is
    away.
    """

    def __init__(
        self,
        exporter: SpanExporter,
        count: Callable[[Fate, int], None],
        *,
        room: int = 2048,
        delay_s: float | None = None,
    ) -> None:
        """Start the thread.

        Args:
            exporter: Exporter of spans. May be slow, fail, or never come back.
            count: Called with an outcome and a number of spans; every span that ends is counted once.
            room: Spans that may wait, those being exported included.
            delay_s: Seconds in which a batch gathers. Default: `OTEL_BSP_SCHEDULE_DELAY`, else 5 s.
        """
        self._outbox = _Outbox("traces", count, room)
        self._batches = BatchSpanProcessor(
            _WatchedSpans(exporter, self._outbox),
            max_queue_size=room,
            max_export_batch_size=min(_LARGEST_BATCH, room),
            schedule_delay_millis=None if delay_s is None else delay_s * 1000,
        )

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Do nothing: a span counts from its end."""

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span, or count it as lost."""
        context = span.get_span_context()
        if context is not None and context.trace_flags.sampled and self._outbox.accepts():
            self._batches.on_end(span)

    def close(self, timeout_s: float) -> None:
        """Export what waits for at most so long; count the rest as lost. Returns in time in any case."""
        self._outbox.close(self._batches.shutdown, timeout_s)

    def shutdown(self) -> None:
        """Shut down without waiting."""
        self.close(0.0)

    def force_flush(self, timeout_millis: int | None = None) -> bool:
        """Export the waiting spans now; see `SpanProcessor.force_flush`."""
        return self._batches.force_flush(timeout_millis)


class _WatchedSpans(SpanExporter):
    def __init__(self, exporter: SpanExporter, outbox: _Outbox) -> None:
        self._exporter = exporter
        self._outbox = outbox

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        worked = self._outbox.exported(lambda: self._exporter.export(spans), len(spans))
        return SpanExportResult.SUCCESS if worked else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        self._exporter.shutdown()


class EventQueue(LogRecordProcessor):
    """Queue of log events; like `SpanQueue`, with the same arguments."""

    def __init__(
        self,
        exporter: LogRecordExporter,
        count: Callable[[Fate, int], None],
        *,
        room: int = 2048,
        delay_s: float | None = None,
    ) -> None:
        """Start the thread."""
        self._outbox = _Outbox("evaluations", count, room)
        self._batches = BatchLogRecordProcessor(
            _WatchedEvents(exporter, self._outbox),
            max_queue_size=room,
            max_export_batch_size=min(_LARGEST_BATCH, room),
            schedule_delay_millis=None if delay_s is None else delay_s * 1000,
        )

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        """Queue an event, or count it as lost."""
        if self._outbox.accepts():
            self._batches.on_emit(log_record)

    def close(self, timeout_s: float) -> None:
        """Export the waiting events; see `SpanQueue.close`."""
        self._outbox.close(self._batches.shutdown, timeout_s)

    def shutdown(self) -> None:
        """Shut down without waiting."""
        self.close(0.0)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Export the waiting events now; see `LogRecordProcessor.force_flush`."""
        return self._batches.force_flush(timeout_millis)


class _WatchedEvents(LogRecordExporter):
    def __init__(self, exporter: LogRecordExporter, outbox: _Outbox) -> None:
        self._exporter = exporter
        self._outbox = outbox

    def export(self, batch: Sequence[ReadableLogRecord]) -> LogRecordExportResult:
        worked = self._outbox.exported(lambda: self._exporter.export(batch), len(batch))
        return LogRecordExportResult.SUCCESS if worked else LogRecordExportResult.FAILURE

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)

    def shutdown(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]


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
        """Start the threads that export.

        Args:
            exporter: Exporter of spans.
            events: Exporter of evaluations as log events; None = they are not exported.
            content: True if spans carry prompts and answers.
            delay_s: See `SpanQueue`.
        """
        self._tally = Tally()
        self._ids = ChosenIds()
        self._queue = SpanQueue(exporter, partial(self._counted, "spans"), room=_room(), delay_s=delay_s)
        self._events: EventQueue | None = None
        logger = None
        if events is not None:
            counted = partial(self._counted, "evaluations")
            self._events = EventQueue(events, counted, room=_room(), delay_s=delay_s)
            taking = LoggerProvider(resource=_resource(), shutdown_on_exit=False)
            taking.add_log_record_processor(self._events)
            logger = taking.get_logger("evenkeel", VERSION, names.SCHEMA)
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
        return TracedSink(sink, self._tracer, self._ids, lambda: self._counted("spans", "error", 1))

    def snapshot(self) -> Snapshot:
        """Return counters of exported and lost spans and evaluations."""
        return self._tally.snapshot()

    def finish(self, timeout_s: float) -> None:
        """Send what waits, for at most so long. Blocks; no span is taken afterwards."""
        self._queue.close(timeout_s)
        if self._events is not None:
            self._events.close(timeout_s)

    def _counted(self, what: Literal["spans", "evaluations"], fate: Fate, number: int) -> None:
        if fate == "exported":
            self._tally.add(f"{what}_exported", number)
        else:
            self._tally.add(f"{what}_dropped", number, reason=fate)


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
