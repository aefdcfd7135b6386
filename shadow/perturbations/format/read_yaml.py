"""Skeletons in YAML, as people write them: with placeholders that no YAML reader would take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.shadow.perturbations.format.read_json import read_json
from evenkeel.shadow.perturbations.format.schema import (
    ANYTHING,
    Field,
    Leaf,
    Listing,
    Record,
    UnreadableSkeleton,
    leaf_of,
    merged,
    noted,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.perturbations.format.schema import Node

_KEY: Final = re.compile(r"(?:\"([^\"]+)\"|'([^']+)'|([^\s:#\[{<>\"'][^:<>{}]*?))[ ]*:(?:[ ]+(.*))?$")
_REMARK: Final = re.compile(r"(?:^|[ \t]+)#[ \t]*(.*)$")
_QUOTED: Final = re.compile(r"\"(.*)\"|'(.*)'")
_BLOCK: Final = re.compile(r"[|>][+-]?\d?")
_DEEPEST = 20


class _Line(NamedTuple):
    indent: int
    text: str
    note: str


class _Read(NamedTuple):
    node: Node
    next: int


def read_yaml(text: str) -> Node:
    """The contents that a skeleton in YAML asks for.

    Raises: UnreadableSkeleton if it is neither a mapping nor a list.
    """
    lines = [line for one in text.expandtabs().split("\n") if (line := _line(one)) is not None]
    if not lines:
        raise UnreadableSkeleton("no lines")
    read = _block(lines, 0, 0)
    if read.next < len(lines) or isinstance(read.node, Leaf):
        raise UnreadableSkeleton(f"not YAML from line {read.next + 1} on")
    return read.node


def _line(written: str) -> _Line | None:
    text = written.strip()
    if not text or text in ("---", "..."):
        return None
    remark = _REMARK.search(text)
    note = remark[1] if remark else ""
    content = text[: remark.start()].rstrip() if remark else text
    if not content:
        return None
    return _Line(len(written) - len(written.lstrip()), content, note)


def _block(lines: Sequence[_Line], at: int, depth: int) -> _Read:
    """The value whose first line this is."""
    if depth > _DEEPEST:
        raise UnreadableSkeleton(f"nested more than {_DEEPEST} deep")
    first = lines[at]
    if first.text.startswith("-") and first.text[1:2] in ("", " "):
        return _listing(lines, at, depth)
    if _KEY.match(first.text):
        return _record(lines, at, depth)
    return _Read(_scalar(first), at + 1)


def _listing(lines: Sequence[_Line], at: int, depth: int) -> _Read:
    indent = lines[at].indent
    item: Node | None = None
    while at < len(lines) and lines[at].indent == indent and lines[at].text.startswith("-"):
        content = lines[at].text[1:]
        text = content.lstrip()
        if text:
            inner = _Line(indent + 1 + len(content) - len(text), text, lines[at].note)
            read = _block([inner, *lines[at + 1 :]], 0, depth + 1)
            node, at = read.node, at + read.next
        elif at + 1 < len(lines) and lines[at + 1].indent > indent:
            node, at = _block(lines, at + 1, depth + 1)
        else:
            node, at = ANYTHING, at + 1
        item = node if item is None else merged(item, node)
    return _Read(Listing(item or ANYTHING), at)


def _record(lines: Sequence[_Line], at: int, depth: int) -> _Read:
    indent = lines[at].indent
    fields: list[Field] = []
    while at < len(lines) and lines[at].indent == indent and (key := _KEY.match(lines[at].text)):
        line, value = lines[at], key[4] or ""
        at += 1
        node: Node
        if _BLOCK.fullmatch(value):
            end = at
            while end < len(lines) and lines[end].indent > indent:
                end += 1
            node = leaf_of(" ".join(one.text for one in lines[at:end]))
            at = end
        elif value:
            node = _scalar(_Line(indent, value, ""))
        elif at < len(lines) and (
            lines[at].indent > indent or (lines[at].indent == indent and lines[at].text.startswith("- "))
        ):
            node, at = _block(lines, at, depth + 1)
        else:
            node = ANYTHING
        fields.append(Field(key[1] or key[2] or key[3], noted(node, line.note)))
    return _Read(Record(tuple(fields)), at)


def _scalar(line: _Line) -> Node:
    if line.text.startswith(("[", "{")):
        try:
            return noted(read_json(line.text), line.note)
        except UnreadableSkeleton:
            pass
    quoted = _QUOTED.fullmatch(line.text)
    text = (quoted[1] or quoted[2] or "") if quoted else line.text
    return noted(leaf_of(text, quoted=quoted is not None), line.note)
