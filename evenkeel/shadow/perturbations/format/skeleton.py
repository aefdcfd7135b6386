"""Skeletons in JSON as people write them, with placeholders, comments and missing commas."""

from __future__ import annotations

import json
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
    noted,
    read_json_schema,
)

if TYPE_CHECKING:
    from evenkeel.shadow.perturbations.format.schema import Node


_BLANK: Final = re.compile(r"\s*")
_COMMENT: Final = re.compile(r"[ \t]*(?://|#)[ \t]*([^\n]*)|[ \t]*/\*(.*?)\*/", re.DOTALL)
_JSON_REMARK: Final = re.compile(r"\s(?://|\#[ ]|/\*)\s*(.*?)\s*(?:\*/)?\s*\Z", re.DOTALL)
_COMMA: Final = re.compile(r"\s*,")
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|“([^”]*)”', re.DOTALL)
_JSON_KEY: Final = re.compile(r"[^\s:,{}\[\]\"']+(?:[ ][^\s:,{}\[\]\"']+)*(?=\s*:)")
_RAW: Final = re.compile(
    r"(?:<[^<>{}]*(?:<[^<>{}]*>[^<>{}]*)*>|\([^()\n]*\)|\[[^\[\]\n]*\]|\"[^\"\n]*\"|/(?!/)|[^,{}\[\]\n<(\"/]|[<(\"])+"
)
_CHOICE: Final = re.compile(r"\s*(?:\||/(?!/)|or\b)")
_ELLIPSIS: Final = re.compile(r"\.{3}|…")
# A reader that calls itself must end before the stack does.
_DEEPEST = 20
# Objects in a list that are enough to show the shape of its items.
_MOST_EXAMPLES: Final = 2


class ParsedValue(NamedTuple):
    """A value and where it ends."""

    node: Node
    end: int


def read_json(text: str) -> Node:
    """Return the contents that a skeleton in JSON asks for.

    Raises: UnreadableSkeleton if it is not one, or something stands behind it.
    """
    read = json_at(text, _past_blanks(text, 0))
    rest, _ = _skipped(text, read.end)
    if rest != len(text):
        raise UnreadableSkeleton(f"more text behind the value, at character {rest}")
    return read.node


def json_at(text: str, start: int) -> ParsedValue:
    """Return the object or list that begins here.

    Raises: UnreadableSkeleton if there is none, or it does not end.
    """
    if not text.startswith(("{", "["), start):
        raise UnreadableSkeleton(f"no object or list at character {start}")
    if text.startswith("{{", start):
        # Braces doubled for a template language
        end = text.rfind("}}")
        if end < 0:
            raise UnreadableSkeleton("an object without an end")
        plain = text[start : end + 2].replace("{{", "{").replace("}}", "}")
        return ParsedValue(_value(plain, 0, 0).node, end + 2)
    return _json_schema_at(text, start) or _value(text, start, 0)


def _json_schema_at(text: str, start: int) -> ParsedValue | None:
    """The contents that a JSON Schema asks for, if one begins here."""
    if '"properties"' not in text:
        return None
    try:
        schema, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    is_schema = isinstance(schema, dict) and isinstance(schema.get("properties"), dict)
    return (
        ParsedValue(read_json_schema(schema), end)
        if is_schema and ("type" in schema or "$schema" in schema)
        else None
    )


def _value(text: str, start: int, depth: int) -> ParsedValue:
    if depth > _DEEPEST:
        raise UnreadableSkeleton(f"nested more than {_DEEPEST} deep")
    if text.startswith("{", start):
        return _record(text, start, depth)
    if text.startswith("[", start):
        return _listing(text, start, depth)
    string = _STRING.match(text, start)
    if string and not _CHOICE.match(text, string.end()):
        return ParsedValue(leaf_of(_decoded(string), quoted=True), string.end())
    raw = _RAW.match(text, start)
    if raw is None or not raw[0].strip():
        raise UnreadableSkeleton(f"no value at character {start}")
    written, note = raw[0], ""
    if remark := _JSON_REMARK.search(written):
        written, note = written[: remark.start()], remark[1]
    plain = written.strip().replace('"', "") if string else written.strip()
    return ParsedValue(noted(leaf_of(plain), note), raw.end())


def _record(text: str, start: int, depth: int) -> ParsedValue:
    fields: list[Field] = []
    at, _ = _skipped(text, start + 1)
    while not text.startswith("}", at):
        if ellipsis := _ELLIPSIS.match(text, at):
            at, _ = _after_value(text, ellipsis.end())
            continue
        string = _STRING.match(text, at)
        key = string or _JSON_KEY.match(text, at)
        if key is None:
            raise UnreadableSkeleton(f"no key at character {at}")
        colon = _past_blanks(text, key.end())
        if not text.startswith(":", colon):
            raise UnreadableSkeleton(f"no colon at character {colon}")
        at, _ = _skipped(text, colon + 1)
        read = _value(text, at, depth + 1)
        at, note = _after_value(text, read.end)
        fields.append(Field(_decoded(string) if string else key[0], noted(read.node, note)))
    return ParsedValue(Record(tuple(fields)), at + 1)


def _listing(text: str, start: int, depth: int) -> ParsedValue:
    item: Node | None = None
    records = 0
    at, _ = _skipped(text, start + 1)
    while not text.startswith("]", at):
        if ellipsis := _ELLIPSIS.match(text, at):
            at, _ = _after_value(text, ellipsis.end())
            continue
        read = _value(text, at, depth + 1)
        records += isinstance(read.node, Record)
        if records > _MOST_EXAMPLES:
            raise UnreadableSkeleton("a list of so many objects is data")
        at, note = _after_value(text, read.end)
        node = noted(read.node, note)
        item = node if item is None else merged(item, node)
    return ParsedValue(Listing(ANYTHING if item is None else item), at + 1)


def _after_value(text: str, at: int) -> tuple[int, str]:
    """Return where the next key or value begins, and the remarks on the way there."""
    comma = _COMMA.match(text, at)
    at, before = (at, "") if comma else _skipped(text, at)
    comma = comma or _COMMA.match(text, at)
    if comma:
        at = comma.end()
    at, behind = _skipped(text, at)
    if at == len(text):
        raise UnreadableSkeleton("an object or list without an end")
    return at, f"{before} {behind}"


def _past_blanks(text: str, at: int) -> int:
    blanks = _BLANK.match(text, at)
    assert blanks is not None  # none at all is a match too
    return blanks.end()


def _skipped(text: str, at: int) -> tuple[int, str]:
    """Return where the next thing begins that is neither blank nor comment, and the comments."""
    comments: list[str] = []
    while True:
        at = _past_blanks(text, at)
        comment = _COMMENT.match(text, at)
        if comment is None:
            return at, " ".join(comments)
        comments.append((comment[1] or comment[2] or "").strip())
        at = comment.end()


def _decoded(string: re.Match[str]) -> str:
    if string[1] is None:
        return string[2] or string[3] or ""
    try:
        decoded = json.loads(string[0], strict=False)
    except ValueError:
        return string[1]
    assert isinstance(decoded, str)
    return decoded
