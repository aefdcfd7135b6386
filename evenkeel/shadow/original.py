"""Exchanges as the worker reads them before any trial: prompt, answer and route."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenkeel.core.endpoint import EMBEDDINGS, is_embeddings
from evenkeel.core.exchange import API_HEADERS
from evenkeel.core.languages import language_of
from evenkeel.core.text import named, named_if
from evenkeel.core.verdict import Origin
from evenkeel.llm.encodings import UnreadableBody, decode_body
from evenkeel.metrics.tasks import Turn, recognise
from evenkeel.shadow import limits
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.prompt import PromptView, UnreadablePrompt, api_of, refusal
from evenkeel.shadow.prompt.parameters import parameters_of
from evenkeel.shadow.prompt.template import TemplateLearner, fixed_template
from evenkeel.shadow.sessions import SessionFinder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.exchange import Exchange
    from evenkeel.core.pair import Answer
    from evenkeel.shadow.planner import RoutePlan
    from evenkeel.shadow.prompt import Classifier


def traits_of(view: PromptView) -> Origin:
    """Return what is known of a prompt alone, whose segments follow its route's template."""
    chars = template = 0
    inputs: list[str] = []
    for segment in view.segments:
        chars += len(segment.text)
        if segment.kind == "template":
            template += len(segment.text)
        elif segment.kind == "input":
            inputs.append(segment.text)
    return Origin(
        requested_model=named_if(view.model),
        parameters=parameters_of(view),
        prompt_chars=chars,
        template_share=template / chars if chars else None,
        prompt_language=language_of("\n".join(inputs) or view.text),
    )


@dataclass(frozen=True, slots=True)
class Original:
    """Exchange as the reader parsed it."""

    exchange: Exchange
    view: PromptView
    """View of the prompt. Its segments follow the route's template."""
    answer: Answer
    model: str
    """Model name that the endpoint returned, else the requested one."""
    route: RoutePlan
    origin: Origin
    """Properties that its verdicts are grouped by. The task is the one that the application states, else the
    route's, else the one recognised from the prompt."""


def api_path(exchange: Exchange, prefixes: Mapping[str, str]) -> str:
    """Return the path of the API that an exchange used, without its route's prefix ("" for none)."""
    rest = exchange.path.removeprefix(prefixes.get(exchange.route, ""))
    return rest if rest.startswith("/") else exchange.path


def api_headers(exchange: Exchange) -> tuple[tuple[str, str], ...]:
    """Return the headers that members of an exchange's request may need."""
    headers = []
    for name, value in exchange.request_headers:
        if name in API_HEADERS:
            headers.append((name, value))
    return tuple(headers)


@dataclass(frozen=True, slots=True)
class UnreadableExchange:
    """An exchange that is not tried."""

    reason: str
    """Reason in snake case, usable as a label."""
    dead: bool
    """True if the exchange can't be read and goes to the dead letters; False if it is a kind of request
    that is never replayed."""


@dataclass(frozen=True, slots=True)
class StatedTemplate:
    """Template of a route that the settings state."""

    classify: Classifier
    fingerprint: str

    @classmethod
    def of(cls, texts: Sequence[str]) -> StatedTemplate:
        """Build a template from texts with `{placeholders}`, one text for each message.

        Raises: ValueError if a text is empty or nothing but placeholders.
        """
        digest = blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()
        return cls(fixed_template(texts), digest)


@dataclass(slots=True)
class Reader:
    """Reads exchanges and learns the routes' templates from them. Thread-safe."""

    routes: Mapping[str, RoutePlan]
    learner: TemplateLearner = field(default_factory=TemplateLearner)
    stated: Mapping[str, StatedTemplate] = field(default_factory=dict)
    """Templates from the settings, by route."""
    keep_embeddings: Callable[[Exchange], None] | None = None
    """Keeps a request for embeddings as a reference prompt; blocks on storage, and never raises."""
    sessions: SessionFinder = field(default_factory=SessionFinder)

    def read(self, exchange: Exchange) -> Original | UnreadableExchange:
        """Return an exchange's prompt and answer, or the reason why it is not tried. Work for a thread."""
        route = self.routes.get(exchange.route)
        if route is None:
            return UnreadableExchange("route_gone", dead=True)
        # Behind the upstream's address anything but a path could lead elsewhere ("@elsewhere/v1/…").
        api = api_of(exchange.path) if exchange.path.startswith("/") else None
        if api is None:
            return UnreadableExchange(self._unread(exchange), dead=False)
        try:
            body = decode_body(dict(exchange.request_headers), exchange.request_body)
            view = PromptView.parse(body, api=api)
            refused = refusal(view)
            reason = refused.reason if refused else limits.beyond(view)
            if reason is not None:
                return UnreadableExchange(reason, dead=False)
            answer = read_answer(dict(exchange.response_headers), exchange.response_body, api.answer_reader())
            if limits.is_too_long(answer):
                return UnreadableExchange("answer_too_long", dead=False)
        except (UnreadablePrompt, UnreadableBody) as error:
            return UnreadableExchange(error.reason, dead=True)
        # Only what can be tried teaches the template: odd requests would blur it.
        view, template = self._classified(exchange, view)
        view = view.changing(route.inputs)
        model = named(answer.model or view.model or "unknown")
        task = (
            exchange.task
            or route.task
            or recognise(Turn(message.role, message.text) for message in view.messages)
        )
        origin = replace(
            traits_of(view),
            task=named_if(task),
            prompt_version=named_if(exchange.prompt_version) or template,
            system_fingerprint=named_if(answer.system_fingerprint),
            client=exchange.client,
            tool=next((named(call.name) for call in answer.tool_calls), ""),
            session=self.sessions.session_of(exchange, view, answer),
        )
        return Original(exchange, view, answer, model, route, origin)

    def _unread(self, exchange: Exchange) -> str:
        """Return why an exchange of another API is not tried; a request for embeddings may be kept."""
        if not (exchange.path.startswith("/") and is_embeddings(exchange.path)):
            return "api_unsupported"
        if self.keep_embeddings is not None:
            self.keep_embeddings(exchange)
        return EMBEDDINGS

    def _classified(self, exchange: Exchange, view: PromptView) -> tuple[PromptView, str | None]:
        stated = self.stated.get(exchange.route)
        if stated is not None:
            # The operator knows better than any learner what users type.
            return view.classified(stated.classify), stated.fingerprint
        self.learner.observe(exchange.route, view.slots)
        version = self.learner.version(exchange.route, view.slots)
        classified = view.classified(self.learner.classifier(exchange.route))
        return classified, version
