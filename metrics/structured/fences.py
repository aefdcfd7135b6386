"""Fenced blocks of a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE_LINE = re.compile(r"^[ ]{0,3}(`{3,}+|~{3,}+)[ \t]*+([\w+-]*+)[^\n`]*+$", re.MULTILINE)


class Fence(NamedTuple):
    """A block between two fences."""

    language: str
    """The word behind the opening fence, in lower case; "" if there is none."""
    text: str
    share: float
    """Of the whole text's characters, fences included, in (0, 1]."""


def fences(text: str) -> Iterator[Fence]:
    """The fenced blocks of a text in order; one that is not closed reaches to the end.

    Source: CommonMark: fences of three or more backticks or tildes, closed by as many or more.
    """
    opened: re.Match[str] | None = None
    for line in _FENCE_LINE.finditer(text):
        if opened is None:
            opened = line
        elif line[1].startswith(opened[1]) and not line[2]:
            yield _fence(text, opened, line.start(), line.end())
            opened = None
    if opened is not None:
        yield _fence(text, opened, len(text), len(text))


def _fence(text: str, opened: re.Match[str], end: int, closed: int) -> Fence:
    return Fence(opened[2].lower(), text[opened.end() : end].strip(), (closed - opened.start()) / len(text))
