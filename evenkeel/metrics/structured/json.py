"""JSON into a tree: strictly by the standard, or with the mistakes that models make."""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any, NamedTuple

from evenkeel.metrics.structured.tree import DEEPEST, Tree, UnreadableError, gather, scalar

_CLOSERS = {'"': '"', "'": "'", "“": "”", "\u2018": "’", "`": "`"}
# Possessive: white space is never given back, so that long runs cost linear time.
_SPACE = re.compile(r"\s*+")
_STRING_STOP = {opener: re.compile(rf"\\|{closer}") for opener, closer in _CLOSERS.items()}
_BLANK = re.compile(r"[ \t]*+")
_BARE_KEY = re.compile(r"[^:,{}\[\]\n]*+")
_BARE_VALUE = re.compile(r"[^,}\]\n]*+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|$)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_PYTHON = {"True": "true", "False": "false", "None": "", "undefined": ""}
_BEHIND_KEY = ":,}]\r\n"
_BEHIND_VALUE = ",}]\r\n"
# Characters that may follow the quote that ends a string.
_BEHIND_ITEM = ",}]:\r\n"
# A bracket in prose is seldom followed by a quote, a digit or another bracket.
_START = re.compile(r"\{(?=\s*+[\"'“\w}])|\[(?=\s*+[\[{\"'“\d\]-])")
# Most brackets tried as the start of a value, not counting those within one.
_MOST_STARTS = 8


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
        reader = _Lenient(text, start)
        tree, end, strict = reader.value(0), reader.at, False
    return Excerpt(tree, start, end, strict) if tree else None


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


class _Lenient:
    """Reader that never stops before the end; `at` is the index of the next character."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self.at = at

    def value(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise UnreadableError("too_deep")
        match self._next():
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case opener if opener in _CLOSERS:
                return scalar(self._string(opener, _BEHIND_VALUE))
            case _:
                bare = self._bare(_BARE_VALUE).partition(" //")[0].rstrip()
                return _PYTHON.get(bare, scalar(bare))

    def _object(self, depth: int) -> Tree:
        self.at += 1
        fields: list[tuple[str | None, Tree]] = []
        while (char := self._next()) and char not in "}]":
            if char == ",":
                self.at += 1
                continue
            key = self._string(char, _BEHIND_KEY) if char in _CLOSERS else self._bare(_BARE_KEY)
            if self._next() == ":":
                self.at += 1
                fields.append((key, self.value(depth + 1)))
            elif self._next() in ("{", "["):
                # A bracket that follows no key: kept without one rather than lost.
                fields.append((key or None, self.value(depth + 1)))
            elif self._next():
                # A key without a value; at the very end it is a cut one and says nothing.
                fields.append((key, ""))
        self._close("}")
        return gather(fields) if fields else {}

    def _array(self, depth: int) -> Tree:
        self.at += 1
        items: list[Tree] = []
        while (char := self._next()) and char not in "}]":
            if char == ",":
                self.at += 1
                continue
            begin = self.at
            item = scalar(self._string(char, _BEHIND_ITEM)) if char in _CLOSERS else self.value(depth + 1)
            if self._next() == ":" and depth:
                # This is a key: the array's bracket was forgotten before it.
                self.at = begin
                return tuple(items)
            items.append(item)
        self._close("]")
        return tuple(items)

    def _close(self, bracket: str) -> None:
        # Another bracket here closes something further out: this one was forgotten.
        if self._next() == bracket:
            self.at += 1

    def _next(self) -> str:
        """Return the next character that is neither white space nor in a comment; "" at the end."""
        text = self._text
        while True:
            space = _SPACE.match(text, self.at)
            assert space is not None  # the pattern matches nothing, too
            self.at = space.end()
            ends = {"//": "\n", "/*": "*/"}.get(text[self.at : self.at + 2])
            if ends is None:
                return text[self.at : self.at + 1]
            end = text.find(ends, self.at + 2)
            self.at = len(text) if end < 0 else end + len(ends)

    def _bare(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self.at)
        assert match is not None  # the pattern matches nothing, too
        self.at = match.end()
        return match[0].strip()

    def _string(self, opener: str, behind: str) -> str:
        """Read a string up to its closing quote, which a separator, a bracket or a line's end follows."""
        text, closer = self._text, _CLOSERS[opener]
        begin = position = self.at + 1
        while match := _STRING_STOP[opener].search(text, position):
            position = match.end()
            if match[0] == "\\":
                position += 1
            elif self._ends(position, closer, behind):
                self.at = position
                return _unescape(text[begin : position - 1])
        self.at = len(text)
        return _unescape(text[begin:])

    def _ends(self, position: int, closer: str, allowed: str) -> bool:
        blank = _BLANK.match(self._text, position)
        assert blank is not None  # the pattern matches nothing, too
        behind = self._text[blank.end() : blank.end() + 2]
        if not behind or behind[0] in allowed or behind in ("//", "/*"):
            return True
        # A quote after a space opens the next string: the comma between them was forgotten.
        return allowed != _BEHIND_KEY and behind[0] == closer and blank.end() > position


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text

    def plain(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPED.get(match[2] or "", match[2] or "")

    # Characters beyond the basic plane are escaped as two halves.
    return _ESCAPE.sub(plain, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
