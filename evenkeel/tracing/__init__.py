"""Traces of what evenkeel does: the forwarded exchange, and what is made of it afterwards.

One SERVER span for each sampled exchange continues the application's trace (`forwarded`). Trials, replays,
calls to judge and rewriter are a trace of their own (`shadow`, `calls`), linked to that span and not below
it, so that nobody adds their tokens to the user's. `ids` lets two processes agree on the link, `export`
keeps a collector in trouble from costing more than spans, `otlp` puts it all together.

Importing this package needs no OpenTelemetry; the modules do, but for `opening` and `names`.
"""

from evenkeel.tracing.spans import NoSpans, Spans, open_spans

__all__ = ["NoSpans", "Spans", "open_spans"]
