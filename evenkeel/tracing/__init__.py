"""Traces of evenkeel's work: the forwarded exchange, and the replays and ratings made of it afterwards.

One SERVER span for each sampled exchange continues the application's trace (`forwarded`, which also makes the
ids that two processes agree on). Trials, replays, calls to judge and rewriter are a trace of their own
(`shadow`), linked to that span and not below it, so that nobody adds their tokens to the user's. `export`
sends spans by OTLP and keeps a collector in trouble from costing more than spans.

Importing this package loads no OpenTelemetry: processes without traces stay small.
"""

from evenkeel.tracing.spans import LAST_SPANS_S, NoSpans, Spans, open_spans

__all__ = ["LAST_SPANS_S", "NoSpans", "Spans", "open_spans"]
