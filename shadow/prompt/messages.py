"""The shape of a messages request as Anthropic made it: a system prompt, then messages of parts.

The system prompt is message 0 where it is given. What tools gave back stands inside a user's
message there; here it is a message of its own, since the user did not write it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.body import RawMessage, last, listed, role_of
from evenkeel.shadow.prompt.content import call_note, read_content, read_part, type_of
from evenkeel.shadow.prompt.spans import elements_of, members_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.shadow.prompt.body import Slot
    from evenkeel.shadow.prompt.spans import Member, Value

_TEXT: Final = ("text",)
_RESULT: Final = "tool_result"
_CALL: Final = "tool_use"


def read_messages(text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
    """System prompt and messages of a messages body, as `evenkeel.shadow.prompt.body.Reader`."""
    found: list[RawMessage] = []
    system = last(members, "system")
    if system is not None and isinstance(system.decoded, str | list):
        content = read_content(text, system, _TEXT)
        found.append(RawMessage("system", content.slots, content.notes))
    for index, message in enumerate(listed(text, members, "messages")):
        found += _message(text, index, message)
    return tuple(found)


def _message(text: str, index: int, message: Value) -> Iterator[RawMessage]:
    """The message, cut before and behind each result of a tool."""
    role = role_of(index, message)
    content = last(members_of(text, message.start)[0], "content")
    if content is None or not isinstance(content.decoded, list) or not content.decoded:
        yield RawMessage(role, read_content(text, content, _TEXT).slots)
        return
    slots: list[Slot] = []
    notes: list[str] = []
    for number, part in enumerate(elements_of(text, content.start)):
        kind = type_of(part)
        if kind == _RESULT:
            if slots or notes:
                yield RawMessage(role, tuple(slots), tuple(notes))
            slots, notes = [], []
            result = read_content(text, last(members_of(text, part.start)[0], "content"), _TEXT)
            yield RawMessage("tool", result.slots, result.notes)
        elif kind == _CALL:
            notes.append(call_note(text, part, "input"))
        else:
            slot, note = read_part(text, number, part, _TEXT)
            if slot is None:
                notes.append(note)
            else:
                slots.append(slot)
    if slots or notes:
        yield RawMessage(role, tuple(slots), tuple(notes))
