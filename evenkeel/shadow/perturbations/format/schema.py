"""Required content of an answer, independent of its format: fields, lists and values.

Read from a JSON Schema or from the other members of a request that bind the answer to a format; `skeletons`
reads it from the words of a prompt.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenkeel.shadow.prompt import PromptView


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
# Choice of values in a skeleton: "low | medium | high".
_CHOICES: Final = re.compile(
    r"[^|]{1,60}(?:\s*\|\s*[^|]{1,60})+|\w[\w -]{0,30}(?:/\w[\w -]{0,30}){1,8}|\w+ or \w+"
)
_SPACES: Final = re.compile(r"\s+")


class UnreadableSkeleton(ValueError):  # noqa: N818 - named as the outcome it is
    """A text that can't be read as a skeleton of the format it seems to have."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A single value."""

    text: str
    """Description of the value in a skeleton, without brackets or quotation marks."""
    form: Literal["hint", "literal", "bare"] = "hint"
    """Kind of value: a description of the content, an example as text, or a bare number, true, false or
    null."""

    @property
    def is_number(self) -> bool:
        """Return whether the value is a number or truth value, which is written without quotation marks."""
        return self.form == "bare" or (self.form == "hint" and _NUMERIC.match(self.text) is not None)


@dataclass(frozen=True, slots=True)
class Field:
    """Field of a record."""

    name: str
    value: Node


@dataclass(frozen=True, slots=True)
class Record:
    """Record: named parts, in order."""

    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """List of any number of items of one shape."""

    item: Node


Node: TypeAlias = Leaf | Record | Listing

ANYTHING: Final = Leaf("…")


def leaf_of(written: str, *, quoted: bool = False) -> Node:
    """Return the content that a value in a skeleton stands for.

    Args:
        written: The value without quotation marks.
        quoted: Whether it had them.

    Returns: a leaf; a list for hints such as "<list[string]>".
    """
    text = _SPACES.sub(" ", written).strip()
    bracketed = _BRACKETED.fullmatch(text)
    inner = (
        next((group for group in bracketed.groups() if group is not None), "").strip() if bracketed else text
    )
    if not inner:
        return ANYTHING
    if bracketed or _TYPE_WORD.fullmatch(inner) or not quoted:
        many = _MANY.fullmatch(inner)
        if many:
            return Listing(leaf_of(next((group for group in many.groups() if group), "string")))
        if not bracketed and not quoted and _BARE.fullmatch(inner):
            return Leaf(inner, "bare")
        return Leaf(inner)
    return Leaf(text, "hint" if _CHOICES.fullmatch(text) else "literal")


def noted(node: Node, note: str) -> Node:
    """Return the content with a remark on its (first) value."""
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
    """Return one item that combines two examples of an item."""
    match first, other:
        case Record(), Record():
            names = {field.name for field in first.fields}
            return Record((*first.fields, *(field for field in other.fields if field.name not in names)))
        case Leaf(text=text), Leaf(text=further) if further not in (text, ANYTHING.text, "..."):
            return Leaf(f"{text} | {further}")
        case _:
            return first


def names_in(node: Node) -> Iterator[str]:
    """Yield the names of all fields, in order, repeated ones included."""
    match node:
        case Record(fields=fields):
            for field in fields:
                yield field.name
                yield from names_in(field.value)
        case Listing(item=item):
            yield from names_in(item)
        case _:
            return


# Deeper schemas refer to themselves.
_DEEPEST = 12
_NO_SCHEMA: Final[Mapping[str, Any]] = {}


def read_json_schema(schema: Any) -> Node:
    """Return the contents that a JSON Schema asks for; hints are its descriptions, choices and types.

    References into the schema itself are followed; what can't be read is any value.
    """
    return _node(schema, schema if isinstance(schema, dict) else _NO_SCHEMA, 0)


def _node(schema: Any, root: Mapping[str, Any], depth: int) -> Node:
    if depth > _DEEPEST or not isinstance(schema, dict):
        return ANYTHING
    if isinstance(schema.get("$ref"), str):
        return _node(_referred(schema["$ref"], root), root, depth + 1)
    choices = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if isinstance(choices, list) and choices:
        # "or null" is how optional values are written; of others the first stands for all
        first = next(
            (choice for choice in choices if isinstance(choice, dict) and choice.get("type") != "null"), None
        )
        described = (
            {**first, "description": schema["description"]} if first and "description" in schema else first
        )
        return _node(described, root, depth + 1)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        return Record(
            tuple(Field(name, _node(schema, root, depth + 1)) for name, schema in properties.items())
        )
    if "items" in schema or schema.get("type") == "array":
        return Listing(_node(schema.get("items"), root, depth + 1))
    return _leaf(schema)


def _leaf(schema: Mapping[str, Any]) -> Leaf:
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((item for item in kind if item != "null"), None)
    named = kind if isinstance(kind, str) else ""
    if isinstance(values, list) and values:
        named = " | ".join(str(value) for value in values)
    description = schema.get("description")
    described = " ".join(description.split()) if isinstance(description, str) else ""
    return Leaf(": ".join(part for part in (named, described) if part) or ANYTHING.text)


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    schema: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if step:
            schema = (
                schema.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(schema, dict) else None
            )
    return schema


_SCHEMAS: Final = ("guided_json",)
# Members by which inference servers constrain the format.
_GRAMMARS: Final = (
    "guided_regex",
    "guided_grammar",
    "guided_choice",
    "guided_decoding_backend",
    "structured_outputs",
    "grammar",
    "json_schema",
)
# Members that hold a format among other things: `text` of the Responses API, `output_config` of Anthropic's.
_NESTED: Final = ("text", "output_config")
_PLAIN: Final = ("response_format", "output_format")
# Value that asks for JSON of any structure. Two of these members accept it: `response_format` and
# `text.format`.
_JSON_OBJECT: Final = {"type": "json_object"}


@dataclass(frozen=True, slots=True)
class Constraint:
    """Constraint that the members of a request put on its answer."""

    is_json: bool = False
    node: Node | None = None
    """Content that a JSON Schema requires."""
    removed: Mapping[str, str | None] = field(default_factory=dict)
    """Changes that lift the constraint, for `PromptView.with_members`."""
    any_json: Mapping[str, str | None] = field(default_factory=dict)
    """Changes that still demand JSON, but of any structure."""


def constraint_of(view: PromptView) -> Constraint:
    """Return the format constraints that a request's members put on its answer, with its JSON Schema read."""
    is_json = False
    node: Node | None = None
    removed: dict[str, str | None] = {}
    any_json: dict[str, str | None] = {}
    for key in (*_PLAIN, *_NESTED):
        member = view.get(key)
        if not isinstance(member, dict):
            continue
        wanted = member.get("format") if key in _NESTED else member
        kind = wanted.get("type") if isinstance(wanted, dict) else None
        if kind is None or kind == "text":
            continue
        rest = {name: value for name, value in member.items() if name != "format"} if key in _NESTED else {}
        removed[key] = any_json[key] = _written(rest) if rest else None
        if kind in ("json_object", "json_schema"):
            is_json = True
            node = node or _schema_of(wanted)
            if key == "response_format":
                any_json[key] = _written(_JSON_OBJECT)
            elif key == "text":
                any_json[key] = _written({**member, "format": _JSON_OBJECT})
    for key in (*_SCHEMAS, *_GRAMMARS):
        member = view.get(key)
        if member is None:
            continue
        removed[key] = any_json[key] = None
        if key in _SCHEMAS:
            is_json = True
            node = node or read_json_schema(_decoded(member))
    return Constraint(is_json, node, removed, any_json)


def forces_tools(view: PromptView) -> bool:
    """Return whether the request makes the model call a tool, so that it writes no answer."""
    choice = view.get("tool_choice")
    if choice is None:
        choice = view.get("function_call")
    if isinstance(choice, dict):
        kind = choice.get("type")
        mode = choice.get("mode") or (choice.get("allowed_tools") or {}).get("mode")
        return kind not in ("auto", "none") and not (kind == "allowed_tools" and mode != "required")
    return choice in ("required", "any")


def _schema_of(wanted: Any) -> Node | None:
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        return None
    inner = wanted.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, dict) else wanted.get("schema")
    return read_json_schema(schema) if isinstance(schema, dict) else None


def _decoded(member: Any) -> Any:
    if not isinstance(member, str):
        return member
    try:
        return json.loads(member)
    except ValueError:
        return None


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
