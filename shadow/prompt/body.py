"""What a request body is, whichever API it is for: members, and messages made of string literals."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenkeel.shadow.prompt.spans import Member, elements_of, members_of, skip_whitespace, value_at

if TYPE_CHECKING:
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
