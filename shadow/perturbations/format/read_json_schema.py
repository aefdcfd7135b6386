"""JSON Schemas, as `response_format` carries them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.perturbations.format.schema import ANYTHING, Field, Leaf, Listing, Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.shadow.perturbations.format.schema import Node

_DEEPEST = 12
_NO_SCHEMA: Final[Mapping[str, Any]] = {}


def read_json_schema(schema: Any) -> Node:
    """The contents that a JSON Schema asks for; hints are its descriptions, choices and types.

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
        first = next((one for one in choices if isinstance(one, dict) and one.get("type") != "null"), None)
        described = (
            {**first, "description": schema["description"]} if first and "description" in schema else first
        )
        return _node(described, root, depth + 1)
    properties = schema.get("properties")
    if isinstance(properties, dict):
        return Record(tuple(Field(name, _node(one, root, depth + 1)) for name, one in properties.items()))
    if "items" in schema or schema.get("type") == "array":
        return Listing(_node(schema.get("items"), root, depth + 1))
    return _leaf(schema)


def _leaf(schema: Mapping[str, Any]) -> Leaf:
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), None)
    named = kind if isinstance(kind, str) else ""
    if isinstance(values, list) and values:
        named = " | ".join(str(one) for one in values)
    description = schema.get("description")
    told = " ".join(description.split()) if isinstance(description, str) else ""
    return Leaf(": ".join(part for part in (named, told) if part) or ANYTHING.text)


def _referred(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if step:
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found
