"""Where an output instruction shows the answer's structure, and in which format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.perturbations.format.readers import (
    json_at,
    read_html,
    read_json,
    read_markdown,
    read_xml,
    read_yaml,
)
from evenkeel.shadow.perturbations.format.schema import UnreadableSkeleton

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evenkeel.core.pair import Format
    from evenkeel.shadow.perturbations.format.schema import Node

_FENCED: Final = re.compile(r"(`{3,}|~{3,})[ \t]*([\w+-]*)[ \t]*\n?(.*?)\n?[ \t]*\1", re.DOTALL)
_TAGS: Final[Mapping[str, Format]] = {
    "json": "json",
    "jsonc": "json",
    "json5": "json",
    "yaml": "yaml",
    "yml": "yaml",
    "xml": "xml",
    "html": "html",
    "markdown": "markdown",
    "md": "markdown",
}
_READERS: Final[Mapping[Format, Callable[[str], Node]]] = {
    "json": read_json,
    "yaml": read_yaml,
    "xml": read_xml,
    "html": read_html,
    "markdown": read_markdown,
}
_HTML_TAG: Final = re.compile(
    r"<(?:html|body|div|h[1-6]|p|ul|ol|li|table|section|article|dl)\b", re.IGNORECASE
)
_JSON_START: Final = re.compile(r"(?:^[ \t]*|[::][ \t]+)(?=[{\[][\s{\"'}\[<]|\{\w+[ ]?:)", re.MULTILINE)
_XML_START: Final = re.compile(r"^[ \t]*<([A-Za-z_][\w.:-]*)(?:\s[^<>]*)?>", re.MULTILINE)
_XML_MORE: Final = re.compile(r"\s*<([A-Za-z_][\w.:-]*)(?:\s[^<>]*)?>")
_LINED: Final[Mapping[Format, tuple[re.Pattern[str], re.Pattern[str]]]] = {
    # The first line, and the lines that may follow
    "yaml": (
        re.compile(r"[\w\"'][^:\n]{0,60}:(?:[ \t]|$)"),
        re.compile(r"[ \t]*(?:-[ \t]|#)|[ \t]+\S|[\w\"'][^:\n]{0,60}:(?:[ \t]|$)"),
    ),
    "markdown": (
        re.compile(r"#{1,6}[ \t]"),
        re.compile(r"[ \t]*(?:#{1,6}[ \t]|[-*+][ \t]|[<\[{(]|$)"),
    ),
}
_LONGEST = 8_000
"""Characters of a skeleton that is read; a longer one is data."""
_MOST_TRIES = 16
"""Brackets tried, each of which may be read far."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A stretch of an output instruction that shows the answer's structure."""

    start: int
    end: int
    node: Node | None
    """What it asks for; None if it could not be read."""
    format: Format | None
    """None if it is not recognisable."""
    fence: str = ""
    """What opens its fence, "" if it has none."""
    tag: str = ""
    """The language its fence names."""


def skeletons(text: str, named: Format | None) -> tuple[Skeleton, ...]:
    """The skeletons in an output instruction, in order and without overlap.

    Args:
        text: The instruction.
        named: The format that its words name, if any; outlines are only looked for where they do.
    """
    fenced = tuple(_fenced(text, named))
    if fenced:
        return fenced
    bare = _bare_json(text) or _bare_xml(text)
    if bare is None and named is not None and named in _LINED:
        bare = _bare_lines(text, named)
    return () if bare is None else (bare,)


def _fenced(text: str, named: Format | None) -> Iterator[Skeleton]:
    for match in _FENCED.finditer(text):
        content = match[3]
        shape = _TAGS.get(match[2].lower()) or _shape(content.strip(), named)
        node = None if shape is None else _read(shape, content)
        yield Skeleton(match.start(), match.end(), node, shape, match[1], match[2])


def _shape(content: str, named: Format | None) -> Format | None:
    if content.startswith(("{", "[")):
        return "json"
    if content.startswith("<") and "</" in content:
        return "html" if named == "html" or (named != "xml" and _HTML_TAG.match(content)) else "xml"
    if content.startswith("#"):
        return "markdown"
    return named


def _read(format_: Format, content: str) -> Node | None:
    reader = _READERS.get(format_)
    if reader is None or len(content) > _LONGEST:
        return None
    try:
        return reader(content)
    except UnreadableSkeleton:
        return None


def _bare_json(text: str) -> Skeleton | None:
    for match in islice(_JSON_START.finditer(text), _MOST_TRIES):
        try:
            read = json_at(text[: match.end() + _LONGEST], match.end())
        except UnreadableSkeleton:
            continue
        return Skeleton(match.end(), read.end, read.node, "json")
    return None


def _bare_xml(text: str) -> Skeleton | None:
    first = _XML_START.search(text)
    if first is None:
        return None
    start = first.end() - len(first[0].lstrip())
    end = start
    opening: re.Match[str] | None = first
    while opening is not None:
        closing = text.find(f"</{opening[1]}>", opening.end())
        if closing < 0:
            break
        end = closing + len(opening[1]) + 3
        opening = _XML_MORE.match(text, end)
    if end == start:
        return None
    content = text[start:end]
    shape: Format = "html" if _HTML_TAG.match(content) else "xml"
    return Skeleton(start, end, _read(shape, content), shape)


def _bare_lines(text: str, format_: Format) -> Skeleton | None:
    """An outline behind a line that ends in a colon: lines as only this format has them."""
    first, further = _LINED[format_]
    start: int | None = None
    announced = False
    at = end = 0
    for line in text.splitlines(keepends=True):
        if start is None and announced and first.match(line):
            start = at
        elif start is not None and not further.match(line):
            break
        if line.strip():
            announced = line.rstrip().endswith(":")
            end = at + len(line.rstrip())
        at += len(line)
    if start is None:
        return None
    node = _read(format_, text[start:end])
    return None if node is None else Skeleton(start, end, node, format_)
