"""JSON: numbers keep their spelling, and the layout is kept where it is regular."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from evenkeel.experiments.calibrate.degrade.data.tree import Branch, Entry, Leaf, Node
from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError

_INDENT: Final = re.compile(r"[\[{]\r?\n([ \t]*)\S")
_FLAT_ARRAY: Final = re.compile(r"\[[ \t]*+[^\s\[\]{}][^\[\]{}\n]*+\]")
_FLAT_OBJECT: Final = re.compile(r"\{[^{}\[\]\n:]*+:[^{}\[\]\n]*+\}")
_WORDS: Final = {True: "true", False: "false", None: "null"}


class _Literal(str):
    """A number as it is spelled."""

    __slots__ = ()


class _Fields(list[tuple[str, Any]]):
    """The pairs of an object, told from an array's items."""


class _Layout(NamedTuple):
    indent: str | None
    comma: str
    colon: str
    flat_arrays: bool
    """Whether arrays of plain values stand on one line."""
    flat_objects: bool
    ascii_only: bool


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_DECODER: Final = json.JSONDecoder(
    parse_int=_Literal, parse_float=_Literal, parse_constant=_refuse, object_pairs_hook=_Fields
)


def read(text: str) -> Branch:
    """The tree of one JSON object or array.

    Raises:
        NotDegradableError: "malformed".
    """
    try:
        tree = _node(_DECODER.decode(text))
    except (ValueError, RecursionError) as error:
        raise NotDegradableError("malformed", str(error)) from error
    if isinstance(tree, Leaf):
        raise NotDegradableError("malformed", "a single value")
    return tree


def write(root: Branch, like: str) -> str:
    """The tree as JSON, laid out like a text: indentation, spaces, what stands on one line, escapes."""
    found = _INDENT.search(like)
    layout = _Layout(
        indent=found[1] if found else None,
        comma="," if found or ", " not in like else ", ",
        colon=": " if '": ' in like or '":' not in like else ":",
        flat_arrays=_FLAT_ARRAY.search(like) is not None,
        flat_objects=_FLAT_OBJECT.search(like) is not None,
        ascii_only="\\u" in like and like.isascii(),
    )
    return _written(root, layout, "\n" + _outer_indent(like))


def _outer_indent(like: str) -> str:
    last = like.rstrip().rpartition("\n")[2]
    return last[: len(last) - len(last.lstrip())] if "\n" in like.strip() else ""


def _node(value: Any) -> Node:
    if isinstance(value, _Fields):
        return Branch(tuple(Entry(_node(inner), key) for key, inner in value), is_array=False)
    if isinstance(value, list):
        return Branch(tuple(Entry(_node(inner)) for inner in value), is_array=True)
    if isinstance(value, str) and not isinstance(value, _Literal):
        return Leaf(value)
    return Leaf(str(value) if isinstance(value, str) else _WORDS[value], is_text=False)


def _written(node: Node, layout: _Layout, line: str) -> str:
    if isinstance(node, Leaf):
        return _string(node.text, layout) if node.is_text else node.text
    opening, closing = "[]" if node.is_array else "{}"
    if not node.entries:
        return opening + closing
    plain = all(isinstance(entry.node, Leaf) for entry in node.entries)
    flat = layout.indent is None or (plain and (layout.flat_arrays if node.is_array else layout.flat_objects))
    inner = line if flat else line + (layout.indent or "")
    parts = []
    for entry in node.entries:
        key = "" if entry.key is None else _string(entry.key, layout) + layout.colon
        parts.append(key + _written(entry.node, layout, inner))
    if flat:
        return opening + (", " if layout.indent is not None else layout.comma).join(parts) + closing
    return opening + inner + ("," + inner).join(parts) + line + closing


def _string(text: str, layout: _Layout) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        # A lone surrogate, which no file could hold.
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=layout.ascii_only)
