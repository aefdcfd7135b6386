"""An answer in the making, and what an API's reader has to be able to do with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.surrogates import well_formed
from evenkeel.shadow.answer.values import count, fields, string

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(slots=True)
class Call:
    """A tool call that arrives in pieces."""

    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Draft:
    """An answer that arrives in pieces."""

    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    """Counts as the text where there is no other."""
    calls: dict[int, Call] = field(default_factory=dict)
    model: str | None = None
    system_fingerprint: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    def note_origin(self, body: dict[str, Any]) -> None:
        """Take over who answered; the latest statement wins."""
        self.model = string(body.get("model")) or self.model
        self.system_fingerprint = string(body.get("system_fingerprint")) or self.system_fingerprint

    def note_usage(self, usage: Any, prompt_keys: Sequence[str], completion_key: str) -> None:
        """Take over the token counts; the latest statement wins.

        Args:
            usage: An object, or whatever stands in its place.
            prompt_keys: The counts that make up the prompt's; without the first there is none.
            completion_key: The count of the answer's tokens.
        """
        found = fields(usage)
        first, *more = (count(found.get(key), None) for key in prompt_keys)
        if first is not None:
            self.prompt_tokens = first + sum(one or 0 for one in more)
        self.completion_tokens = count(found.get(completion_key), self.completion_tokens)

    def add_call(self, index: int, name: str, arguments: str) -> None:
        """Append to a call; the first piece makes it."""
        call = self.calls.setdefault(index, Call())
        call.name += name
        call.arguments += arguments

    def answer(self) -> Answer:
        """The answer as far as it came, well-formed in all its parts."""
        return Answer(
            text=well_formed("".join(self.text) or "".join(self.refusal)),
            tool_calls=tuple(
                ToolCall(well_formed(call.name), well_formed(call.arguments))
                for _, call in sorted(self.calls.items())
            ),
            model=_well_formed(self.model),
            system_fingerprint=_well_formed(self.system_fingerprint),
            finish_reason=_well_formed(self.finish_reason),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
        )


def _well_formed(text: str | None) -> str | None:
    return None if text is None else well_formed(text)


class AnswerReader(Protocol):
    """Reads one response of one API: either `whole` once, or `event` for each event of a stream.

    All methods raise UnreadableAnswer for a report of an error.
    """

    @property
    def complete(self) -> bool:
        """Whether everything that matters has come, so that a cut behind it is not missed."""
        ...

    def whole(self, body: dict[str, Any]) -> None:
        """Take in a response that came as one object."""
        ...

    def event(self, data: dict[str, Any]) -> None:
        """Take in one event of a stream."""
        ...

    def done(self) -> None:
        """Take in `[DONE]`, which ends the stream."""
        ...

    def answer(self) -> Answer:
        """The answer. Raises: UnreadableAnswer if there was none in what was read."""
        ...
