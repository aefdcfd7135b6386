"""Rendering of an answer as the one text that a judge reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, ToolCall

LONG_CHARS: Final = 60_000
"""Characters of two texts together above which the lines that they share at both ends are left out."""
# Shared lines that still are shown beside what differs.
_SHOWN_LINES: Final = 40


def render(answer: Answer) -> str:
    """Return an answer's text, then its tool calls; "" if it is empty.

    A call is a line "call name", and one line "- argument: value" for each argument, by name: a model that
    writes them in another order calls the same.
    """
    lines = [answer.text.strip()] if answer.text.strip() else []
    for call in answer.tool_calls:
        lines += [f"call {call.name}", *_arguments(call)]
    return "\n".join(lines)


def _arguments(call: ToolCall) -> list[str]:
    try:
        # Raw values stay as the model wrote them: a decoder would change the spelling of numbers.
        arguments = msgspec.json.decode(call.arguments or "{}", type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # A custom tool takes free text, and some models write what is no JSON.
        return [call.arguments]
    return [f"- {name}: {bytes(value).decode()}" for name, value in sorted(arguments.items())]


class TrimmedTexts(NamedTuple):
    """Two texts without most of the lines that both begin and end with."""

    texts: tuple[str, str]
    head: int = 0
    """Number of lines left out of the beginning of each."""
    tail: int = 0
    """Number of lines left out of the end of each."""


def shortened(first: str, second: str) -> TrimmedTexts:
    """Leave equal lines out of two long texts; short ones stay as they are.

    What differs is never cut: two texts that are still too long are not judged.
    """
    if len(first) + len(second) <= LONG_CHARS:
        return TrimmedTexts((first, second))
    sides = first.split("\n"), second.split("\n")
    shortest = min(map(len, sides))
    head = 0
    while head < shortest and sides[0][head] == sides[1][head]:
        head += 1
    tail = 0
    while tail < shortest - head and sides[0][-1 - tail] == sides[1][-1 - tail]:
        tail += 1
    head, tail = max(0, head - _SHOWN_LINES), max(0, tail - _SHOWN_LINES)
    first_text, second_text = ("\n".join(lines[head : len(lines) - tail]) for lines in sides)
    return TrimmedTexts((first_text, second_text), head, tail)
