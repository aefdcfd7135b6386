"""What is compared: the answer to the original request and the answer to a variant of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asked for; never executed."""

    name: str
    arguments: str
    """JSON text as the model wrote it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer, read out of a response body (plain JSON or an event stream)."""

    text: str
    """The assistant's text, "" if it only called tools."""
    tool_calls: tuple[ToolCall, ...] = ()
    model: str | None = None
    """The model name the endpoint returned."""
    system_fingerprint: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


Format = Literal["free", "json", "yaml", "xml", "html", "markdown"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The form that a variant asks its answer to have, where it differs from the original's."""

    format: Format | None = None
    language: str | None = None
    """BCP 47 tag."""


AS_BEFORE: Final = Wanted()
"""The answer should have the original's format and language."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to what should be the same question."""

    reference: Answer
    """The answer the user got to the original request."""
    candidate: Answer
    """The answer to the replayed variant."""
    context: str
    """Text of the original prompt: what faithfulness and completeness are judged against."""
    task: str | None = None
    """Task name from the route or the application, e.g. "case_summary"; None = generic chat."""
    wanted: Wanted = AS_BEFORE
    """What the variant asked of the candidate's format and language."""
