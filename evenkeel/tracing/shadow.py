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
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias
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
from evenkeel.core.verdict import REPLAY
from evenkeel.llm.observer import NO_REPORT, CallReport
from evenkeel.shadow.observer import ShadowObserver, WorkReport
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
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}


def _sendable(attributes: Mapping[str, Value | list[str] | None]) -> dict[str, Sent]:
    """Return the attributes that are not None, without characters that would make a whole batch fail.

    Model names and other texts come from JSON, which can hold lone surrogates.
    """
    sent: dict[str, Sent] = {}
    for name, value in attributes.items():
        if value is not None:
            sent[name] = _clean(value)
    return sent


def _mark_failed(span: Span, reason: str) -> None:
    """Mark a span as failed, with the reason in one snake-case word."""
    span.set_attribute("error.type", reason)
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


def server_of(url: str, unix_path: str | None = None) -> dict[str, Value | None]:
    """Return the attributes of the server that a call goes to. The rest of its URL is left out.

    Its provider is the one whose API it speaks: whose server it is, its address says.
    """
    path, address, port = "", "", None
    # The call of an invalid URL fails itself, and reports it.
    with suppress(ValueError):
        parts = urlsplit(url)
        path, address, port = parts.path, parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)
    provider = "gcp.gemini" if "enerateContent" in path else "openai"
    return {
        "gen_ai.provider.name": "anthropic" if path.endswith("/messages") else provider,
        "server.address": unix_path or address,
        "server.port": None if unix_path else port,
    }


_EVALUATION: Final = "gen_ai.evaluation.result"
_LABELS: Final = {3: "same_content", 2: "details_differ", 1: "different_message"}


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
        attributes = {
            "gen_ai.operation.name": call.operation,
            "gen_ai.request.model": call.model,
            **server_of(call.url, call.unix_path),
            "evenkeel.purpose": call.purpose,
            "gen_ai.prompt.name": call.prompt or None,
            "gen_ai.input.messages": input_messages(call.content()) if self._content else None,
        }
        span = self._tracer.start_span(
            f"{call.operation} {well_formed(call.model)}",
            kind=SpanKind.CLIENT,
            attributes=_sendable(attributes),
        )
        with _ending(span):
            yield _CallSpan(span, content=self._content)

    @contextmanager
    def exchange(self, exchange: Exchange, attempt: int) -> Iterator[WorkReport]:
        """Report the delivery of an exchange as the root span of a trace."""
        attributes: dict[str, Value] = {
            "evenkeel.exchange.id": exchange.id,
            "evenkeel.route": exchange.route,
            "evenkeel.attempt": attempt,
        }
        # Every delivery has the same trace id, so that a second worker continues the trace of the first.
        with self._ids.chosen(trace_id=shadow_trace_id(exchange.id)):
            span = self._tracer.start_span(
                "evenkeel.shadow",
                context=Context(),  # a separate trace, even inside another span
                kind=SpanKind.CONSUMER,
                attributes=_sendable(attributes),
                links=[Link(forwarded_context(exchange))],
            )
        with _ending(span), _within(span):
            yield _WorkSpan(span)

    @contextmanager
    def trial(self, trial: Trial) -> Iterator[WorkReport]:
        """Report a trial as a span."""
        perturbation = trial.perturbation
        attributes: dict[str, Value] = {
            "evenkeel.verdict.id": trial.id,
            "evenkeel.perturbation": perturbation.name,
            "evenkeel.perturbation.version": perturbation.version,
            "evenkeel.severity": trial.severity,
            "evenkeel.seed": trial.seed,
        }
        span = self._tracer.start_span(f"trial {perturbation.name}", attributes=_sendable(attributes))
        with _ending(span):
            yield _WorkSpan(span, self._events, content=self._content)


class _CallSpan(CallReport):
    def __init__(self, span: Span, *, content: bool) -> None:
        self._span = span
        self._content = content

    @property
    def headers(self) -> Mapping[str, str]:
        # The span's own `traceparent`, so that spans of the endpoint appear below the call.
        carrier: dict[str, str] = {}
        PROPAGATOR.inject(carrier, set_span_in_context(self._span))
        return carrier

    def ended(self, outcome: Answer | str) -> None:
        if isinstance(outcome, str):
            _mark_failed(self._span, outcome)
            return
        attributes = {
            "gen_ai.response.id": outcome.response_id,
            "gen_ai.response.model": outcome.model,
            "gen_ai.usage.input_tokens": outcome.prompt_tokens,
            "gen_ai.usage.output_tokens": outcome.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": outcome.cached_tokens,
            "gen_ai.response.finish_reasons": [outcome.finish_reason] if outcome.finish_reason else None,
            "gen_ai.output.messages": output_messages(outcome) if self._content else None,
        }
        self._span.set_attributes(_sendable(attributes))


@contextmanager
def _ending(span: Span) -> Iterator[None]:
    """End the span with the block, and mark it failed with the kind of the error that the block raises.

    The error's message is left out because it may quote a prompt.
    """
    try:
        yield
    except BaseException as error:
        cancelled = isinstance(error, asyncio.CancelledError)
        _mark_failed(span, "cancelled" if cancelled else type(error).__qualname__)
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
            "evenkeel.model": original.model,
            "evenkeel.task": original.origin.task,
            "evenkeel.prompt_version": original.origin.prompt_version,
            "gen_ai.conversation.id": original.origin.session or None,
        }
        self._span.set_attributes(_sendable(attributes))

    def ended(self, outcome: WorkOutcome, reason: str = "") -> None:
        self._span.set_attributes(_sendable({"evenkeel.outcome": outcome, "evenkeel.reason": reason or None}))
        if outcome == "dead":
            _mark_failed(self._span, reason)

    def logged(self, verdict: Verdict, candidate: str | None = None, reference: str | None = None) -> None:
        attributes = {
            "evenkeel.outcome": "failed" if verdict.failure else "unsure" if verdict.unsure else "rated",
            "evenkeel.scorer": verdict.scoring.scorer,
            "evenkeel.rating": verdict.rating,
            "evenkeel.similarity": verdict.similarity,
            "evenkeel.baseline_rating": verdict.control.rating,
            "evenkeel.tokens": verdict.cost.tokens,
            "evenkeel.cost_usd": verdict.cost.usd,
        }
        self._span.set_attributes(_sendable(attributes))
        for event in self._evaluations(verdict):
            self._span.add_event(_EVALUATION, event)
            if self._events is not None:
                self._events.emit(self._record(event, verdict, candidate, reference))
        if verdict.failure:
            _mark_failed(self._span, verdict.failure.reason)

    def _record(
        self, event: dict[str, Sent], verdict: Verdict, candidate: str | None, reference: str | None
    ) -> LogRecord:
        """Return the evaluation as a log event, with the ids that identify route, exchange and verdict."""
        attributes = {
            "gen_ai.response.id": candidate,
            "evenkeel.reference.response.id": reference,
            "evenkeel.route": verdict.route,
            "evenkeel.exchange.id": verdict.exchange_id,
            "evenkeel.verdict.id": verdict.id,
            "evenkeel.perturbation": verdict.perturbation,
            "evenkeel.scorer": verdict.scoring.scorer,
        }
        return LogRecord(
            timestamp=time.time_ns(),
            context=set_span_in_context(self._span),
            severity_number=SeverityNumber.INFO,
            event_name=_EVALUATION,
            attributes=event | _sendable(attributes),
        )

    def _evaluations(self, verdict: Verdict) -> Iterator[dict[str, Sent]]:
        rating = verdict.rating
        if rating is not None or verdict.unsure:
            yield _sendable(
                {
                    "gen_ai.evaluation.name": "similarity",
                    "gen_ai.evaluation.score.value": None if rating is None else float(rating),
                    "gen_ai.evaluation.score.label": "unsure" if rating is None else _LABELS.get(rating),
                    "gen_ai.evaluation.explanation": verdict.scoring.explanation or None
                    if self._content
                    else None,
                }
            )
        elif verdict.failure and verdict.failure.metric != REPLAY:
            yield {"gen_ai.evaluation.name": "similarity", "error.type": verdict.failure.reason}
        if verdict.tools is not None:
            yield {
                "gen_ai.evaluation.name": "tool_calls",
                "gen_ai.evaluation.score.label": verdict.tools.difference,
            }
        for score in verdict.quality:
            yield _quality(score)
        for failure in verdict.quality_failures:
            yield {"gen_ai.evaluation.name": failure.metric, "error.type": failure.reason}


def _quality(score: QualityScore) -> dict[str, Sent]:
    """Return an event with the variant's score in one metric and the score of the original answer."""
    return {
        "gen_ai.evaluation.name": score.metric,
        "gen_ai.evaluation.score.value": float(score.candidate),
        "gen_ai.evaluation.score.label": score.direction or ("changed" if score.changed else "same"),
        "evenkeel.evaluation.reference": float(score.reference),
        "evenkeel.evaluation.scale": score.scale,
    }
