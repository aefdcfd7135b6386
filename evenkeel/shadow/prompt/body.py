"""Request bodies of every API: members, and messages made of string literals.

`api_of` tells which API a request speaks by its path; `read_body` knows the shape of each. A system prompt
that stands outside the list of messages becomes message 0. Anthropic's API puts tool results into a user's
message; here each is a message of its own, since the user did not write it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from evenkeel.core.endpoint import api_parts
from evenkeel.shadow.prompt.spans import Member, elements_of, members_of, skip_whitespace, value_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from evenkeel.shadow.prompt.spans import Value


class UnreadablePrompt(ValueError):  # noqa: N818 - named as the outcome it is; callers count its reason
    """A request body whose prompt can't be read. Not a fault of the request: it was forwarded."""

    def __init__(self, reason: str, detail: str) -> None:
        """Keep both parts.

        Args:
            reason: Short snake_case word, usable as a label: "not_json", "too_deep",
                "no_messages", "token_prompt", "unsupported_shape".
            detail: One sentence for people; holds no prompt text.
        """
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Slot:
    """A string literal of the body that carries prompt text."""

    start: int
    end: int
    text: str
    """Decoded; may hold lone surrogates."""
    part: int | None = None
    """Index in a part list; None if the content is the string itself."""

    @classmethod
    def whole(cls, value: Value) -> Slot:
        """The slot of a content that is the string itself."""
        return cls(value.start, value.end, value.decoded)


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One message: its text literals, and a note for each thing in it that is not text."""

    role: str
    slots: tuple[Slot, ...] = ()
    others: tuple[str, ...] = ()
    """Such as "[image_url]" or '[calls lookup {"id": 7}]'; for showing, never edited."""


@dataclass(frozen=True, slots=True)
class Body:
    """A request body, read."""

    members: tuple[Member, ...]
    """Of the outermost object, in the order written, repeated keys included."""
    messages: tuple[RawMessage, ...]
    """The conversation in order; a system prompt that stands outside the list comes first."""

    def get(self, key: str) -> Any:
        """The value of a top-level key, None if absent; the last one where a key repeats."""
        found = last(self.members, key)
        return None if found is None else found.decoded


Reader = Callable[[str, tuple[Member, ...]], tuple[RawMessage, ...]]
"""The text of a body and the members of its outermost object → its messages.

Raises: UnreadablePrompt with any reason but "not_json" and "too_deep"; json.JSONDecodeError and
    RecursionError as `value_at`.
"""


def outermost(text: str) -> tuple[Member, ...]:
    """The members of the object that a body must be.

    Raises: UnreadablePrompt "unsupported_shape"; json.JSONDecodeError, RecursionError as `value_at`.
    """
    start = skip_whitespace(text, 1 if text.startswith("\ufeff") else 0)
    is_object = text.startswith("{", start)
    members, end = members_of(text, start) if is_object else ((), value_at(text, start).end)
    if skip_whitespace(text, end) != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    if not is_object:
        raise UnreadablePrompt("unsupported_shape", "the body is not a JSON object")
    return members


def last(members: tuple[Member, ...], key: str) -> Value | None:
    """The value of a key, None if absent; the last one where a key repeats."""
    return next((member.value for member in reversed(members) if member.key == key), None)


def listed(text: str, members: tuple[Member, ...], key: str) -> tuple[Value, ...]:
    """The elements of the list that holds the conversation.

    Raises: UnreadablePrompt "no_messages" or "unsupported_shape".
    """
    found = last(members, key)
    if found is None or found.decoded in (None, []):
        raise UnreadablePrompt("no_messages", f"the body has no '{key}'")
    if not isinstance(found.decoded, list):
        raise UnreadablePrompt("unsupported_shape", f"'{key}' is not an array")
    return elements_of(text, found.start)


def role_of(index: int, message: Value) -> str:
    """Who says a message.

    Raises: UnreadablePrompt "unsupported_shape" if it is not an object with a role.
    """
    role = message.decoded.get("role") if isinstance(message.decoded, dict) else None
    if not isinstance(role, str):
        raise UnreadablePrompt("unsupported_shape", f"message {index} is not an object with a role")
    return role


Api = Literal["chat", "completions", "responses", "messages"]
"""OpenAI's chat completions, older completions and responses; messages as Anthropic made them."""

_BY_LAST_PART: Final[dict[str, Api]] = {
    "completions": "completions",
    "responses": "responses",
    "messages": "messages",
}


def api_of(path: str) -> Api | None:
    """The API of a request target; None if its exchanges can't be read.

    Any prefix goes (`/v1`, `/openai/deployments/…`), and so does a query. What stands behind the
    API's name is another endpoint (`/messages/count_tokens`, `/responses/…/cancel`), and posting to
    the messages of a thread changes a conversation that the provider keeps. The path is judged as
    `api_parts` reads it.
    """
    parts = api_parts(path)
    if parts[-2:] == ["chat", "completions"]:
        return "chat"
    return _BY_LAST_PART.get(parts[-1]) if parts else None


class Part(NamedTuple):
    """One part of a content: a slot if it is text, else a note."""

    slot: Slot | None
    note: str
    """For people, such as "[image_url]"."""


class Content(NamedTuple):
    """What a content holds."""

    slots: tuple[Slot, ...] = ()
    notes: tuple[str, ...] = ()


def read_content(text: str, content: Value | None, text_types: Collection[str]) -> Content:
    """The slots and notes of a content.

    Nothing for null, as beside tool calls, and for forms we do not know: nothing to edit, nothing
    to break.

    Args:
        text: Of the body.
        content: A string or a list of parts; None if the message has none.
        text_types: The `type` of parts whose member `text` is prompt text.
    """
    if content is None:
        return Content()
    if isinstance(content.decoded, str):
        return Content((Slot.whole(content),))
    if not isinstance(content.decoded, list):
        return Content()
    parts = [
        read_part(text, number, part, text_types)
        for number, part in enumerate(elements_of(text, content.start))
    ]
    return Content(
        tuple(part.slot for part in parts if part.slot is not None),
        tuple(part.note for part in parts if part.slot is None),
    )


def read_part(text: str, number: int, part: Value, text_types: Collection[str]) -> Part:
    """One part of a list, the `number`th from 0; the rest as `read_content`."""
    kind = type_of(part)
    note = f"[{kind or 'part'}]"
    if kind is None or kind not in text_types:
        return Part(None, note)
    found = last(members_of(text, part.start)[0], "text")
    if found is None or not isinstance(found.decoded, str):
        return Part(None, note)
    return Part(Slot(found.start, found.end, found.decoded, number), note)


def type_of(value: Value) -> str | None:
    """What an object says its type is; None if it says nothing or is no object."""
    kind = value.decoded.get("type") if isinstance(value.decoded, dict) else None
    return kind if isinstance(kind, str) else None


def call_note(text: str, call: Value, arguments_key: str) -> str:
    """What an earlier turn called, for showing: name and arguments as they stand in the body."""
    arguments = last(members_of(text, call.start)[0], arguments_key)
    if arguments is None:
        return f"[calls {call.decoded.get('name')}]"
    written = (
        arguments.decoded if isinstance(arguments.decoded, str) else text[arguments.start : arguments.end]
    )
    return f"[calls {call.decoded.get('name')} {written}]"


_CHAT_TEXT: Final = ("text",)


def _chat_messages(text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
    """The messages of a chat-completions body, as `Reader`."""
    return tuple(
        _chat_message(text, index, one) for index, one in enumerate(listed(text, members, "messages"))
    )


def _chat_message(text: str, index: int, message: Value) -> RawMessage:
    role = role_of(index, message)
    content = read_content(text, last(members_of(text, message.start)[0], "content"), _CHAT_TEXT)
    return RawMessage(role, content.slots, (*content.notes, *_calls(message.decoded.get("tool_calls"))))


def _calls(tool_calls: Any) -> tuple[str, ...]:
    """What an earlier assistant turn called, for showing."""
    notes: list[str] = []
    for call in tool_calls if isinstance(tool_calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            notes.append(f"[calls {function.get('name')} {function.get('arguments')}]")
    return tuple(notes)


def _completions_messages(text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
    """The prompts of a completions body as `Reader`: a user's message each.

    Raises: UnreadablePrompt "token_prompt" if the prompt is given as numbers of tokens.
    """
    prompt = last(members, "prompt")
    if prompt is not None and isinstance(prompt.decoded, str):
        return (RawMessage("user", (Slot.whole(prompt),)),)
    prompts = listed(text, members, "prompt")
    if all(isinstance(one.decoded, str) for one in prompts):
        return tuple(RawMessage("user", (Slot.whole(one),)) for one in prompts)
    if all(isinstance(one.decoded, float | list) for one in prompts):
        raise UnreadablePrompt("token_prompt", "the prompt is a list of token ids, not text")
    raise UnreadablePrompt("unsupported_shape", "'prompt' is neither text nor a list of texts")


_RESPONSES_TEXT: Final = ("input_text", "output_text", "text")
_ARGUMENTS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS: Final = ("function_call_output", "custom_tool_call_output")
_KEPT_BY_THE_PROVIDER: Final = ("previous_response_id", "conversation", "prompt")
"""With one of these the body may hold no text at all."""


def _responses_messages(text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
    """Instructions and input of a responses body, as `Reader`."""
    instructions = last(members, "instructions")
    before: tuple[RawMessage, ...] = ()
    if instructions is not None and isinstance(instructions.decoded, str):
        before = (RawMessage("system", (Slot.whole(instructions),)),)
    given = last(members, "input")
    if given is not None and isinstance(given.decoded, str):
        return (*before, RawMessage("user", (Slot.whole(given),)))
    if given is None or given.decoded in (None, []):
        elsewhere = [last(members, key) for key in _KEPT_BY_THE_PROVIDER]
        if before or any(one is not None and one.decoded is not None for one in elsewhere):
            return before
    items = enumerate(listed(text, members, "input"))
    return (*before, *(_item(text, index, item) for index, item in items))


def _item(text: str, index: int, item: Value) -> RawMessage:
    kind = type_of(item)
    if kind is None or kind == "message":
        role = role_of(index, item)
        content = read_content(text, last(members_of(text, item.start)[0], "content"), _RESPONSES_TEXT)
        return RawMessage(role, content.slots, content.notes)
    if kind in _ARGUMENTS:
        return RawMessage("assistant", (), (call_note(text, item, _ARGUMENTS[kind]),))
    if kind in _RESULTS:
        output = read_content(text, last(members_of(text, item.start)[0], "output"), _RESPONSES_TEXT)
        return RawMessage("tool", output.slots, output.notes)
    # reasoning, calls of tools that run at the provider, references to stored items
    return RawMessage("assistant", (), (f"[{kind}]",))


_ANTHROPIC_TEXT: Final = ("text",)
_RESULT: Final = "tool_result"
_CALL: Final = "tool_use"


def _anthropic_messages(text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
    """System prompt and messages of a messages body, as `Reader`."""
    found: list[RawMessage] = []
    system = last(members, "system")
    if system is not None and isinstance(system.decoded, str | list):
        content = read_content(text, system, _ANTHROPIC_TEXT)
        found.append(RawMessage("system", content.slots, content.notes))
    for index, message in enumerate(listed(text, members, "messages")):
        found += _anthropic_message(text, index, message)
    return tuple(found)


def _anthropic_message(text: str, index: int, message: Value) -> Iterator[RawMessage]:
    """The message, cut before and behind each result of a tool."""
    role = role_of(index, message)
    content = last(members_of(text, message.start)[0], "content")
    if content is None or not isinstance(content.decoded, list) or not content.decoded:
        yield RawMessage(role, read_content(text, content, _ANTHROPIC_TEXT).slots)
        return
    slots: list[Slot] = []
    notes: list[str] = []
    for number, part in enumerate(elements_of(text, content.start)):
        kind = type_of(part)
        if kind == _RESULT:
            if slots or notes:
                yield RawMessage(role, tuple(slots), tuple(notes))
            slots, notes = [], []
            result = read_content(text, last(members_of(text, part.start)[0], "content"), _ANTHROPIC_TEXT)
            yield RawMessage("tool", result.slots, result.notes)
        elif kind == _CALL:
            notes.append(call_note(text, part, "input"))
        else:
            slot, note = read_part(text, number, part, _ANTHROPIC_TEXT)
            if slot is None:
                notes.append(note)
            else:
                slots.append(slot)
    if slots or notes:
        yield RawMessage(role, tuple(slots), tuple(notes))


READERS: Final[dict[Api, Reader]] = {
    "chat": _chat_messages,
    "completions": _completions_messages,
    "responses": _responses_messages,
    "messages": _anthropic_messages,
}


def read_body(text: str, api: Api) -> Body:
    """Read the text of a request body.

    Raises: UnreadablePrompt "not_json", "too_deep", "no_messages", "token_prompt" or
        "unsupported_shape".
    """
    try:
        members = outermost(text)
        return Body(members, READERS[api](text, members))
    except json.JSONDecodeError as fault:
        raise UnreadablePrompt("not_json", f"{fault.msg} at character {fault.pos}") from fault
    except RecursionError as fault:
        raise UnreadablePrompt("too_deep", "the body is nested too deeply to be read") from fault
