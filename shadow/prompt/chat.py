"""The shape of a chat-completions request: which string literals carry prompt text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shadow.prompt.spans import elements_of, members_of, skip_whitespace, value_at

if TYPE_CHECKING:
    from shadow.prompt.spans import Member, Value


class UnreadablePrompt(ValueError):  # noqa: N818 - named as the outcome it is; callers count its reason
    """A request body whose prompt can't be read. Not a fault of the request: it was forwarded."""

    def __init__(self, reason: str, detail: str) -> None:
        """Keep both parts.

        Args:
            reason: Short snake_case word, usable as a label: "not_json", "too_deep",
                "no_messages", "unsupported_shape".
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
    part: int | None
    """Index in a part list; None if the content is the string itself."""


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One message: its text literals, and a note for each thing in it that is not text."""

    role: str
    slots: tuple[Slot, ...]
    others: tuple[str, ...]
    """Such as "[image_url]" or '[calls lookup {"id": 7}]'; for showing, never edited."""


@dataclass(frozen=True, slots=True)
class ChatBody:
    """A chat-completions body, read."""

    members: tuple[Member, ...]
    """Of the outermost object, in the order written, repeated keys included."""
    messages: tuple[RawMessage, ...]

    def get(self, key: str) -> Any:
        """The value of a top-level key, None if absent; the last one where a key repeats."""
        found = _last(self.members, key)
        return None if found is None else found.decoded


def read_chat(text: str) -> ChatBody:
    """Read a chat-completions body.

    Raises: UnreadablePrompt "not_json", "too_deep", "no_messages" or "unsupported_shape".
    """
    try:
        return _read(text)
    except json.JSONDecodeError as fault:
        raise UnreadablePrompt("not_json", f"{fault.msg} at character {fault.pos}") from fault
    except RecursionError as fault:
        raise UnreadablePrompt("too_deep", "the body is nested too deeply to be read") from fault


def _read(text: str) -> ChatBody:
    start = skip_whitespace(text, 1 if text.startswith("\ufeff") else 0)
    is_object = text.startswith("{", start)
    members, end = members_of(text, start) if is_object else ((), value_at(text, start).end)
    if skip_whitespace(text, end) != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    if not is_object:
        raise UnreadablePrompt("unsupported_shape", "the body is not a JSON object")
    messages = _last(members, "messages")
    if messages is None or messages.decoded in (None, []):
        raise UnreadablePrompt("no_messages", "the body has no 'messages'")
    if not isinstance(messages.decoded, list):
        raise UnreadablePrompt("unsupported_shape", "'messages' is not an array")
    return ChatBody(
        members,
        tuple(_message(text, index, one) for index, one in enumerate(elements_of(text, messages.start))),
    )


def _message(text: str, index: int, message: Value) -> RawMessage:
    role = message.decoded.get("role") if isinstance(message.decoded, dict) else None
    if not isinstance(role, str):
        raise UnreadablePrompt("unsupported_shape", f"message {index} is not an object with a role")
    members, _ = members_of(text, message.start)
    content = _last(members, "content")
    others = _calls(message.decoded.get("tool_calls"))
    if content is None:
        return RawMessage(role, (), others)
    if isinstance(content.decoded, str):
        return RawMessage(role, (Slot(content.start, content.end, content.decoded, None),), others)
    if not isinstance(content.decoded, list):
        # null with tool calls, or a form we do not know: nothing to edit, nothing to break
        return RawMessage(role, (), others)
    slots: list[Slot] = []
    notes: list[str] = []
    for number, part in enumerate(elements_of(text, content.start)):
        slot = _text_part(text, number, part)
        if slot is not None:
            slots.append(slot)
        else:
            kind = part.decoded.get("type") if isinstance(part.decoded, dict) else None
            notes.append(f"[{kind if isinstance(kind, str) else 'part'}]")
    return RawMessage(role, tuple(slots), (*notes, *others))


def _text_part(text: str, number: int, part: Value) -> Slot | None:
    if not isinstance(part.decoded, dict) or part.decoded.get("type") != "text":
        return None
    members, _ = members_of(text, part.start)
    found = _last(members, "text")
    if found is None or not isinstance(found.decoded, str):
        return None
    return Slot(found.start, found.end, found.decoded, number)


def _calls(tool_calls: Any) -> tuple[str, ...]:
    """What an earlier assistant turn called, for showing."""
    notes: list[str] = []
    for call in tool_calls if isinstance(tool_calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            notes.append(f"[calls {function.get('name')} {function.get('arguments')}]")
    return tuple(notes)


def _last(members: tuple[Member, ...], key: str) -> Value | None:
    return next((member.value for member in reversed(members) if member.key == key), None)
