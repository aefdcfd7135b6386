"""CLIENT spans of calls to models: replays, the judge's, the rewriter's, those for embeddings.

Source: OpenTelemetry's conventions for spans of generative-AI clients.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry.trace import SpanKind, get_current_span, set_span_in_context

from evenkeel.core.text import well_formed
from evenkeel.llm.observer import NO_REPORT
from evenkeel.tracing import names
from evenkeel.tracing.attributes import mark_failed, sendable
from evenkeel.tracing.content import input_messages, output_messages
from evenkeel.tracing.ids import PROPAGATOR
from evenkeel.tracing.providers import server_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.trace import Span, Tracer

    from evenkeel.llm.observer import CallReport, CallResult, ModelCall


class CallSpans:
    """A span for each request within a trace; others, such as probes of the judge's health, have none."""

    def __init__(self, tracer: Tracer, *, content: bool) -> None:
        """Wire it.

        Args:
            tracer: Makes the spans.
            content: Whether prompts and answers are told.
        """
        self._tracer = tracer
        self._content = content

    @contextmanager
    def call(self, call: ModelCall) -> Iterator[CallReport]:
        """As `CallObserver.call`."""
        if not get_current_span().get_span_context().is_valid:
            yield NO_REPORT
            return
        server = server_of(call)
        # What is embedded are the answers, which other spans tell.
        content = self._content and call.operation != "embeddings"
        said = {
            names.OPERATION: call.operation,
            names.PROVIDER: server.provider,
            names.REQUEST_MODEL: call.model,
            names.SERVER_ADDRESS: server.address,
            names.SERVER_PORT: server.port,
            names.PURPOSE: call.purpose,
            names.PROMPT_NAME: call.prompt or None,
            names.INPUT_MESSAGES: input_messages(call.content()) if content else None,
        }
        span = self._tracer.start_span(
            f"{call.operation} {well_formed(call.model)}", kind=SpanKind.CLIENT, attributes=sendable(said)
        )
        report = _CallSpan(span, content=content)
        try:
            yield report
        except BaseException as error:
            if not report.over:
                mark_failed(span, kind_of(error))
            raise
        finally:
            span.end()


class _CallSpan:
    """As `CallReport`."""

    def __init__(self, span: Span, *, content: bool) -> None:
        self._span = span
        self._content = content
        self.over = False

    @property
    def headers(self) -> Mapping[str, str]:
        """The span's own `traceparent`: what the endpoint records belongs below the call."""
        carrier: dict[str, str] = {}
        PROPAGATOR.inject(carrier, set_span_in_context(self._span))
        return carrier

    def ended(self, result: CallResult) -> None:
        """As `CallReport.ended`."""
        self.over = True
        if result.failure:
            mark_failed(self._span, result.failure)
            return
        said = {
            names.RESPONSE_MODEL: result.model,
            names.INPUT_TOKENS: result.input_tokens,
            names.OUTPUT_TOKENS: result.output_tokens,
            names.FINISH_REASONS: None if result.finish_reason is None else [result.finish_reason],
            names.OUTPUT_MESSAGES: output_messages(result) if self._content else None,
        }
        self._span.set_attributes(sendable(said))


def kind_of(error: BaseException) -> str:
    """What an exception is called in a trace. Its message stays out: it may quote a prompt."""
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__qualname__
