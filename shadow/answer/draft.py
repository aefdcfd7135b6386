"""An answer in the making, the values it is made of, and what the reader of an API must be able to do."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.text import well_formed
from evenkeel.shadow.encodings import UnreadableBody

if TYPE_CHECKING:
    from collections.abc import Sequence


_LONGEST_INT: Final = 100
_READER: Final = json.JSONDecoder(
    parse_int=lambda digits: int(digits) if len(digits) < _LONGEST_INT else float(digits)
)
"""`int` refuses numbers of more than 4,300 digits; JSON does not."""
_LONGEST_KIND: Final = 80
_LARGEST_COUNT: Final = 10**12
"""Nothing here is counted beyond that; stores can't hold whatever a server may make up."""


class UnreadableAnswer(UnreadableBody):
    """A response body that holds no answer to compare.

    Reasons: "not_json", "no_choices" (of the APIs with choices), "no_output" (of the others),
    "error_body", "unfinished", "truncated_stream".
    """


def json_object(text: str, reason: str) -> dict[str, Any]:
    """The one JSON object that `text` is.

    Raises: UnreadableAnswer with the given reason if it is something else.
    """
    try:
        found, end = _READER.raw_decode(text, len(text) - len(text.lstrip()))
    except (ValueError, RecursionError) as fault:
        raise UnreadableAnswer(reason, "a part that should be a JSON object can't be read") from fault
    if not isinstance(found, dict) or text[end:].strip():
        raise UnreadableAnswer(reason, "a part is not one JSON object")
    return found


def error_body(error: Any) -> UnreadableAnswer:
    """What an endpoint's report of an error is as an exception; its message is not quoted."""
    named = fields(error)
    kind = string(named.get("code")) or string(named.get("type")) or "no type"
    return UnreadableAnswer("error_body", f"the endpoint reports an error ({kind[:_LONGEST_KIND]})")


def fields(value: Any) -> dict[str, Any]:
    """An object; an empty one if it is something else."""
    return value if isinstance(value, dict) else {}


def elements(value: Any) -> list[Any]:
    """A list; an empty one if it is something else."""
    return value if isinstance(value, list) else []


def string(value: Any) -> str | None:
    """A string; None if it is something else."""
    return value if isinstance(value, str) else None


def text_of(value: Any) -> str:
    """A string, or the text parts of a part list, which some servers send; "" otherwise."""
    if isinstance(value, list):
        return "".join(text_of(fields(part).get("text")) for part in value)
    return value if isinstance(value, str) else ""


def written(value: Any) -> str:
    """Arguments of a call: their text, or their JSON from servers that send the object; "" for null."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def count(value: Any, otherwise: int | None) -> int | None:
    """A whole number from 0 to 10^12; `otherwise` if it is something else."""
    counted = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_COUNT
    return value if counted else otherwise


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
