"""Answers in JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from evenkeel.shadow.perturbations.format.form import Form
from evenkeel.shadow.perturbations.format.schema import Leaf, Listing, Node, Record
from evenkeel.shadow.perturbations.format.words import Words

if TYPE_CHECKING:
    from evenkeel.core.pair import Format


class Json(Form):
    """Asks for the answer in JSON instead of the format that the prompt asks for.

    A JSON Schema in the request becomes the demand for any JSON object.
    """

    name: ClassVar[str] = "format.json"
    format: ClassVar[Format] = "json"
    words: ClassVar[Words] = Words("JSON", "a", "JSON object", "JSON array", "JSON keys", "JSON")
    request: ClassVar[str] = "Write your whole answer as one valid JSON object."

    def render(self, node: Node) -> str:
        """The structure as JSON with placeholders in quotation marks, indented by two."""
        return _value(node, "")


def _value(node: Node, indent: str) -> str:
    inner = indent + "  "
    match node:
        case Record(fields=()):
            return "{}"
        case Record(fields=fields):
            lines = [f"{inner}{_quoted(one.name)}: {_value(one.value, inner)}" for one in fields]
            return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
        case Listing(item=Leaf() as leaf):
            return f"[{_leaf(leaf)}]"
        case Listing(item=item):
            return f"[\n{inner}{_value(item, inner)}\n{indent}]"
        case Leaf():
            return _leaf(node)


def _leaf(leaf: Leaf) -> str:
    if leaf.form == "bare":
        return leaf.text
    if leaf.form == "literal":
        return _quoted(leaf.text)
    return f"<{leaf.text}>" if leaf.is_number else _quoted(f"<{leaf.text}>")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
