"""Answers in XML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final
from xml.sax.saxutils import escape

from evenkeel.shadow.perturbations.format.form import Form
from evenkeel.shadow.perturbations.format.schema import Field, Leaf, Listing, Node, Record
from evenkeel.shadow.perturbations.format.words import Words

if TYPE_CHECKING:
    from evenkeel.core.pair import Format

_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]+")
_NAME_START: Final = re.compile(r"[^\W\d]")


class Xml(Form):
    """Asks for the answer in XML instead of the format that the prompt asks for.

    Fields become elements of their names, with underscores where a name holds what no element's can.
    """

    name: ClassVar[str] = "format.xml"
    format: ClassVar[Format] = "xml"
    words: ClassVar[Words] = Words("XML", "an", "XML document", "XML list", "XML element names", "XML")
    request: ClassVar[str] = "Write your whole answer as one well-formed XML document."

    def render(self, node: Node) -> str:
        """The structure as elements in one element "response", placeholders in square brackets."""
        return "\n".join(_element("response", node))


def _element(name: str, node: Node) -> list[str]:
    match node:
        case Leaf():
            return [f"<{name}>{_leaf(node)}</{name}>"]
        case Record(fields=fields):
            inner = [line for one in fields for line in _element(element_name(one), one.value)]
        case Listing(item=item):
            inner = _element("item", item)
    return [f"<{name}>", *(f"  {line}" for line in inner), f"</{name}>"]


def element_name(field: Field) -> str:
    """The field's name, as XML allows it."""
    name = _NOT_IN_NAMES.sub("_", field.name).strip("_") or "field"
    return name if _NAME_START.match(name) else f"_{name}"


def _leaf(leaf: Leaf) -> str:
    return escape(f"[{leaf.text}]" if leaf.form == "hint" else leaf.text)
