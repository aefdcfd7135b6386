"""The content of a message: one string, or a list of parts some of which are text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkeel.shadow.prompt.body import Slot, last
from evenkeel.shadow.prompt.spans import elements_of, members_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from evenkeel.shadow.prompt.spans import Value


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
