"""Observers of calls to models: the seam for tracing, which costs nothing without one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.pair import Answer

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


class CallReport:
    """A call under observation. This base class notes nothing."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers to send with the request, so that the endpoint's own spans join."""
        return {}

    def ended(self, outcome: Answer | str) -> None:
        """Note the answer, or why there is none in snake case, as "timeout" or "rate_limited".

        Without this, an exception is what came of the call.
        """


NO_REPORT: Final = CallReport()


class CallObserver:
    """Observer of calls to models; its methods are quick and do not raise. This base class notes nothing."""

    def call(self, call: ModelCall) -> AbstractContextManager[CallReport]:
        """Open around one request and what is read of its answer."""
        del call
        return nullcontext(NO_REPORT)


UNOBSERVED: Final = CallObserver()
"""Observer where nobody looks on."""
