"""XML: attributes stay; comments, sections and the layout within the root are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from evenkeel.experiments.calibrate.degrade.data.tree import Branch, Entry, Leaf, Node
from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError
from evenkeel.metrics.structured.tree import UnreadableError
from evenkeel.metrics.structured.xml import Element, parse_xml

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Root(NamedTuple):
    tag: str
    attributes: dict[str, str]


def read(text: str) -> Branch:
    """The tree of one XML document. Elements with text between their elements count as one value.

    Raises:
        NotDegradableError: "malformed", "entity", "too_deep", or "no_fields": the root has no elements.
    """
    try:
        root = parse_xml(text)
    except UnreadableError as error:
        raise NotDegradableError(error.reason, str(error)) from error
    tree = _node(root)
    if isinstance(tree, Leaf):
        raise NotDegradableError("no_fields", "the document holds a single text")
    return Branch(tree.entries, tree.is_array, _Root(root.tag, root.attributes))


def write(root: Branch, like: str) -> str:
    """The tree as XML, with an element a line if the text had lines; what stood before the root stays."""
    assert isinstance(root.style, _Root)
    start = like.find(f"<{root.style.tag}")
    line = "\n" if "\n" in like[start:].strip() else ""
    return like[:start] + "".join(_written(root.style.tag, root, line, root.style.attributes))


def _node(element: Element) -> Node:
    children = element.elements()
    if not children:
        return Leaf(element.text().strip(), style=element.attributes)
    own = "".join(child for child in element.children if isinstance(child, str))
    if own.strip():
        return Leaf(" ".join(element.text().split()), is_text=False, style=element)
    is_array = len(children) > 1 and len({child.tag for child in children}) == 1
    entries = tuple(Entry(_node(child), child.tag) for child in children)
    return Branch(entries, is_array, element.attributes)


def _written(tag: str, node: Node, line: str, attributes: object) -> Iterator[str]:
    if isinstance(attributes, Element):
        yield from _kept(attributes)
        return
    named = attributes if isinstance(attributes, dict) else {}
    yield f"<{tag}" + "".join(f" {key}={quoteattr(value)}" for key, value in named.items())
    if isinstance(node, Leaf):
        yield f">{escape(node.text)}</{tag}>" if node.text else "/>"
        return
    yield ">"
    inner = line and line + "  "
    for entry in node.entries:
        yield inner
        yield from _written(entry.key or tag, entry.node, inner, entry.node.style)
    yield f"{line}</{tag}>"


def _kept(element: Element) -> Iterator[str]:
    """An element just as it was read."""
    yield f"<{element.tag}" + "".join(
        f" {key}={quoteattr(value)}" for key, value in element.attributes.items()
    )
    yield ">"
    for child in element.children:
        if isinstance(child, str):
            yield escape(child)
        else:
            yield from _kept(child)
    yield f"</{element.tag}>"
