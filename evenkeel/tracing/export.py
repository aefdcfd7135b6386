"""Export of traces, and of ratings as log events, by OTLP over HTTP. Set up by the `OTEL_…` variables.

The SDK's own queue drops silently and its shutdown waits for a collector that is gone
(https://github.com/open-telemetry/opentelemetry-python/issues/2024). So spans wait in an `Outbox`.
"""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Final

from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter
from opentelemetry.sdk.environment_variables import (
    OTEL_BSP_MAX_QUEUE_SIZE,
    OTEL_BSP_SCHEDULE_DELAY,
    OTEL_EXPORTER_OTLP_LOGS_TIMEOUT,
    OTEL_EXPORTER_OTLP_TIMEOUT,
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from evenkeel.core.network import share_trust_with_requests
from evenkeel.core.version import VERSION
from evenkeel.stores.counters import Tally
from evenkeel.tracing.forwarded import ChosenIds, TracedSink
from evenkeel.tracing.outbox import Outbox
from evenkeel.tracing.shadow import ShadowSpans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from evenkeel.core.exchange import ExchangeSink
    from evenkeel.shadow.observer import ShadowObserver
    from evenkeel.stores.counters import Snapshot


# The conventions for generative AI, whose names are in development: they have moved to a schema of their own.
_SCHEMA: Final = "https://opentelemetry.io/schemas/gen-ai/1.42.0"
# The default of OpenTelemetry's own processor.
_LARGEST_BATCH: Final = 512
# Timeout of one export in seconds, unless a variable sets it. The standard's ten seconds would outlast a
# shutdown.
_TIMEOUT_S: Final = 5.0
# Spans that wait, unless a variable says how many; OpenTelemetry's own default.
_ROOM: Final = 2048
# Milliseconds in which a batch gathers, unless a variable says how many; OpenTelemetry's own default.
_DELAY_MS: Final = 5_000


class SpanOutbox(Outbox["ReadableSpan"], SpanProcessor):
    """Hands the recorded spans that end to an exporter, which may be slow, fail, or never come back."""

    def __init__(self, exporter: SpanExporter, tally: Tally, *, room: int, delay_s: float) -> None:
        self._exporter = exporter
        super().__init__("traces", tally, ("spans_exported", "spans_dropped"), room, _LARGEST_BATCH, delay_s)

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span."""
        context = span.get_span_context()
        if context is not None and context.trace_flags.sampled:
            self.put(span)

    def send(self, batch: list[ReadableSpan]) -> str:
        """Implement `Outbox.send`."""
        return "" if self._exporter.export(batch) is SpanExportResult.SUCCESS else "export_failed"

    def ended(self) -> None:
        """Implement `Outbox.ended`."""
        self._exporter.shutdown()


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
        if delay_s is None:
            delay_s = _number(OTEL_BSP_SCHEDULE_DELAY, _DELAY_MS) / 1000
        room = _number(OTEL_BSP_MAX_QUEUE_SIZE, _ROOM)
        self._outbox = SpanOutbox(exporter, self._tally, room=room, delay_s=delay_s)
        self._events: BatchLogRecordProcessor | None = None
        logger = None
        if events is not None:
            # The SDK's own queue is bounded, and what it drops are copies: spans hold the same events.
            self._events = BatchLogRecordProcessor(events)
            logs = LoggerProvider(resource=_resource(), shutdown_on_exit=False)
            logs.add_log_record_processor(self._events)
            logger = logs.get_logger("evenkeel", VERSION, _SCHEMA)
        provider = TracerProvider(resource=_resource(), shutdown_on_exit=False, id_generator=self._ids)
        provider.add_span_processor(self._outbox)
        self._tracer = provider.get_tracer("evenkeel", VERSION, schema_url=_SCHEMA)
        self._observer = ShadowSpans(self._tracer, self._ids, events=logger, content=content)

    @property
    def observer(self) -> ShadowObserver:
        """Return the observer for the replay plane."""
        return self._observer

    def sink(self, sink: ExchangeSink) -> ExchangeSink:
        """Return a sink for the data plane that passes exchanges on and reports each as a span."""
        return TracedSink(sink, self._tracer, self._ids, self._tally)

    def snapshot(self) -> Snapshot:
        """Return counters of exported and lost spans."""
        return self._tally.snapshot()

    def finish(self, timeout_s: float) -> None:
        """Send what waits, for at most so long. Blocks; no span is taken afterwards."""
        self._outbox.close(timeout_s)
        if self._events is not None:
            # A daemon: one that waits for a dead collector must not hold up the end of the process.
            ending = threading.Thread(target=self._events.shutdown, name="last-events", daemon=True)
            ending.start()
            ending.join(timeout_s)


def otlp_exporter() -> OTLPSpanExporter:
    """Return an exporter of spans by OTLP over HTTP, protobuf.

    Raises: ValueError or the like for a variable that makes no sense.
    """
    share_trust_with_requests()
    return OTLPSpanExporter(timeout=_timeout_s(OTEL_EXPORTER_OTLP_TRACES_TIMEOUT))


def otlp_events() -> OTLPLogExporter:
    """Return an exporter of log events; see `otlp_exporter`."""
    return OTLPLogExporter(timeout=_timeout_s(OTEL_EXPORTER_OTLP_LOGS_TIMEOUT))


def _timeout_s(variable: str) -> float | None:
    """Return the timeout of an export; None where a variable says it, which the SDK reads itself."""
    # The exporters log each failure, several lines in each interval; ours is told once, and counted.
    logging.getLogger("opentelemetry.exporter.otlp.proto.http").setLevel(logging.CRITICAL)
    return None if os.environ.get(variable) or os.environ.get(OTEL_EXPORTER_OTLP_TIMEOUT) else _TIMEOUT_S


def _resource() -> Resource:
    """Return the attributes of this process. Environment variables win over evenkeel's own values."""
    own = Resource.create({"service.name": "evenkeel", "service.version": VERSION})
    return own.merge(OTELResourceDetector().detect())


def _number(variable: str, usual: int) -> int:
    """Return a positive whole number from the environment, the usual one for anything else."""
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() and int(value) > 0 else usual
