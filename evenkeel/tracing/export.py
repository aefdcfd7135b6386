"""Spans on their way out: a bounded queue that counts what it loses, and an end that does not wait.

The SDK's own queue drops silently and its shutdown waits for a collector that is gone
(https://github.com/open-telemetry/opentelemetry-python/issues/2024).
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final, Literal

from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import ReadableSpan, Span

Fate = Literal["exported", "queue_full", "export_failed", "shutdown", "error"]
"""What becomes of a span; all but the first are losses."""

log = logging.getLogger("evenkeel.traces")

_LARGEST_BATCH: Final = 512
_LAST_CHANCE_S: Final = 0.3
"""For a collector that has just failed: one that restarted in the meantime takes no longer."""


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
            exporter: Where spans go. May be slow, fail, or never come back.
            count: Told what became of how many spans; every span that ends is told of once.
            room: Spans that may wait, those being exported included.
            delay_s: How long a batch gathers. Default: `OTEL_BSP_SCHEDULE_DELAY`, else 5 s.
        """
        self._count = count
        self._room = room
        self._lock = threading.Lock()
        self._waiting = 0
        self._closed = False
        self._exporter = _Watched(exporter, self._done)
        self._batches = BatchSpanProcessor(
            self._exporter,
            max_queue_size=room,
            max_export_batch_size=min(_LARGEST_BATCH, room),
            schedule_delay_millis=None if delay_s is None else delay_s * 1000,
        )

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Nothing: a span counts from its end."""

    def on_end(self, span: ReadableSpan) -> None:
        """Queue a span, or count it as lost."""
        context = span.get_span_context()
        if context is None or not context.trace_flags.sampled:
            return
        with self._lock:
            lost: Fate | None = (
                "shutdown" if self._closed else "queue_full" if self._waiting >= self._room else None
            )
            if lost is None:
                self._waiting += 1
        if lost is None:
            self._batches.on_end(span)
        else:
            self._count(lost, 1)

    def close(self, timeout_s: float) -> None:
        """Export what waits for at most so long; count the rest as lost. Returns in time in any case.

        A collector that has just failed is not waited for that long.
        """
        # A daemon: one that waits for a dead collector must not hold up the end of the process.
        ending = threading.Thread(target=self._batches.shutdown, name="last-spans", daemon=True)
        ending.start()
        ending.join(min(timeout_s, _LAST_CHANCE_S) if self._exporter.failing else timeout_s)
        with self._lock:
            left, self._waiting, self._closed = self._waiting, 0, True
        if left:
            self._count("shutdown", left)

    def shutdown(self) -> None:
        """As `SpanProcessor.shutdown`, without waiting."""
        self.close(0.0)

    def force_flush(self, timeout_millis: int | None = None) -> bool:
        """As `SpanProcessor.force_flush`."""
        return self._batches.force_flush(timeout_millis)

    def _done(self, spans: int, fate: Fate) -> None:
        with self._lock:
            if self._closed:
                return  # counted already
            self._waiting -= spans
        self._count(fate, spans)


class _Watched(SpanExporter):
    """An exporter whose failures are counted, and told once until it works again."""

    def __init__(self, exporter: SpanExporter, done: Callable[[int, Fate], None]) -> None:
        self._exporter = exporter
        self._done = done
        self.failing = False
        """Whether the last batch was lost."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export(spans)
        except Exception:  # noqa: BLE001 - named boundary: any exporter, any transport; counted
            result = SpanExportResult.FAILURE
        worked = result is SpanExportResult.SUCCESS
        self._done(len(spans), "exported" if worked else "export_failed")
        if worked and self.failing:
            log.warning("traces are exported again")
        elif not worked and not self.failing:
            log.warning(
                "traces cannot be exported; everything else goes on. Check the collector and the "
                "OTEL_EXPORTER_OTLP_… variables. Lost spans are counted in evenkeel_spans_dropped_total."
            )
        self.failing = not worked
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()
