"""Which slots may be filled, and which of them have a fixed choice of values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from evenkeel.metrics.structured.fences import fences
from evenkeel.metrics.structured.json_reader import find_json
from evenkeel.metrics.structured.reading import read_structure
from evenkeel.metrics.structured.tree import Tree, UnreadableError

Schema = Mapping[str, frozenset[str]]
"""Slot names with their choices; the empty set for free text."""

_NAME_KEYS = ("name", "entity", "slot", "key", "field")
_CHOICE_KEYS = ("choices", "enum", "options", "values", "allowed_values")
_SHAPE_KEYS = frozenset(("type", "description", *_CHOICE_KEYS))
_LINE = re.compile(
    # name (choice [a, b]: what it is), one or several in a line
    r"(?<!\w)([A-Za-z_][\w.-]{0,60}) ?\((?:choice|enum|string|number|boolean|integer|date|other)"
    r" ?(?:\[([^\]\n]{0,500})\])? ?[:)]",
    re.IGNORECASE,
)
_MOST_CHARACTERS = 200_000


@lru_cache(maxsize=256)
def read_schema(context: str) -> Schema:
    """Find the schema of entities in a prompt. Cached: a prompt is read once for all its variants.

    Understood are JSON and YAML, fenced or as the longest object in the text: a list of records
    with a name, the `properties` of a JSON schema, or a mapping from names to records with a type,
    a description or choices; and lines of the form `name (choice [a, b]: description)`.

    Returns: the slots by name; empty if nothing like a schema is found. A prompt's first 200,000
        characters are read.
    """
    text = context[:_MOST_CHARACTERS]
    for tree in _trees(text):
        schema = _schema(tree)
        if schema:
            return schema
    return {
        found[1]: frozenset(choice.strip(" \"'") for choice in (found[2] or "").split(",") if choice.strip())
        for found in _LINE.finditer(text)
    }


def _trees(text: str) -> Iterator[Tree]:
    for fence in fences(text):
        found = read_structure(fence.text)
        if found is not None and not isinstance(found, UnreadableError):
            yield found.tree
    try:
        excerpt = find_json(text)
    except UnreadableError:
        return
    if excerpt:
        yield excerpt.tree


def _schema(tree: Tree) -> dict[str, frozenset[str]]:
    """The slots of a tree, or of the first branch of it that has any."""
    if isinstance(tree, str):
        return {}
    if isinstance(tree, tuple):
        named = [(_name(item), item) for item in tree if isinstance(item, dict)]
        slots = {name: _choices(item) for name, item in named if name and _SHAPE_KEYS.intersection(item)}
        if slots:
            return slots
        return next((found for item in tree if (found := _schema(item))), {})
    slots = {
        name: _choices(item)
        for name, item in tree.items()
        if isinstance(item, dict) and _SHAPE_KEYS.intersection(item) and "properties" not in item
    }
    properties = tree.get("properties")
    if isinstance(properties, dict) and (nested := _schema(properties)):
        return nested
    return slots or next((found for item in tree.values() if (found := _schema(item))), {})


def _name(item: Mapping[str, Tree]) -> str | None:
    found = next((item[key] for key in _NAME_KEYS if key in item), None)
    return found if isinstance(found, str) and found else None


def _choices(item: Mapping[str, Tree]) -> frozenset[str]:
    found = next((item[key] for key in _CHOICE_KEYS if key in item), ())
    if isinstance(found, str):
        found = tuple(choice.strip() for choice in found.split(",")) if found else ()
    return frozenset(choice for choice in found if isinstance(choice, str))
