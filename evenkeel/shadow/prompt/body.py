"""Request bodies: members, and messages made of string literals.

These are the pieces from which each API (`apis`) reads its own shape. A system prompt that stands outside the
list of messages becomes message 0.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkeel.shadow.prompt.spans import Member, elements_of, members_of, skip_whitespace, value_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from evenkeel.shadow.prompt.spans import Value


class UnreadablePrompt(ValueError):  # noqa: N818 - named as the outcome it is; callers count its reason
    """Raised if the prompt of a request body can't be read.

    The request itself may be valid and was forwarded.
    """

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
    """Decoded text; may hold lone surrogates."""
    part: int | None = None
    """Index in a part list; None if the content is the string itself."""

    @classmethod
    def whole(cls, value: Value) -> Slot:
        """The slot of a content that is the string itself."""
        return cls(value.start, value.end, value.decoded)


@dataclass(frozen=True, slots=True)
class RawMessage:
    """Message with its text literals, and a note for each part that is not text."""

    role: str
    slots: tuple[Slot, ...] = ()
    others: tuple[str, ...] = ()
    """Notes on everything that is not text, such as "[image_url]" or '[calls lookup {"id": 7}]'. They are
    only shown, never edited."""


@dataclass(frozen=True, slots=True)
class Body:
    """Parsed request body."""

    members: tuple[Member, ...]
    """Members of the outermost object, in the order written, repeated keys included."""
    messages: tuple[RawMessage, ...]
    """Messages of the conversation in order. A system prompt outside the list comes first."""

    def get(self, key: str) -> Any:
        """Return the value of a top-level key, None if absent; the last one where a key repeats."""
        value = last(self.members, key)
        return None if value is None else value.decoded


def outermost(text: str) -> tuple[Member, ...]:
    """Return the members of the object that a body must be.

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
    """Return the value of a key, None if absent; the last one where a key repeats."""
    return next((member.value for member in reversed(members) if member.key == key), None)


def listed(text: str, members: tuple[Member, ...], key: str) -> tuple[Value, ...]:
    """Return the elements of the list that holds the conversation.

    Raises: UnreadablePrompt "no_messages" or "unsupported_shape".
    """
    value = last(members, key)
    if value is None or value.decoded in (None, []):
        raise UnreadablePrompt("no_messages", f"the body has no '{key}'")
    if not isinstance(value.decoded, list):
        raise UnreadablePrompt("unsupported_shape", f"'{key}' is not an array")
    return elements_of(text, value.start)


def role_of(index: int, message: Value) -> str:
    """Return the role of a message.

    Raises: UnreadablePrompt "unsupported_shape" if it is not an object with a role.
    """
    role = message.decoded.get("role") if isinstance(message.decoded, dict) else None
    if not isinstance(role, str):
        raise UnreadablePrompt("unsupported_shape", f"message {index} is not an object with a role")
    return role


def message_of(
    text: str, role: str, content: Value | None, text_types: Collection[str], notes: Iterable[str] = ()
) -> RawMessage:
    """Return the message of a content: its texts, and notes on all else.

    Nothing for null, as beside tool calls, and for forms we do not know: nothing to edit, nothing
    to break.

    Args:
        text: Of the body.
        role: Whose message it is.
        content: A string or a list of parts; None if the message has none.
        text_types: The `type` of parts whose member `text` is prompt text.
        notes: What else to note behind the content.
    """
    parts: list[Slot | str] = []
    if content is not None and isinstance(content.decoded, str):
        parts.append(Slot.whole(content))
    elif content is not None and isinstance(content.decoded, list):
        for number, element in enumerate(elements_of(text, content.start)):
            parts.append(read_part(text, number, element, text_types))
    return message_of_parts(role, [*parts, *notes])


def message_of_parts(role: str, parts: Iterable[Slot | str]) -> RawMessage:
    """Return a message of texts and of notes."""
    slots: list[Slot] = []
    notes: list[str] = []
    for part in parts:
        if isinstance(part, str):
            notes.append(part)
        else:
            slots.append(part)
    return RawMessage(role, tuple(slots), tuple(notes))


def read_part(text: str, number: int, part: Value, text_types: Collection[str]) -> Slot | str:
    """Return the text of a part of a list, the `number`th from 0, or a note on it, such as "[image_url]"."""
    kind = type_of(part)
    if kind is not None and kind in text_types:
        value = last(members_of(text, part.start)[0], "text")
        if value is not None and isinstance(value.decoded, str):
            return Slot(value.start, value.end, value.decoded, number)
    return f"[{kind or 'part'}]"


def type_of(value: Value) -> str | None:
    """Return the `type` of an object; None if it has none or the value is no object."""
    kind = value.decoded.get("type") if isinstance(value.decoded, dict) else None
    return kind if isinstance(kind, str) else None


def call_note(text: str, call: Value, arguments_key: str) -> str:
    """Return a tool call of an earlier turn for display: name and arguments as written in the body."""
    arguments = last(members_of(text, call.start)[0], arguments_key)
    if arguments is None:
        return f"[calls {call.decoded.get('name')}]"
    written = (
        arguments.decoded if isinstance(arguments.decoded, str) else text[arguments.start : arguments.end]
    )
    return f"[calls {call.decoded.get('name')} {written}]"
