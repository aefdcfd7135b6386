"""Skeletons that are outlines, in Markdown or HTML: headings with what belongs under them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.shadow.perturbations.format.schema import (
    ANYTHING,
    Field,
    Listing,
    Record,
    UnreadableSkeleton,
    leaf_of,
    merged,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.shadow.perturbations.format.schema import Node

_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*$")
_ITEM: Final = re.compile(r"([ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+(.*)$")
_NAMED: Final = re.compile(r"(?:\*\*|__)([^*_:\n]+):?(?:\*\*|__)[ \t]*:?[ \t]*(.*)$")
_RULE: Final = re.compile(r"[-*_]{3,}$")
_HTML: Final = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)[^<>]*>")
_TEXT_ELEMENTS: Final = (
    "p",
    "br",
    "span",
    "strong",
    "b",
    "em",
    "i",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "hr",
)
_PAGE_ELEMENTS: Final = (
    "html",
    "head",
    "body",
    "title",
    "main",
    "article",
    "section",
    "header",
    "footer",
    "div",
)
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS: Final = frozenset((*_TEXT_ELEMENTS, *_PAGE_ELEMENTS, *_HEADINGS))
_MARKS: Final = {"li": "\n- ", "dt": "\n**", "dd": " ", "br": "\n", "p": "\n", "hr": "\n"}
_ENDS: Final = {"dt": "**:"}


class _Line(NamedTuple):
    level: int
    """Of a heading, 0 for any other line."""
    text: str
    is_item: bool


def read_markdown(text: str) -> Node:
    """The contents that an outline in Markdown asks for: a field for each heading or bold name.

    Raises: UnreadableSkeleton if there is neither, or text before the first.
    """
    lines = list(_lines(text))
    if not lines:
        raise UnreadableSkeleton("no lines")
    if any(line.level for line in lines):
        return _sections(lines)
    node = _part([line.text for line in lines])
    if not isinstance(node, Record):
        raise UnreadableSkeleton("neither headings nor bold names throughout")
    return node


def read_html(text: str) -> Node:
    """The contents that an outline in HTML asks for: a field for each heading or definition.

    Raises: UnreadableSkeleton if it holds anything else, such as a table.
    """
    closing = {match[2].lower() for match in _HTML.finditer(text) if match[1]}
    unknown = closing - _BLOCKS
    if unknown or not closing:
        raise UnreadableSkeleton(f"<{min(unknown)}> is no part of an outline" if unknown else "no element")
    return read_markdown(_HTML.sub(lambda match: _as_markdown(match, closing), re.sub(r"\s+", " ", text)))


def _as_markdown(tag: re.Match[str], closing: set[str]) -> str:
    name = tag[2].lower()
    if name not in _BLOCKS or (not tag[1] and name not in closing and name not in _MARKS):
        return tag[0]
    if tag[1]:
        return _ENDS.get(name, "\n" if name in _HEADINGS else "")
    if name in _HEADINGS:
        return "\n" + "#" * int(name[1:]) + " "
    return _MARKS.get(name, "")


def _lines(text: str) -> Iterator[_Line]:
    for written in text.split("\n"):
        line = written.strip()
        if not line or _RULE.match(line):
            continue
        if heading := _HEADING.match(line):
            yield _Line(len(heading[1]), heading[2].strip("*_ "), is_item=False)
        elif item := _ITEM.match(written):
            yield _Line(0, item[2].strip(), is_item=True)
        else:
            yield _Line(0, line, is_item=False)


def _sections(lines: Sequence[_Line]) -> Node:
    """A field for each heading of the highest level; what stands before the first must be nothing."""
    top = min(line.level for line in lines if line.level)
    starts = [place for place, line in enumerate(lines) if line.level == top]
    if starts[0]:
        raise UnreadableSkeleton("text before the first heading")
    ends = [*starts[1:], len(lines)]
    parts = [(lines[start].text, lines[start + 1 : end]) for start, end in zip(starts, ends, strict=True)]
    if len(parts) == 1 and any(line.level for line in parts[0][1]) and parts[0][1][0].level:
        # A title over everything
        return _sections(parts[0][1])
    return Record(tuple(Field(name, _content(inner)) for name, inner in parts))


def _content(lines: Sequence[_Line]) -> Node:
    if not lines:
        return ANYTHING
    if lines[0].level:
        return _sections(lines)
    if any(line.level for line in lines):
        raise UnreadableSkeleton("a section with both text and sections of its own")
    if not lines[0].is_item:
        return _part([line.text for line in lines])
    parts: list[list[str]] = []
    for line in lines:
        if line.is_item:
            parts.append([])
        parts[-1].append(line.text)
    item = _part(parts[0])
    for part in parts[1:]:
        item = merged(item, _part(part))
    return Listing(item)


def _part(texts: Sequence[str]) -> Node:
    """A paragraph, or the lines of one item: bold names are fields, anything else is a value."""
    written = [text for text in texts if text]
    named = [match for text in written if (match := _NAMED.match(text))]
    if named and len(named) == len(written):
        return Record(tuple(Field(match[1].strip(), leaf_of(match[2], quoted=True)) for match in named))
    return leaf_of(" ".join(written), quoted=True)
