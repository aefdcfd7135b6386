"""Pairs to compare: the answer to the original request and the answer to a variant of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asked for; never executed."""

    name: str
    arguments: str
    """JSON text as the model wrote it."""


# Names of the same event in the four APIs.
_CUT_FINISH: Final = frozenset(("length", "max_tokens", "max_output_tokens", "incomplete"))


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
    cached_tokens: int | None = field(default=None, compare=False)
    """Prompt tokens that the endpoint served from its cache. Left out of comparisons because it depends on
    chance."""
    cache_write_tokens: int | None = field(default=None, compare=False)
    """Prompt tokens that the endpoint kept in its cache, which cost more than others."""
    reasoning_tokens: int | None = field(default=None, compare=False)
    """Answer tokens spent on reasoning that is not part of the text; None if the endpoint does not say."""
    streamed: bool = field(default=False, compare=False)
    """True if it came as a stream."""
    response_id: str | None = field(default=None, compare=False)
    """The endpoint's id of the response; no two answers share it, so it is left out of comparisons."""

    @property
    def cut(self) -> bool:
        """Return whether the answer ends because it reached the maximum length."""
        return self.finish_reason in _CUT_FINISH

    @property
    def shown(self) -> str:
        """Text and tool calls as people read them: a line for each call."""
        calls = [f"→ {call.name}({call.arguments})" for call in self.tool_calls]
        return "\n".join([self.text, *calls] if self.text else calls)


Format = Literal["free", "json", "yaml", "xml", "html", "markdown"]


class AnswerForm(Struct, frozen=True, omit_defaults=True, gc=False):
    """Form that a variant requires of its answer, where it differs from the original's."""

    format: Format | None = None
    language: str | None = None
    """BCP 47 tag."""


AS_BEFORE: Final = AnswerForm()
"""Form of the original answer: same format and language."""


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
    wanted: AnswerForm = AS_BEFORE
    """Format and language that the variant asked the candidate for."""


# Bytes of the digest that are read. A float holds 53 bits, so the lowest eleven are dropped below.
_BYTES = 8
_NUMBERS = 1 << 8 * _BYTES


def draw(pair: Pair, purpose: str) -> float:
    """Return a number in [0, 1) that follows from both answers, the context and the purpose.

    `draw(pair, purpose) < share` picks that share of pairs, the same ones in every process and at
    every replay. Numbers for different purposes are independent, and so are those of a pair and of
    its swapped copy.
    """
    digest = hashlib.sha256()
    for part in _parts(pair, purpose):
        # Lengths keep ("ab", "c") and ("a", "bc") apart; lone surrogates come out of JSON.
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return (int.from_bytes(digest.digest()[:_BYTES], "big") >> 11) / (_NUMBERS >> 11)


def _parts(pair: Pair, purpose: str) -> Iterator[str]:
    yield purpose
    yield pair.context
    for answer in (pair.reference, pair.candidate):
        yield answer.text
        yield str(len(answer.tool_calls))
        for call in answer.tool_calls:
            yield call.name
            yield call.arguments
