"""Outlines of the structures that prompts show: names and hints, indented, without the syntax of JSON.

An outline fits every format: "cause: <string>", nested fields below their name, items of a list behind a
dash.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# People write skeletons with placeholders, remarks and choices, so the tokens are more than JSON has.
_PLACEHOLDERS: Final = r"<[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*> | \{\w[\w -]*\} | \([^()\n]*\)"
_TOKENS: Final = rf"""
      (?P<string> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | “[^”\n]*” )
    | (?P<remark> //[^\n]* | \#[ ][^\n]* | /\*.*?\*/ )
    | (?P<words> (?:{_PLACEHOLDERS} | [^\s{{}}\[\],:"'“<(/#]++ | [<(/#'] )
                 (?>(?:[ ]*+(?:{_PLACEHOLDERS} | [^\s{{}}\[\],:"'“<(/#]++ | /(?!/) ))*) (?:\[[\w ,|]*\])? )
    | (?P<opens> OPEN | \[ ) | (?P<closes> CLOSE | \] ) | (?P<comma> , ) | (?P<colon> : )
    | (?P<line> [ \t]*\n\s* ) | (?P<blank> [ \t\r]+ )
"""


def _pattern(opening: str, closing: str) -> re.Pattern[str]:
    return re.compile(_TOKENS.replace("OPEN", opening).replace("CLOSE", closing), re.VERBOSE | re.DOTALL)


_JSON: Final = _pattern(r"\{", r"\}")
# Braces are doubled in texts that a template language fills.
_DOUBLED: Final = _pattern(r"\{\{", r"\}\}")
_ELLIPSES: Final = ("...", "…")
# A reader that calls itself must end before the stack does.
_DEEPEST: Final = 20
# Objects in a list that are enough to show the shape of its items: more are data.
_MOST_EXAMPLES: Final = 2
_INDENT: Final = "  "
_EMPTY: Final = ["{}"]
ANYTHING: Final = "…"


class Unreadable(ValueError):  # noqa: N818 - named as the outcome it is
    """Text that is no structure in JSON, or does not end."""


class Outline(NamedTuple):
    """Outline of a structure, and where the structure ends in its text."""

    text: str
    end: int


def outline_at(text: str, start: int) -> Outline:
    """Return the outline of the object or list in JSON that begins here.

    Raises: Unreadable if there is none, or it does not end.
    """
    schema = _schema_at(text, start)
    if schema is not None:
        return schema
    reader = _OutlineReader(text, start)
    lines = reader.value(0)
    return Outline("\n".join(lines), reader.end)


class _OutlineReader:
    """Reads a structure token by token."""

    def __init__(self, text: str, start: int) -> None:
        if not text.startswith(("{", "["), start):
            raise Unreadable(f"no object or list at character {start}")
        self._text = text
        self._pattern = _DOUBLED if text.startswith("{{", start) else _JSON
        self.end = start

    def value(self, depth: int) -> list[str]:
        if depth > _DEEPEST:
            raise Unreadable(f"nested more than {_DEEPEST} deep")
        self._skip()
        if self._peek() == "opens":
            return self._items(depth) if self._take() == "[" else self._record(depth)
        return [self._words()]

    def _record(self, depth: int) -> list[str]:
        lines: list[str] = []
        while not self._closes(lines):
            name = self._words()
            if name in _ELLIPSES:
                continue
            self._skip()
            if self._peek() != "colon":
                raise Unreadable(f"no colon at character {self.end}")
            self._take()
            self._skip()
            is_nested = self._peek() == "opens"
            inner = self.value(depth + 1)
            if is_nested and inner != _EMPTY:
                lines += [f"{name}:", *_indented(inner)]
            else:
                lines.append(f"{name}: {inner[0]}")
        return lines or _EMPTY

    def _items(self, depth: int) -> list[str]:
        lines: list[str] = []
        records = 0
        while not self._closes(lines):
            records += self._peek() == "opens"
            if records > _MOST_EXAMPLES:
                raise Unreadable("a list of so many objects is data")
            inner = self.value(depth + 1)
            if inner[0] not in _ELLIPSES:
                first, *others = _indented(inner)
                lines += [f"- {first.removeprefix(_INDENT)}", *others]
        # How many items there are is not said by the examples of them.
        return [*lines, f"- {ANYTHING}"]

    def _closes(self, lines: list[str]) -> bool:
        """Pass over commas, blanks and remarks. Return whether the object or list ends, and pass its end."""
        while self._peek() in ("comma", "line", "blank", "remark"):
            if self._peek() == "remark" and lines:
                lines[-1] += f" ({self._take().strip('/#* ')})"
            else:
                self._take()
        if self._peek() == "closes":
            self._take()
            return True
        return False

    def _words(self) -> str:
        pieces: list[str] = []
        while self._peek() in ("string", "words", "blank"):
            kind, piece = self._peek(), self._take()
            if kind == "string":
                piece = _unquoted(piece)
            pieces.append(" " if kind == "blank" else piece)
        written = "".join(pieces).strip()
        if not written and not pieces:
            raise Unreadable(f"no value at character {self.end}")
        return written or ANYTHING

    def _skip(self) -> None:
        while self._peek() in ("line", "blank"):
            self._take()

    def _peek(self) -> str:
        match = self._pattern.match(self._text, self.end)
        if match is None or match.lastgroup is None:
            raise Unreadable(f"an object or list without an end, at character {self.end}")
        return match.lastgroup

    def _take(self) -> str:
        match = self._pattern.match(self._text, self.end)
        assert match is not None  # `_peek` has seen it
        self.end = match.end()
        return match[0]


def _unquoted(string: str) -> str:
    try:
        decoded = json.loads(string, strict=False)
    except ValueError:
        return string[1:-1]
    return " ".join(str(decoded).split())


def _indented(lines: list[str]) -> list[str]:
    return [_INDENT + line for line in lines]


def _schema_at(text: str, start: int) -> Outline | None:
    if '"properties"' not in text:
        return None
    try:
        schema, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
        return None
    return Outline(outline_of_schema(schema), end) if "type" in schema or "$schema" in schema else None


def outline_of_schema(schema: Any) -> str:
    """Return the outline of what a JSON Schema asks for; hints are its types, choices and descriptions."""
    return "\n".join(_schema_lines(schema, schema if isinstance(schema, dict) else {}, 0))


def _schema_lines(schema: Any, root: Mapping[str, Any], depth: int) -> list[str]:
    # Deeper schemas refer to themselves.
    if depth > _DEEPEST or not isinstance(schema, dict):
        return [ANYTHING]
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _schema_lines(_definition(reference, root), root, depth + 1)
    choices = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if isinstance(choices, list) and choices:
        # "or null" is how optional values are written; of others the first stands for all.
        wanted = []
        for choice in choices:
            if choice != {"type": "null"}:
                wanted.append(choice)
        return _schema_lines(wanted[0] if wanted else None, root, depth + 1)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        lines: list[str] = []
        for name, inner in properties.items():
            value = _schema_lines(inner, root, depth + 1)
            is_nested = len(value) > 1 or not value[0].startswith(("<", ANYTHING, *_EMPTY))
            lines += [f"{name}:", *_indented(value)] if is_nested else [f"{name}: {value[0]}"]
        return lines or _EMPTY
    if "items" in schema or schema.get("type") == "array":
        first, *others = _indented(_schema_lines(schema.get("items"), root, depth + 1))
        return [f"- {first.removeprefix(_INDENT)}", *others, f"- {ANYTHING}"]
    return [_hint(schema)]


def _hint(schema: Mapping[str, Any]) -> str:
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    kind = schema.get("type")
    hint = kind if isinstance(kind, str) else ANYTHING
    if isinstance(values, list):
        hint = " | ".join(map(str, values))
    description = schema.get("description")
    described = f": {' '.join(description.split())}" if isinstance(description, str) else ""
    return f"<{hint}{described}>"


def _definition(reference: str, root: Mapping[str, Any]) -> Any:
    """Return what a reference into the schema itself names, such as "#/$defs/part"."""
    schema: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if step:
            schema = schema.get(step) if isinstance(schema, dict) else None
    return schema
