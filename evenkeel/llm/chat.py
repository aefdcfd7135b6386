"""Requests to chat models, their replies, and the optional parameters that a server takes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from evenkeel.core.tiers import DEARER
from evenkeel.llm.answer import ChatReader, UnreadableAnswer
from evenkeel.llm.faults import Fault
from evenkeel.llm.price import bound_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.core.tiers import Tier
    from evenkeel.llm.observer import ObservedMessage, Purpose


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a chat model."""

    purpose: Purpose
    messages: Sequence[ObservedMessage]
    prompt: str = ""
    """Name and version of our own wording, for the observer."""
    temperature: float = 0.0
    seed: int = 7
    """Any fixed number: it only asks the server to answer the same request the same way."""
    schema: Mapping[str, Any] | None = None
    """JSON schema of the reply; None asks for plain text."""
    limit_tokens: int | None = None
    """The longest reply asked for; None leaves it to the endpoint."""
    answers: int = 1
    """Answers in the reply, each as long as a reply usually is at most."""
    flex: bool = False
    """True if it can wait until the server has room, for less, where the server has such a tier."""

    @property
    def bound(self) -> int:
        """The most tokens that the prompt can have: one for each byte, in any script."""
        schema = bound_of((json.dumps(self.schema),)) if self.schema else 0
        return bound_of(message.content for message in self.messages) + schema


@dataclass(frozen=True, slots=True)
class Completion:
    """A server's reply to a chat request."""

    text: str | Fault
    """A `Fault` "bad_schema", "refused" or "truncated" if there is none; its tokens count all the same."""
    prompt_tokens: int | None
    """Reported by the server; None if it does not, or reports something else."""
    completion_tokens: int | None
    cached_tokens: int = 0
    """Tokens of the prompt that came from the server's cache."""
    cache_write_tokens: int = 0
    """Tokens of the prompt that the server kept in its cache."""
    tier: Tier = "standard"
    """The tier that answered, as the server says."""
    is_dearer: bool = False
    """True if the server says that a tier answered which costs more than the list price."""


Output = Literal["json_schema", "json_object", "plain"]
Limit = Literal["max_tokens", "max_completion_tokens", "none"]
# What is asked for next where a server rejects the form.
_NEXT_OUTPUT: Final[dict[Output, Output]] = {"json_schema": "json_object", "json_object": "plain"}
_NEXT_LIMIT: Final[dict[Limit, Limit]] = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "none",
}
_ABOUT_TIER: Final = ("service_tier", "flex")
_ABOUT_LIMIT: Final = ("max_tokens", "max_completion_tokens", "in the completion", "context length")
_ABOUT_FORMAT: Final = ("response_format", "json_schema", "json_object", "structured output", "schema")


@dataclass(frozen=True, slots=True)
class ParameterSupport:
    """The optional parameters that a server has not rejected so far."""

    output: Output = "json_schema"
    limit: Limit = "max_tokens"
    """The older name first: every server knows it, and those that want the other one say so."""
    temperature: bool = True
    seed: bool = True
    flex: bool = True

    def parameters(self, request: ChatRequest) -> dict[str, Any]:
        """The optional part of the request's body."""
        body: dict[str, Any] = {}
        if request.schema is not None and self.output == "json_schema":
            schema = {"name": "ruling", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.schema is not None and self.output == "json_object":
            body["response_format"] = {"type": "json_object"}
        if request.limit_tokens is not None and self.limit != "none":
            body[self.limit] = request.limit_tokens
        if self.temperature:
            body["temperature"] = request.temperature
        if self.seed:
            body["seed"] = request.seed
        if self.flex and request.flex:
            body["service_tier"] = "flex"
        return body

    def after(self, complaint: str, request: ChatRequest) -> ParameterSupport | None:
        """Return what to try after a rejection with this message; None if nothing is left to leave out.

        A parameter that the message names goes first. A message that names none is taken to be about the
        output format, the commonest cause, then about the limit, and then about the rest.
        """
        words = complaint.lower()
        plainer = less_limited = None
        if request.schema is not None and self.output in _NEXT_OUTPUT:
            plainer = replace(self, output=_NEXT_OUTPUT[self.output])
        if request.limit_tokens is not None and self.limit in _NEXT_LIMIT:
            less_limited = replace(self, limit=_NEXT_LIMIT[self.limit])
        at_once = replace(self, flex=False) if self.flex and request.flex else None
        return (
            (at_once if any(word in words for word in _ABOUT_TIER) else None)
            or (less_limited if any(word in words for word in _ABOUT_LIMIT) else None)
            or (plainer if any(word in words for word in _ABOUT_FORMAT) else None)
            or (replace(self, temperature=False) if self.temperature and "temperature" in words else None)
            or (replace(self, seed=False) if self.seed and "seed" in words else None)
            or plainer
            or less_limited
            or at_once
            or (replace(self, temperature=False, seed=False) if self.temperature or self.seed else None)
        )

    def explains(self, complaint: str) -> bool:
        """Return whether a complaint names a parameter, so that it is about all requests alike."""
        words = complaint.lower()
        named = (*_ABOUT_TIER, *_ABOUT_LIMIT, *_ABOUT_FORMAT, "temperature", "seed")
        return any(word in words for word in named)


def read_reply(reply: dict[str, Any]) -> tuple[Completion, Answer]:
    """Read a server's answer to a chat request, for who asked and for the observer."""
    reader = ChatReader()
    text: str | Fault
    try:
        reader.whole(reply)
        answer = reader.answer()
        text = _text_of(answer, refused=reader.draft.refused)
    except UnreadableAnswer as error:
        # Its tokens are paid for all the same.
        answer = reader.draft.answer()
        text = Fault("bad_schema", f"The reply is no completion: {error.detail}.")
    tier: Tier = "flex" if reply.get("service_tier") == "flex" else "standard"
    completion = Completion(
        text,
        answer.prompt_tokens,
        answer.completion_tokens,
        answer.cached_tokens or 0,
        answer.cache_write_tokens or 0,
        tier,
        reply.get("service_tier") in DEARER,
    )
    return completion, answer


def _text_of(answer: Answer, *, refused: bool) -> str | Fault:
    """Return the text of an answer; one that was cut off is "truncated", even if it can be read."""
    if refused or answer.finish_reason == "content_filter":
        return Fault("refused", "The model declined.")
    # What is there may even be JSON, and still lack the half that mattered.
    if answer.cut:
        return Fault("truncated", "The reply was cut off at a limit of tokens.")
    return answer.text
