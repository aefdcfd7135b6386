"""What traces cost: a span for a sampled exchange, and the trace of what is made of one.

Run: python -m benchmarks.tracing
Processor time of this process, export thread included, the best of five rounds; spans are encoded as OTLP and
thrown away, so that the network is not part of it. An exchange has four trials of one replay and two
judge's calls each. "off" is the same path with nobody looking on.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from evenkeel.core.exchange import Exchange
from evenkeel.core.verdict import Verdict
from evenkeel.llm.observer import CallResult, ModelCall
from evenkeel.shadow.perturbations.control import Control
from evenkeel.shadow.planner import Trial
from evenkeel.tracing import NoSpans
from evenkeel.tracing.export import ExportedSpans

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.sdk.trace import ReadableSpan

    from evenkeel.tracing import Spans

ROUNDS, EXCHANGES = 5, 100
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
REPLAY = ModelCall("replay", "chat", "gpt-4o", "https://api.openai.com/v1/chat/completions")
JUDGE = ModelCall("judge", "chat", "gpt-4o", "https://api.openai.com/v1", prompt="similarity@1")
SAID = CallResult("gpt-4o-2024-08-06", 800, 120, "stop")


class Encoded(SpanExporter):
    """Encodes spans and throws them away."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Always a success."""
        encode_spans(spans).SerializeToString()
        return SpanExportResult.SUCCESS


class Nowhere:
    """A queue that takes everything."""

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """How many there were."""
        return len(exchanges)


def exchanges() -> list[Exchange]:
    """Some, each of the application's own trace."""
    kept = (("content-type", "application/json"), ("traceparent", PARENT))
    path = "/v1/chat/completions"
    return [
        Exchange(f"{one:016x}", "default", 1000.0, 0.5, "POST", path, 200, kept, b"{}", (), b"{}")
        for one in range(EXCHANGES)
    ]


def forwarded(spans: Spans) -> None:
    """As the relay's hand-off reports."""
    spans.sink(Nowhere()).put(exchanges())


def shadow(spans: Spans) -> None:
    """As the worker reports."""
    observer, kind = spans.observer, Control()
    for exchange in exchanges():
        with observer.exchange(exchange, 1) as delivery:
            for _ in range(4):
                trial = Trial(exchange.id, kind, 0.3, 7)
                with observer.trial(trial) as report:
                    for call in (REPLAY, JUDGE, JUDGE):
                        with observer.call(call) as answered:
                            answered.ended(SAID)
                    report.logged(VERDICT)
            delivery.ended("scored")


VERDICT = Verdict(
    "id", "0", 1000.0, "default", "gpt-4o", "baseline.identical", 1, 0.3, 7, "judge", 3, 3, tokens=1840
)


def cost_us(report: Callable[[Spans], None], make: Callable[[], Spans]) -> float:
    """Microseconds for an exchange."""
    best = float("inf")
    for _ in range(ROUNDS):
        spans = make()
        began = time.process_time()
        report(spans)
        spans.finish(30)
        best = min(best, time.process_time() - began)
    return best / EXCHANGES * 1e6


def main() -> None:
    """Print one line for each."""
    for name, report in (("forwarded", forwarded), ("shadow, 17 spans", shadow)):
        on = cost_us(report, lambda: ExportedSpans(Encoded(), delay_s=60))
        off = cost_us(report, NoSpans)
        print(f"{name:18} {on:7.0f} µs an exchange, off {off:5.1f}")


if __name__ == "__main__":
    main()
