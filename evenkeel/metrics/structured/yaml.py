"""YAML into a tree, without aliases, tags and types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import yaml

from evenkeel.metrics.structured.tree import DEEPEST, Tree, UnreadableError, flat, gather, scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = "~"
# Values in quotes, brackets and blocks are left as they are: only plain ones break on a colon.
_PLAIN_VALUE = re.compile(r"^([ ]*+(?>(?:- +)*))([^\s:#\"'{\[\-][^:#\"'\n]{0,80}): +([^\"'|>\[{\s].*)$")
_PLAIN_ITEM = re.compile(r"^([ ]*+(?>(?:- +)+))([^\"'|>\[{\s\-][^\n]*)$")
_ENTRY = re.compile(r"[^:\n]{1,80}:(?:\s|$)")


def read_yaml(text: str) -> Tree:
    """Read a text that is one YAML document with a mapping or a sequence at its top.

    Plain scalars keep their spelling (dates and numbers are texts); "~", "null" and nothing are "".
    Nothing is constructed from tags. Several documents become a sequence.

    Raises:
        UnreadableError: "malformed" (a top-level scalar included: any prose would be one), "alias"
            (nothing in an answer needs one, and nested ones grow without limit), or "too_deep".
    """
    # The parser refuses unprintable characters, and the C one lone surrogates with another error.
    printable = text.encode("utf-8", "replace").decode("utf-8")
    try:
        documents = list(_documents(yaml.parse(printable, Loader=_LOADER)))
    except yaml.YAMLError as error:
        raise UnreadableError("malformed", " ".join(str(error).split())[:200]) from error
    if not documents or any(isinstance(document, str) for document in documents):
        raise UnreadableError("malformed", "no mapping or sequence")
    return documents[0] if len(documents) == 1 else tuple(documents)


def repair_yaml(text: str) -> Tree:
    """Read YAML with the slips that models make.

    Repaired are: tabs, and plain values that hold a colon, start with a mark or look like an alias
    (they are put in quotes); what follows a line that still cannot be read is left out.

    Raises:
        UnreadableError: As for `read_yaml`.
    """
    lines = text.replace("\t", "  ").split("\n")
    quoted = [_quote(line) for line in lines]
    try:
        return read_yaml("\n".join(quoted))
    except UnreadableError as error:
        line = _failing_line(error)
        if not line:
            raise
        return read_yaml("\n".join(quoted[:line]))


def _failing_line(error: UnreadableError) -> int:
    """Return the line, counted from 0, at which the parser stopped; 0 if it named none."""
    mark = getattr(error.__cause__, "problem_mark", None)
    return 0 if mark is None else int(mark.line)


def _quote(line: str) -> str:
    if match := _PLAIN_VALUE.match(line):
        return f"{match[1]}{match[2]}: {_quoted(match[3])}"
    if (match := _PLAIN_ITEM.match(line)) and not _ENTRY.match(match[2]):
        return f"{match[1]}{_quoted(match[2])}"
    return line


def _quoted(value: str) -> str:
    return "'" + value.strip().replace("'", "''") + "'"


def _documents(events: Iterator[Any]) -> Iterator[Tree]:
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            tree = _node(events, next(events, None), 0)
            # An empty document between two marks holds nothing.
            if tree:
                yield tree


def _node(events: Iterator[Any], event: Any, depth: int) -> Tree:
    if depth > DEEPEST:
        raise UnreadableError("too_deep")
    match event:
        case yaml.ScalarEvent():
            return "" if event.value == _NULL and event.implicit[0] else scalar(event.value)
        case yaml.SequenceStartEvent():
            return tuple(_items(events, depth))
        case yaml.MappingStartEvent():
            fields = list(_fields(events, depth))
            return gather(fields) if fields else {}
        case _:
            raise UnreadableError("alias")


def _items(events: Iterator[Any], depth: int) -> Iterator[Tree]:
    while not isinstance(event := next(events, None), yaml.SequenceEndEvent):
        yield _node(events, event, depth + 1)


def _fields(events: Iterator[Any], depth: int) -> Iterator[tuple[str, Tree]]:
    while not isinstance(event := next(events, None), yaml.MappingEndEvent):
        key = flat(_node(events, event, depth + 1))
        yield key, _node(events, next(events, None), depth + 1)
