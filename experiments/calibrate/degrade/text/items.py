"""Lists divided into items: bullets and numbers, each with all that is indented beneath it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError
from evenkeel.experiments.calibrate.degrade.text.lines import FENCE, FIXED, MARKER, closes, goes_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NUMBER: Final = re.compile(r"\d+")
_LEAST = 2


class _Item(NamedTuple):
    """Where an item stands."""

    mark: str
    """With the indentation before and the white space behind it."""
    text: str
    end: str
    """White space up to what follows."""
    number: int | None


class _Stretch(NamedTuple):
    """Text that is no item, or items that follow each other directly."""

    text: str
    items: tuple[_Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Items:
    """A text divided into items."""

    stretches: tuple[_Stretch, ...]
    units: tuple[str, ...]
    """The items without their marks, with what is nested in them."""
    share: float
    """Of the text's characters, white space aside, that belong to items, in [0, 1]."""

    def written(self, slots: Sequence[Sequence[str]]) -> str:
        """The text with other items, numbered anew where they were numbered one up from the last."""
        parts: list[str] = []
        at, previous, shown = 0, None, 0
        for stretch in self.stretches:
            parts.append(stretch.text)
            gap = stretch.items[0].end if len(stretch.items) > 1 else "\n"
            begun = False
            for index, item in enumerate(stretch.items):
                if item.number is None or previous is None or item.number != previous + 1:
                    # A new count, or none at all: "1. 1. 1." stays as it is.
                    shown = item.number or 0
                previous = item.number
                for nth, text in enumerate(slots[at]):
                    if begun:
                        parts.append(gap if nth or not index else stretch.items[index - 1].end)
                    parts += (_numbered(item, shown), text)
                    shown += 1
                    begun = True
                at += 1
            if begun:
                parts.append(stretch.items[-1].end)
        written = "".join(parts)
        last = self.stretches[-1].items
        return written if not last or begun else written.rstrip() + last[-1].end


def read_items(text: str) -> Items:
    """Divide a list; all parts together are the text again.

    Items are those of the least indented level that has two or more; what is indented further goes with the
    item above. Text that is not indented ends a list unless it goes on with a sentence of the line above.

    Raises:
        NotDegradableError: "no_list": there is no item.
    """
    lines = text.splitlines(keepends=True)
    coded = list(_coded(lines))
    marks = [None if code or FIXED.match(line.rstrip("\r\n")) else MARKER.match(line)
             for line, code in zip(lines, coded, strict=True)]  # fmt: skip
    margin = _margin([len(_widened(mark[1])) for mark in marks if mark])
    if margin is None:
        raise NotDegradableError("no_list", "there is no list in the text")
    stretches = tuple(_stretches(lines, coded, marks, margin))
    units = tuple(item.text for stretch in stretches for item in stretch.items)
    said = sum(_size(item.mark + item.text) for stretch in stretches for item in stretch.items)
    return Items(stretches, units, said / max(1, _size(text)))


def own_text(unit: str) -> tuple[str, str]:
    """An item's first line, and all that stands beneath it, from the line break on."""
    first, line_break, nested = unit.partition("\n")
    return first, line_break + nested


def _size(text: str) -> int:
    """Characters, white space aside."""
    return len("".join(text.split()))


def _numbered(item: _Item, number: int) -> str:
    return item.mark if item.number is None else _NUMBER.sub(str(number), item.mark, count=1)


def _coded(lines: Sequence[str]) -> Iterator[bool]:
    """For each line whether it belongs to a fenced block."""
    fence = ""
    for line in lines:
        if fence:
            yield True
            fence = "" if closes(line, fence) else fence
        else:
            opening = FENCE.match(line)
            fence = opening[1] if opening else ""
            yield opening is not None


def _widened(indent: str) -> str:
    return indent.expandtabs(4)


def _margin(indents: Sequence[int]) -> int | None:
    """The least indentation with at least two items, else the least of all; None without any."""
    counts: dict[int, int] = {}
    for indent in indents:
        counts[indent] = counts.get(indent, 0) + 1
    return min(
        (indent for indent, count in counts.items() if count >= _LEAST), default=min(counts, default=None)
    )


def _stretches(
    lines: Sequence[str], coded: Sequence[bool], marks: Sequence[re.Match[str] | None], margin: int
) -> Iterator[_Stretch]:
    outer: list[str] = []
    items: list[_Item] = []
    current: list[str] = []
    within_code = False
    for line, code, mark in zip(lines, coded, marks, strict=True):
        indent = len(_widened(line[: len(line) - len(line.lstrip(" \t"))]))
        goes_with = not line.strip() or indent > margin or (code and within_code)
        within_code = code
        if mark and indent == margin:
            if current:
                items.append(_item(current))
            elif outer:
                yield _Stretch("".join(outer))
                outer = []
            current = [line]
        elif current and (goes_with or goes_on(current[-1], line)):
            current.append(line)
        else:
            if current:
                yield _Stretch("", (*items, _item(current)))
                items, current = [], []
            outer.append(line)
    if current:
        yield _Stretch("", (*items, _item(current)))
    elif outer:
        yield _Stretch("".join(outer))


def _item(lines: Sequence[str]) -> _Item:
    text = "".join(lines)
    mark = MARKER.match(text)
    assert mark is not None
    body = text[mark.end() :].rstrip()
    number = _NUMBER.search(mark[2])
    end = text[mark.end() + len(body) :]
    return _Item(mark[0], body, end, int(number[0]) if number else None)
