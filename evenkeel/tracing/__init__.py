"""Traces of evenkeel's work: the forwarded exchange, and the replays and ratings made of it afterwards.

One SERVER span for each sampled exchange continues the application's trace (`forwarded`, which also makes the
ids that two processes agree on). Trials, replays, calls to judge and rewriter are a trace of their own
(`shadow`), linked to that span and not below it, so that nobody adds their tokens to the user's. `export`
sends spans by OTLP and keeps a collector in trouble from costing more than spans.

Importing this package loads no OpenTelemetry: processes without traces stay small.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final, TypeAlias

from evenkeel.shadow.observer import NOBODY

if TYPE_CHECKING:
    from evenkeel.core.exchange import ExchangeSink
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot
    from evenkeel.tracing.export import ExportedSpans

log = logging.getLogger("evenkeel.traces")

LAST_SPANS_S: Final = 3.0
"""Seconds in which waiting spans are sent when the process ends."""


class NoSpans:
    """Spans of a process without traces. It has the methods of `ExportedSpans` and does nothing."""

    observer = NOBODY

    def sink(self, sink: ExchangeSink) -> ExchangeSink:
        """Return the sink itself."""
        return sink

    def snapshot(self) -> Snapshot:
        """Return no counters."""
        return {}

    def finish(self, timeout_s: float) -> None:
        """Do nothing."""


Spans: TypeAlias = "NoSpans | ExportedSpans"
"""The spans of one process."""


def open_spans(settings: Settings) -> Spans:
    """Open the spans that the settings ask for. A problem with them is logged and stops nothing."""
    if not settings.telemetry.traces:
        return NoSpans()
    # Loaded on demand: a process without traces stays small.
    from evenkeel.tracing.export import ExportedSpans, otlp_events, otlp_exporter  # noqa: PLC0415

    telemetry = settings.telemetry
    try:
        events = otlp_events() if os.environ.get("OTEL_LOGS_EXPORTER") != "none" else None
        return ExportedSpans(otlp_exporter(), events, content=telemetry.content)
    except Exception as error:  # noqa: BLE001 - named boundary: variables that the SDK can't read
        log.warning("no traces: %s: %s; everything else goes on", type(error).__name__, error)
        return NoSpans()
