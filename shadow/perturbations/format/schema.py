"""What an answer must hold, whatever it is written in: fields, lists and values."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

_BRACKETED: Final = re.compile(r"<([^<>]*(?:<[^<>]*>[^<>]*)*)>|\[([^\[\]]*)\]|\{\{?([^{}]*)\}?\}", re.DOTALL)
_TYPE_WORD: Final = re.compile(
    r"(?:string|str|text|number|numeric|integer|int|float|double|boolean|bool|date|datetime|any|object)s?"
    r"|\.{3}|…",
    re.IGNORECASE,
)
_BARE: Final = re.compile(r"-?\d+(?:\.\d+)?|true|false|null", re.IGNORECASE)
_NUMERIC: Final = re.compile(r"(?:number|integer|int|float|double|boolean|bool)\b", re.IGNORECASE)
_MANY: Final = re.compile(
    r"(?:list|array)(?:\s*\[(.*)\]|\s*<(.*)>|\s+of\s+(.*))?|(.+)\[\]", re.IGNORECASE | re.DOTALL
)
_SPACES: Final = re.compile(r"\s+")


class UnreadableSkeleton(ValueError):  # noqa: N818 - named as the outcome it is
    """A text that can't be read as a skeleton of the format it seems to have."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A single value."""

    text: str
    """What a skeleton says of it, without brackets or quotation marks."""
    form: Literal["hint", "literal", "bare"] = "hint"
    """A hint at what belongs there; an example as text; or an example as number, true, false or null."""

    @property
    def is_number(self) -> bool:
        """Whether a number or truth value belongs there, which is written without quotation marks."""
        return self.form == "bare" or (self.form == "hint" and _NUMERIC.match(self.text) is not None)


@dataclass(frozen=True, slots=True)
class Field:
    """A named part."""

    name: str
    value: Node


@dataclass(frozen=True, slots=True)
class Record:
    """Named parts, in order."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """Any number of one thing."""

    item: Node


Node: TypeAlias = Leaf | Record | Listing

ANYTHING: Final = Leaf("…")


def leaf_of(written: str, *, quoted: bool = False) -> Node:
    """What a value in a skeleton stands for.

    Args:
        written: The value without quotation marks.
        quoted: Whether it had them.

    Returns: a leaf; a list for hints such as "<list[string]>".
    """
    text = _SPACES.sub(" ", written).strip()
    bracketed = _BRACKETED.fullmatch(text)
    inner = next((one for one in bracketed.groups() if one is not None), "").strip() if bracketed else text
    if not inner:
        return ANYTHING
    if bracketed or _TYPE_WORD.fullmatch(inner) or not quoted:
        many = _MANY.fullmatch(inner)
        if many:
            return Listing(leaf_of(next((one for one in many.groups() if one), "string")))
        if not bracketed and not quoted and _BARE.fullmatch(inner):
            return Leaf(inner, "bare")
        return Leaf(inner)
    return Leaf(text, "literal")


def noted(node: Node, note: str) -> Node:
    """The same with a remark put beside its (first) value."""
    note = _SPACES.sub(" ", note).strip()
    if not note:
        return node
    match node:
        case Leaf(text=text):
            return Leaf(f"{text}: {note}")
        case Listing(item=item):
            return Listing(noted(item, note))
        case Record(fields=(first, *others)):
            return Record((replace(first, value=noted(first.value, note)), *others))
        case _:
            return node


def merged(first: Node, other: Node) -> Node:
    """One item for two examples of it."""
    match first, other:
        case Record(), Record():
            known = {field.name for field in first.fields}
            return Record((*first.fields, *(one for one in other.fields if one.name not in known)))
        case Leaf(text=text), Leaf(text=further) if further not in (text, ANYTHING.text, "..."):
            return Leaf(f"{text} | {further}")
        case _:
            return first


def names_in(node: Node) -> Iterator[str]:
    """The names of all fields, in order, repeated ones included."""
    match node:
        case Record(fields=fields):
            for field in fields:
                yield field.name
                yield from names_in(field.value)
        case Listing(item=item):
            yield from names_in(item)
        case _:
            return
