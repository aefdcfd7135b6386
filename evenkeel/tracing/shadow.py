"""OpenTelemetry trace of the work on an exchange: deliveries, trials, calls to models, and ratings as events.

The trace is separate from the forwarded request's and linked to its span. If its spans were children of that
span, tools that add up the tokens and costs of a trace would charge replays and judging to the user.

Spans contain prompts and answers only if the operator turned that on. Source of the CLIENT spans, of the JSON
of `gen_ai.input.messages` and `gen_ai.output.messages`, and of provider names: OpenTelemetry's semantic
conventions for generative AI.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    SpanKind,
    Status,
    StatusCode,
    get_current_span,
    set_span_in_context,
    use_span,
)

from evenkeel.core.text import well_formed
from evenkeel.llm.observer import NO_REPORT, CallReport
from evenkeel.shadow.observer import ShadowObserver, WorkReport
from evenkeel.tracing import names
from evenkeel.tracing.forwarded import PROPAGATOR, forwarded_context, shadow_trace_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from opentelemetry._logs import Logger
    from opentelemetry.trace import Span, Tracer

    from evenkeel.core.exchange import Exchange
    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import QualityScore, Verdict
    from evenkeel.llm.observer import ModelCall, ObservedMessage
    from evenkeel.shadow.observer import WorkOutcome
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.planner import Trial
    from evenkeel.tracing.forwarded import ChosenIds


Value: TypeAlias = str | bool | int | float
Sent: TypeAlias = Value | list[str]


LONGEST_CHARS: Final = 16_000
"""Most characters of all texts in one attribute. Bounds the memory while the collector is unreachable."""
# Provider by the end of the host name; the first match counts.
_BY_HOST: Final = (
    ("openai.azure.com", "azure.ai.openai"),
    ("azure.com", "azure.ai.inference"),
    ("openai.com", "openai"),
    ("anthropic.com", "anthropic"),
    ("amazonaws.com", "aws.bedrock"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("cohere.com", "cohere"),
    ("cohere.ai", "cohere"),
    ("deepseek.com", "deepseek"),
    ("groq.com", "groq"),
    ("mistral.ai", "mistral_ai"),
    ("perplexity.ai", "perplexity"),
    ("x.ai", "x_ai"),
    ("ml.cloud.ibm.com", "ibm.watsonx.ai"),
)
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}


def sendable(attributes: Mapping[str, Value | list[str] | None]) -> dict[str, Sent]:
    """Return the attributes that are not None, without characters that would make a whole batch fail.

    Model names and other texts come from JSON, which can hold lone surrogates.
    """
    sent: dict[str, Sent] = {}
    for name, value in attributes.items():
        if value is not None:
            sent[name] = _clean(value)
    return sent


def mark_failed(span: Span, reason: str) -> None:
    """Mark a span as failed, with the reason in one snake-case word."""
    span.set_attribute(names.ERROR_TYPE, reason)
    span.set_status(Status(StatusCode.ERROR, reason))


def _clean(value: Sent) -> Sent:
    if isinstance(value, str):
        return well_formed(value)
    return [well_formed(item) for item in value] if isinstance(value, list) else value


def input_messages(observed: Sequence[ObservedMessage]) -> str:
    """Return the messages of a request as JSON text, cut after `LONGEST_CHARS` with a note."""
    messages: list[dict[str, Any]] = []
    room = LONGEST_CHARS
    for call in observed:
        messages.append({"role": call.role, "parts": [_part(call.content, room)]})
        room = max(0, room - len(call.content))
    return _written(messages)


def output_messages(answer: Answer) -> str:
    """Return the first choice of an answer as JSON text, cut like the request."""
    parts = [_part(answer.text, LONGEST_CHARS)] if answer.text or not answer.tool_calls else []
    room = max(0, LONGEST_CHARS - len(answer.text))
    for call in answer.tool_calls:
        parts.append({"type": "tool_call", "name": call.name, "arguments": _cut(call.arguments, room)})
        room = max(0, room - len(call.arguments))
    message: dict[str, Any] = {"role": "assistant", "parts": parts}
    if answer.finish_reason is not None:
        message["finish_reason"] = answer.finish_reason
    return _written([message])


def _part(text: str, room: int) -> dict[str, str]:
    return {"type": "text", "content": _cut(text, room)}


def _cut(text: str, room: int) -> str:
    left_out = len(text) - room
    return text if left_out <= 0 else f"{text[:room]}… [{left_out:,} characters left out]"


def _written(messages: list[dict[str, Any]]) -> str:
    return well_formed(json.dumps(messages, ensure_ascii=False, separators=(",", ":")))


class Server(NamedTuple):
    """Server that a call goes to."""

    provider: str
    """Owner of the host if known, else the API spoken: "openai" or "anthropic"."""
    address: str
    """Host name, or the file name of a Unix socket."""
    port: int | None
    """Port; None for a Unix socket or an invalid URL."""


# Every call asks, and a process calls few addresses.
@lru_cache(maxsize=256)
def server_of(url: str, unix_path: str | None = None) -> Server:
    """Return the server that a call goes to. The rest of its URL is left out."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:  # an invalid URL: the call itself fails and reports it
        return Server("openai", unix_path or "", None)
    spoken = "anthropic" if parts.path.endswith("/messages") else "openai"
    if unix_path is not None:
        return Server(spoken, unix_path, None)
    for domain, provider in _BY_HOST:
        if host == domain or host.endswith(f".{domain}"):
            return Server(provider, host, port)
    return Server(spoken, host, port)


ROOT: Final = "evenkeel.shadow"
"""Name of the span of a delivery."""
_SIMILARITY: Final = "similarity"
_TOOLS: Final = "tool_calls"
_LABELS: Final = {3: "same_content", 2: "details_differ", 1: "different_message"}
# Metric name of a failure before there was an answer to evaluate.
_REPLAY: Final = "replay"


class ShadowSpans(ShadowObserver):
    """Spans of the replay plane.

    Calls outside a trace, such as probes of the judge's health, get no span.
    """

    def __init__(
        self, tracer: Tracer, ids: ChosenIds, *, events: Logger | None = None, content: bool
    ) -> None:
        """Wire it.

        `ids` is the id generator of the tracer's provider. `events` also receives each rating, as a log
        event. With `content`, spans carry prompts, answers and the judge's explanations.
        """
        self._tracer = tracer
        self._ids = ids
        self._events = events
        self._content = content

    @contextmanager
    def call(self, call: ModelCall) -> Iterator[CallReport]:
        """Report a call to a model as a span, if a trace is open."""
        if not get_current_span().get_span_context().is_valid:
            # Probes of the judge and goldens belong to no exchange: a trace of one call helps nobody.
            yield NO_REPORT
            return
        server = server_of(call.url, call.unix_path)
        attributes = {
            names.OPERATION: call.operation,
            names.PROVIDER: server.provider,
            names.REQUEST_MODEL: call.model,
            names.SERVER_ADDRESS: server.address,
            names.SERVER_PORT: server.port,
            names.PURPOSE: call.purpose,
            names.PROMPT_NAME: call.prompt or None,
            names.INPUT_MESSAGES: input_messages(call.content()) if self._content else None,
        }
        span = self._tracer.start_span(
            f"{call.operation} {well_formed(call.model)}",
            kind=SpanKind.CLIENT,
            attributes=sendable(attributes),
        )
        report = _CallSpan(span, content=self._content)
        try:
            yield report
        except BaseException as error:
            # What goes wrong after the answer was read is no fault of the call.
            if not report.over:
                mark_failed(span, kind_of(error))
            raise
        finally:
            span.end()

    @contextmanager
    def exchange(self, exchange: Exchange, attempt: int) -> Iterator[WorkReport]:
        """Report the delivery of an exchange as the root span of a trace."""
        attributes: dict[str, Value] = {
            names.EXCHANGE: exchange.id,
            names.ROUTE: exchange.route,
            names.ATTEMPT: attempt,
        }
        # Every delivery has the same trace id, so that a second worker continues the trace of the first.
        with self._ids.chosen(trace_id=shadow_trace_id(exchange.id)):
            span = self._tracer.start_span(
                ROOT,
                context=Context(),  # a separate trace, even inside another span
                kind=SpanKind.CONSUMER,
                attributes=sendable(attributes),
                links=[Link(forwarded_context(exchange))],
            )
        with _ending(span), _within(span):
            yield _WorkSpan(span)

    @contextmanager
    def trial(self, trial: Trial) -> Iterator[WorkReport]:
        """Report a trial as a span."""
        perturbation = trial.perturbation
        attributes: dict[str, Value] = {
            names.VERDICT: trial.id,
            names.PERTURBATION: perturbation.name,
            names.PERTURBATION_VERSION: perturbation.version,
            names.SEVERITY: trial.severity,
            names.SEED: trial.seed,
        }
        span = self._tracer.start_span(f"trial {perturbation.name}", attributes=sendable(attributes))
        with _ending(span):
            yield _WorkSpan(span, self._events, content=self._content)


class _CallSpan(CallReport):
    def __init__(self, span: Span, *, content: bool) -> None:
        self._span = span
        self._content = content
        self.over = False

    @property
    def headers(self) -> Mapping[str, str]:
        # The span's own `traceparent`, so that spans of the endpoint appear below the call.
        carrier: dict[str, str] = {}
        PROPAGATOR.inject(carrier, set_span_in_context(self._span))
        return carrier

    def ended(self, outcome: Answer | str) -> None:
        self.over = True
        if isinstance(outcome, str):
            mark_failed(self._span, outcome)
            return
        attributes = {
            names.RESPONSE_ID: outcome.response_id,
            names.RESPONSE_MODEL: outcome.model,
            names.INPUT_TOKENS: outcome.prompt_tokens,
            names.OUTPUT_TOKENS: outcome.completion_tokens,
            names.CACHED_TOKENS: outcome.cached_tokens,
            names.FINISH_REASONS: None if outcome.finish_reason is None else [outcome.finish_reason],
            names.OUTPUT_MESSAGES: output_messages(outcome) if self._content else None,
        }
        self._span.set_attributes(sendable(attributes))


def kind_of(error: BaseException) -> str:
    """Return the name of an exception in a trace. Its message is left out because it may quote a prompt."""
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__qualname__


@contextmanager
def _ending(span: Span) -> Iterator[None]:
    """End the span with the block, and mark it failed if the block raises."""
    try:
        yield
    except BaseException as error:
        mark_failed(span, kind_of(error))
        raise
    finally:
        span.end()


def _within(span: Span) -> AbstractContextManager[object]:
    """Make the span the parent of all spans started in the block."""
    return use_span(span, record_exception=False, set_status_on_exception=False)


class _WorkSpan(WorkReport):
    def __init__(self, span: Span, events: Logger | None = None, *, content: bool = False) -> None:
        self._span = span
        self._events = events
        self._content = content

    @property
    def trace_id(self) -> str:
        return f"{self._span.get_span_context().trace_id:032x}" if self._span.is_recording() else ""

    def within(self) -> AbstractContextManager[object]:
        return _within(self._span)

    def read(self, original: Original) -> None:
        attributes = {
            names.MODEL: original.model,
            names.TASK: original.origin.task,
            names.PROMPT_VERSION: original.origin.prompt_version,
            names.CONVERSATION: original.origin.session or None,
        }
        self._span.set_attributes(sendable(attributes))

    def ended(self, outcome: WorkOutcome, reason: str = "") -> None:
        self._span.set_attributes(sendable({names.OUTCOME: outcome, names.REASON: reason or None}))
        if outcome == "dead":
            mark_failed(self._span, reason)

    def logged(self, verdict: Verdict, candidate: str | None = None, reference: str | None = None) -> None:
        attributes = {
            names.OUTCOME: "failed" if verdict.failure else "unsure" if verdict.unsure else "rated",
            names.SCORER: verdict.scoring.scorer,
            names.RATING: verdict.rating,
            names.SIMILARITY: verdict.similarity,
            names.BASELINE_RATING: verdict.control.rating,
            names.TOKENS: verdict.cost.tokens,
            names.COST: verdict.cost.usd,
        }
        self._span.set_attributes(sendable(attributes))
        for event in self._evaluations(verdict):
            self._span.add_event(names.EVALUATION, event)
            if self._events is not None:
                self._events.emit(self._record(event, verdict, candidate, reference))
        if verdict.failure:
            mark_failed(self._span, verdict.failure.reason)

    def _record(
        self, event: dict[str, Sent], verdict: Verdict, candidate: str | None, reference: str | None
    ) -> LogRecord:
        """Return the evaluation as a log event, with the ids that identify route, exchange and verdict."""
        attributes = {
            names.RESPONSE_ID: candidate,
            names.REFERENCE_RESPONSE: reference,
            names.ROUTE: verdict.route,
            names.EXCHANGE: verdict.exchange_id,
            names.VERDICT: verdict.id,
            names.PERTURBATION: verdict.perturbation,
            names.SCORER: verdict.scoring.scorer,
        }
        return LogRecord(
            timestamp=time.time_ns(),
            context=set_span_in_context(self._span),
            severity_number=SeverityNumber.INFO,
            event_name=names.EVALUATION,
            attributes=event | sendable(attributes),
        )

    def _evaluations(self, verdict: Verdict) -> Iterator[dict[str, Sent]]:
        rating = verdict.rating
        if rating is not None or verdict.unsure:
            yield sendable(
                {
                    names.EVALUATION_NAME: _SIMILARITY,
                    names.EVALUATION_VALUE: None if rating is None else float(rating),
                    names.EVALUATION_LABEL: "unsure" if rating is None else _LABELS.get(rating),
                    names.EVALUATION_EXPLANATION: verdict.scoring.explanation or None
                    if self._content
                    else None,
                }
            )
        elif verdict.failure and verdict.failure.metric != _REPLAY:
            yield {names.EVALUATION_NAME: _SIMILARITY, names.ERROR_TYPE: verdict.failure.reason}
        if verdict.tools is not None:
            yield {names.EVALUATION_NAME: _TOOLS, names.EVALUATION_LABEL: verdict.tools.difference}
        for score in verdict.quality:
            yield _quality(score)
        for failure in verdict.quality_failures:
            yield {names.EVALUATION_NAME: failure.metric, names.ERROR_TYPE: failure.reason}


def _quality(score: QualityScore) -> dict[str, Sent]:
    """Return an event with the variant's score in one metric and the score of the original answer."""
    return {
        names.EVALUATION_NAME: score.metric,
        names.EVALUATION_VALUE: float(score.candidate),
        names.EVALUATION_LABEL: score.direction or ("changed" if score.changed else "same"),
        names.REFERENCE: float(score.reference),
        names.SCALE: score.scale,
    }
