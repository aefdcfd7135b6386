"""Server-sent events, as far as answers use them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_LINE_END: Final = re.compile(r"\r\n|\n|\r")


class Event(NamedTuple):
    """The data of one event."""

    data: str
    closed: bool
    """Whether a blank line ended it."""


def events_of(text: str) -> Iterator[Event]:
    """The events of a stream that carry data.

    Source: WHATWG HTML, section 9.2.6. An unclosed last event is given too, since servers that
    cut the final newline are common; the caller knows a cut one by its JSON.
    """
    data: list[str] = []
    for line in _LINE_END.split(text):
        if line:
            name, _, value = line.partition(":")
            if name == "data":
                data.append(value.removeprefix(" "))
        elif data:
            yield Event("\n".join(data), closed=True)
            data = []
    if data:
        yield Event("\n".join(data), closed=False)
