"""Bulleted lists in a text: where they are, what their items are, the same in another order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LINE: Final = re.compile(r"[^\n]*\n?")
_BULLET: Final = re.compile(r"([ \t]*)([-*+•–])[ \t]+(?=\S)")
_FENCE: Final = re.compile(r"[ \t]*(?:```|~~~)")
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class Item:
    """One item with everything indented under it."""

    text: str
    """Without the blanks around it, but with its indentation."""
    gap: str
    """The blanks behind it."""


@dataclass(frozen=True, slots=True)
class BulletList:
    """A run of items of one level and one marker."""

    start: int
    end: int
    items: tuple[Item, ...]
    introduction: str
    """The last line before it, "" if there is none."""

    @property
    def texts(self) -> tuple[str, ...]:
        """Of its items, in order."""
        return tuple(item.text for item in self.items)

    def in_order(self, order: Sequence[int]) -> str:
        """Its text with the items in another order; the blanks between stay in their places."""
        return "".join(
            self.items[chosen].text + item.gap for chosen, item in zip(order, self.items, strict=True)
        )


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    """Without the blanks at its end."""
    bullet: tuple[int, str] | None
    """Indentation and marker, if it begins an item."""
    stands_out: bool
    """Whether it is neither indented nor inside a fence."""
    after_blank: bool


@dataclass(slots=True)
class _Run:
    bullet: tuple[int, str]
    introduction: str
    starts: list[int]
    end: int
    """Where its last line that is not blank ends."""

    def takes(self, line: _Line) -> bool:
        """Whether a line goes on with the list; if so, it is added."""
        if line.bullet == self.bullet:
            self.starts.append(line.start)
        elif line.stands_out or (line.bullet is not None and line.bullet[0] <= self.bullet[0]):
            return False
        self.end = line.end
        return True


def bullet_lists(
    text: str, *, begins_line: bool = True, ends_line: bool = True, introduction: str = ""
) -> list[BulletList]:
    """The outermost bulleted lists of at least two items in a text, in order.

    Not lists: numbered ones, anything in a code fence, and a run whose last item goes on in an
    unindented line, as its end can't be told.

    Args:
        text: Any text.
        begins_line: Whether its first line is the beginning of one.
        ends_line: Whether its last line is complete.
        introduction: The line above it, "" if there is none.
    """
    found: list[BulletList] = []
    run: _Run | None = None
    for line in _lines(text, begins_line=begins_line):
        if run is None or not run.takes(line):
            if run is not None and (line.after_blank or line.bullet is not None):
                found += _finished(text, run)
            run = None if line.bullet is None else _Run(line.bullet, introduction, [line.start], line.end)
        introduction = text[line.start : line.end].strip()
    if run is not None and (ends_line or run.end < len(text.rstrip())):
        found += _finished(text, run)
    return found


def _lines(text: str, *, begins_line: bool) -> Iterator[_Line]:
    """The lines that are not blank."""
    fenced = False
    after_blank = True
    for match in _LINE.finditer(text):
        line = match[0]
        if not line.strip():
            after_blank = True
            continue
        start = match.start()
        bullet = None if fenced or not (start or begins_line) else _BULLET.match(line)
        if _FENCE.match(line):
            fenced = not fenced
            # The fence itself stands where its indentation says
            stands_out = line[0] not in " \t"
        else:
            stands_out = not fenced and line[0] not in " \t"
        key = None if bullet is None else (len(bullet[1]), bullet[2])
        yield _Line(start, start + len(line.rstrip()), key, stands_out, after_blank)
        after_blank = False


def _finished(text: str, run: _Run) -> list[BulletList]:
    if len(run.starts) < _FEWEST:
        return []
    ends = [*run.starts[1:], run.end]
    items: list[Item] = []
    for start, end in zip(run.starts, ends, strict=True):
        whole = text[start:end]
        core = whole.rstrip()
        items.append(Item(core, whole[len(core) :]))
    return [BulletList(run.starts[0], run.end, tuple(items), run.introduction)]
