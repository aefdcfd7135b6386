"""Positions of the values in a JSON text, so that an edit can leave every other byte alone.

Positions are indices into the text (not bytes); the text is valid UTF-8 decoded strictly, so splicing the
text and encoding it again leaves the bytes outside an edit as they were.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


# Numbers are never used, and `int` refuses more than 4,300 digits: JSON does not.
_DECODER: Final = json.JSONDecoder(parse_int=float)
_WHITESPACE: Final = re.compile(r"[ \t\n\r]*")
# JSON may escape half a pair, which no encoding can hold.
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Value:
    """A JSON value and the half-open span of its text."""

    start: int
    end: int
    decoded: Any


@dataclass(frozen=True, slots=True)
class Member:
    """Member of an object, `"key": value`. Keys may repeat; readers take the last, as most servers do."""

    key: str
    start: int
    """Index of the key's opening quotation mark."""
    value: Value


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the half-open span by `text`."""

    start: int
    end: int
    text: str


def value_at(text: str, start: int) -> Value:
    """Return the value that begins at `start`.

    Raises: json.JSONDecodeError if there is none; RecursionError if it is nested too deeply.
    """
    decoded, end = _DECODER.raw_decode(text, start)
    return Value(start, end, decoded)


def skip_whitespace(text: str, at: int) -> int:
    """The first position from `at` on that holds no JSON whitespace; at most `len(text)`."""
    match = _WHITESPACE.match(text, at)
    assert match is not None  # the pattern matches the empty string
    return match.end()


def members_of(text: str, start: int) -> tuple[tuple[Member, ...], int]:
    """Return the members of the object whose brace opens at `start`, in order, and the position after it.

    Raises: json.JSONDecodeError, RecursionError as `value_at`.
    """
    members: list[Member] = []
    at = skip_whitespace(text, start + 1)
    if text.startswith("}", at):
        return (), at + 1
    while True:
        if not text.startswith('"', at):
            raise json.JSONDecodeError("Expecting a key in double quotes", text, at)
        key = value_at(text, at)
        colon = skip_whitespace(text, key.end)
        if not text.startswith(":", colon):
            raise json.JSONDecodeError("Expecting ':'", text, colon)
        value = value_at(text, skip_whitespace(text, colon + 1))
        members.append(Member(key.decoded, at, value))
        at, closed = _after_value(text, value.end, "}")
        if closed:
            return tuple(members), at


def elements_of(text: str, start: int) -> tuple[Value, ...]:
    """Return the elements of the array whose bracket opens at `start`, in order.

    Raises: json.JSONDecodeError, RecursionError as `value_at`.
    """
    elements: list[Value] = []
    at = skip_whitespace(text, start + 1)
    if text.startswith("]", at):
        return ()
    while True:
        value = value_at(text, at)
        elements.append(value)
        at, closed = _after_value(text, value.end, "]")
        if closed:
            return tuple(elements)


def _after_value(text: str, end: int, closing: str) -> tuple[int, bool]:
    """Return where the next value begins, or the position after the closing bracket and True."""
    at = skip_whitespace(text, end)
    if text.startswith(closing, at):
        return at + 1, True
    if not text.startswith(",", at):
        raise json.JSONDecodeError(f"Expecting ',' or '{closing}'", text, at)
    return skip_whitespace(text, at + 1), False


def string_literal(text: str, *, ascii_only: bool) -> str:
    """`text` as a JSON string literal that any UTF-8 body can hold.

    Args:
        text: May hold lone surrogates, which JSON can only carry as escapes.
        ascii_only: Escape everything beyond ASCII, as a client that sends ASCII bodies does.
    """
    written = json.dumps(text, ensure_ascii=ascii_only)
    if ascii_only:
        return written
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def splice(text: str, edits: Iterable[Edit]) -> str:
    """`text` with the edits made. Edits may touch but not overlap; their order does not matter."""
    pieces: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        assert edit.start >= done
        pieces += (text[done : edit.start], edit.text)
        done = edit.end
    pieces.append(text[done:])
    return "".join(pieces)


def member_edits(members: Sequence[Member], changes: Mapping[str, str | None]) -> list[Edit]:
    """The edits that give members other values.

    Repeated keys are all treated.

    Args:
        members: Of the object, in the order written; at least one.
        changes: JSON text of the new value by key; None removes the member. A member that is not there
            is added behind the last one.
    """
    edits: list[Edit] = []
    for member in members:
        new = changes.get(member.key)
        if new is not None:
            edits.append(Edit(member.value.start, member.value.end, new))
    gone = {key for key, new in changes.items() if new is None}
    for removed, run in groupby(range(len(members)), key=lambda index: members[index].key in gone):
        if removed:
            indices = list(run)
            edits.append(_removal(members, indices[0], indices[-1]))
    there = {member.key for member in members}
    end = members[-1].value.end
    added = ""
    for key, new in changes.items():
        if new is not None and key not in there:
            added += f",{json.dumps(key)}:{new}"
    if there <= gone:
        added = added.removeprefix(",")
    return [*edits, Edit(end, end, added)] if added else edits


def _removal(members: Sequence[Member], first: int, last: int) -> Edit:
    """Remove a run of neighbouring members together with the one comma that becomes superfluous."""
    if last + 1 < len(members):
        return Edit(members[first].start, members[last + 1].start, "")
    start = members[first - 1].value.end if first else members[first].start
    return Edit(start, members[last].value.end, "")
