"""Observers of calls to models: the seam for tracing, which costs nothing without one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.pair import Answer, ToolCall

Purpose = Literal["replay", "judge", "rewriter"]
"""Purpose of a call to a model."""

Operation = Literal["chat", "text_completion"]
"""Kind of a call, by OpenTelemetry's names."""


class ObservedMessage(NamedTuple):
    """A message of a request, as text."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A request that is about to be sent."""

    purpose: Purpose
    operation: Operation
    model: str
    url: str
    """The endpoint. Its query may hold credentials: only scheme, host, port and path are for showing."""
    unix_path: str | None = None
    """File name of the Unix socket that is connected to, in place of the URL's host."""
    prompt: str = ""
    """Name and version of evenkeel's own wording, as "similarity@1"; "" for a replay."""
    content: Callable[[], Sequence[ObservedMessage]] = tuple
    """The messages to the model; asked only by an observer that may know."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """The outcome of a call. None = the endpoint did not say."""

    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    finish_reason: str | None = None
    text: str = field(default="", repr=False)
    tool_calls: tuple[ToolCall, ...] = field(default=(), repr=False)
    response_id: str | None = None
    cached_tokens: int | None = None
    """Tokens of the prompt that came from the endpoint's cache."""
    failure: str = ""
    """Why there is no answer, in snake case: "timeout", "rate_limited" …; "" if there is one."""

    @classmethod
    def of(cls, answer: Answer) -> CallResult:
        """Return the outcome of a call that brought an answer."""
        return cls(
            answer.model,
            answer.prompt_tokens,
            answer.completion_tokens,
            answer.finish_reason,
            answer.text,
            answer.tool_calls,
            answer.response_id,
            answer.cached_tokens,
        )


class CallReport:
    """A call under observation. This base class notes nothing."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers to send with the request, so that the endpoint's own spans join."""
        return {}

    def ended(self, result: CallResult) -> None:
        """Note that the call is over. Without this, an exception is what came of it."""


NO_REPORT: Final = CallReport()


class CallObserver:
    """Observer of calls to models; its methods are quick and do not raise. This base class notes nothing."""

    def call(self, call: ModelCall) -> AbstractContextManager[CallReport]:
        """Open around one request and what is read of its answer."""
        del call
        return nullcontext(NO_REPORT)


UNOBSERVED: Final = CallObserver()
"""Observer where nobody looks on."""
