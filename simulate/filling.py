"""Answers that follow a JSON schema, as a request with structured output demands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEEPEST: Final = 12
"""Levels of nesting that are filled; below, recursive schemas would never end."""


def fill(schema: dict[str, Any], values: Mapping[str, object], otherwise: str) -> str:
    """A JSON text that follows a schema.

    Args:
        schema: JSON schema; `$ref` into itself is followed, of alternatives the first is taken.
        values: What is known, by name: a property takes the value of its own name, or of the longest
            name that is a part of its own.
        otherwise: For texts of no known name.
    """
    return json.dumps(
        _value(schema, "", _Filling(schema, values, otherwise), 0), ensure_ascii=False, indent=2
    )


class _Filling:
    def __init__(self, root: dict[str, Any], values: Mapping[str, object], otherwise: str) -> None:
        self._root = root
        self._values = sorted(values.items(), key=lambda entry: -len(entry[0]))
        self._otherwise = otherwise

    def resolve(self, schema: object) -> dict[str, Any]:
        """The schema itself, behind references and alternatives."""
        for _ in range(_DEEPEST):
            if not isinstance(schema, dict):
                return {}
            reference = schema.get("$ref")
            choices = next(
                (
                    found
                    for name in ("anyOf", "oneOf", "allOf")
                    if isinstance(found := schema.get(name), list) and found
                ),
                None,
            )
            if isinstance(reference, str) and reference.startswith("#"):
                schema = self._follow(reference)
            elif choices is not None:
                schema = choices[0]
            else:
                return schema
        return {}

    def known(self, name: str) -> object:
        """The value for a property, None if nothing is known."""
        lowered = name.lower()
        return next((value for part, value in self._values if part in lowered), None)

    def text(self, name: str) -> str:
        """The text for a property."""
        value = self.known(name)
        if isinstance(value, tuple):
            return ", ".join(map(str, value))
        return self._otherwise if value is None else str(value)

    def _follow(self, reference: str) -> object:
        found: object = self._root
        for step in reference.lstrip("#/").split("/"):
            if step:
                found = found.get(step) if isinstance(found, dict) else None
        return found


def _value(raw: object, name: str, filling: _Filling, depth: int) -> object:
    schema = filling.resolve(raw)
    if "const" in schema:
        return schema["const"]
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return next((choice for choice in choices if str(choice) == filling.text(name)), choices[0])
    match _kind(schema):
        case "object":
            properties = schema.get("properties")
            named = properties.items() if isinstance(properties, dict) and depth < _DEEPEST else ()
            return {key: _value(sub, key, filling, depth + 1) for key, sub in named}
        case "array":
            known = filling.known(name)
            if isinstance(known, tuple):
                return list(known)
            return [_value(schema.get("items"), name, filling, depth + 1)] if depth < _DEEPEST else []
        case kind:
            return _scalar(kind, name, filling)


def _kind(schema: dict[str, Any]) -> object:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    return "object" if kind is None and isinstance(schema.get("properties"), dict) else kind


def _scalar(kind: object, name: str, filling: _Filling) -> object:
    known = filling.known(name)
    match kind:
        case "integer" | "number":
            return int(str(known)) if str(known).isdecimal() else 0
        case "boolean":
            return bool(known)
        case "null":
            return None
        case _:
            return filling.text(name)
