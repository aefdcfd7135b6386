"""The shape of a chat-completions request: which string literals carry prompt text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.prompt.body import RawMessage, last, listed, role_of
from evenkeel.shadow.prompt.content import read_content
from evenkeel.shadow.prompt.spans import members_of

if TYPE_CHECKING:
    from evenkeel.shadow.prompt.spans import Member, Value

_TEXT: Final = ("text",)


def read_messages(text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
    """The messages of a chat-completions body, as `evenkeel.shadow.prompt.body.Reader`."""
    return tuple(_message(text, index, one) for index, one in enumerate(listed(text, members, "messages")))


def _message(text: str, index: int, message: Value) -> RawMessage:
    role = role_of(index, message)
    content = read_content(text, last(members_of(text, message.start)[0], "content"), _TEXT)
    return RawMessage(role, content.slots, (*content.notes, *_calls(message.decoded.get("tool_calls"))))


def _calls(tool_calls: Any) -> tuple[str, ...]:
    """What an earlier assistant turn called, for showing."""
    notes: list[str] = []
    for call in tool_calls if isinstance(tool_calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            notes.append(f"[calls {function.get('name')} {function.get('arguments')}]")
    return tuple(notes)
