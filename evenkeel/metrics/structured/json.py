"""JSON into a tree: strictly by the standard, or with the mistakes that models make."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any, NamedTuple

import json_repair

from evenkeel.metrics.structured.tree import DEEPEST, Tree, UnreadableError, gather, scalar

# A bracket in prose is seldom followed by a quote, a digit or another bracket.
_START = re.compile(r"\{(?=\s*+[\"'“\w}])|\[(?=\s*+[\[{\"'“\d\]-])")
# Beginning of a value that models get wrong. Prose and formulas have brackets, too, but seldom at a line's
# beginning or after a colon.
_BROKEN = re.compile(r"\{\s*+(?:[\"'“\u2018`]|[\w$@-][\w .$@-]{0,60}:)|\[\s*+[\[{\"'“\u2018`]")
# Most brackets tried as the start of a value, not counting those within one.
_MOST_STARTS = 8
_CLOSERS = {"{": "}", "[": "]"}
_BRACKET = re.compile(r"[\[\]{}]")


class Excerpt(NamedTuple):
    """Value found in a text, and its position."""

    tree: Tree
    start: int
    end: int
    strict: bool


def read_json(text: str) -> Tree:
    """Read a text that is one JSON value, by the standard.

    Numbers keep their spelling (no size limit, no rounding). A repeated key's values become a
    sequence.

    Raises:
        UnreadableError: "malformed", or "too_deep" beyond `DEEPEST` levels.
    """
    try:
        return _tree(_DECODER.decode(text), 0)
    except RecursionError as error:
        raise UnreadableError("too_deep") from error
    except ValueError as error:
        if isinstance(error, UnreadableError):
            raise
        raise UnreadableError("malformed", str(error)) from error


def find_json(text: str) -> Excerpt | None:
    """Return the longest JSON object or array in a text, repaired if need be.

    Repaired are: trailing and missing commas, single, typographic and missing quotes, unescaped
    quotes and line breaks in strings, comments, Python's literals, missing brackets, a cut end.
    In a repaired value numbers are rounded, and the last value of a repeated key counts.
    The first eight brackets are tried. None if there is no object with a key and no array with an
    item.

    Raises:
        UnreadableError: "too_deep".
    """
    best: Excerpt | None = None
    for begin in islice(_START.finditer(text), _MOST_STARTS):
        start = begin.start()
        if best is not None and start < best.end:
            continue
        excerpt = _excerpt(text, start)
        if excerpt and (best is None or excerpt.end - excerpt.start > best.end - best.start):
            best = excerpt
    return best


def _excerpt(text: str, start: int) -> Excerpt | None:
    """Return the object or array that begins at a bracket; None if there is nothing in it."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        tree, strict = _tree(value, 0), True
    except (ValueError, RecursionError):
        before = text[:start].rstrip(" \t")
        if (before and before[-1] not in ":\n") or not _BROKEN.match(text, start):
            return None
        end = _end(text, start)
        tree, strict = _tree(_repaired(text[start:end]), 0), False
    return Excerpt(tree, start, end, strict) if tree else None


def _end(text: str, start: int) -> int:
    """Return the place behind the bracket that closes the one at `start`, or where a broken value may end."""
    depth = 0
    for bracket in _BRACKET.finditer(text, start):
        depth += 1 if bracket[0] in _CLOSERS else -1
        if not depth:
            return bracket.end()
    # A value that was cut has no end; what follows a whole one is talk about it.
    return text.rfind(_CLOSERS[text[start]], start) + 1 or len(text)


def _repaired(text: str) -> Any:
    try:
        # Read again, so that it is in the form of a value that needed no repair.
        return _DECODER.decode(json_repair.repair_json(text, skip_json_loads=True))
    except (ValueError, RecursionError) as error:
        raise UnreadableError("too_deep") from error


def _refuse(constant: str) -> Any:
    raise UnreadableError("malformed", f"{constant} is not JSON")


class _Fields(list[tuple[str, Any]]):
    """Pairs of an object, distinct from an array's items."""


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse, object_pairs_hook=_Fields)


def _tree(value: Any, depth: int) -> Tree:
    if depth > DEEPEST:
        raise UnreadableError("too_deep")
    match value:
        case _Fields():
            return gather((key, _tree(item, depth + 1)) for key, item in value) or {}
        case list():
            return tuple(_tree(item, depth + 1) for item in value)
        case _:
            return scalar(value)
