"""Skeletons in XML, as people write them: with placeholders in angle brackets between the tags."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.perturbations.format.schema import (
    Field,
    Leaf,
    Listing,
    Record,
    UnreadableSkeleton,
    leaf_of,
    merged,
    noted,
)

if TYPE_CHECKING:
    from evenkeel.shadow.perturbations.format.schema import Node

_TAG: Final = re.compile(
    r"<!--(?P<comment>.*?)-->|<\?[^<>]*\?>|<!\[CDATA\[(?P<raw>.*?)\]\]>"
    r"|<(?P<close>/)?(?P<name>[A-Za-z_][\w.:-]*)(?P<attributes>(?:\s[^<>]*?)?)(?P<empty>/)?>",
    re.DOTALL,
)
_ATTRIBUTE: Final = re.compile(r"([\w.:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_WRAPPERS: Final = frozenset({"response", "answer", "output", "result", "root", "document", "data", "xml"})
_ITEMS: Final = frozenset({"item", "li", "entry", "element"})


@dataclass(slots=True)
class _Element:
    name: str
    attributes: str = ""
    text: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    children: list[_Element] = field(default_factory=list)


def read_xml(text: str) -> Node:
    """The contents that a skeleton in XML asks for.

    An outermost element that only wraps the answer ("response", "answer" …) names nothing of it.

    Raises: UnreadableSkeleton if it is not one, or text stands around its elements.
    """
    root = _parsed(text)
    if not root.children or "".join(root.text).strip():
        raise UnreadableSkeleton("text around the elements" if root.children else "no element")
    if (
        len(root.children) == 1
        and root.children[0].name.casefold() in _WRAPPERS
        and root.children[0].children
    ):
        root = root.children[0]
    return _node(root)


def _parsed(text: str) -> _Element:
    closing = {match["name"] for match in _TAG.finditer(text) if match["close"]}
    root = _Element("")
    path = [root]
    done = 0
    for match in _TAG.finditer(text):
        path[-1].text.append(text[done : match.start()])
        done = match.end()
        name = match["name"]
        if name is None:
            path[-1].notes.append(match["comment"] or "")
            path[-1].text.append(match["raw"] or "")
        elif match["close"]:
            if path[-1].name != name:
                raise UnreadableSkeleton(f"</{name}> closes nothing")
            path.pop()
        elif match["empty"]:
            path[-1].children.append(_Element(name, match["attributes"]))
        elif name in closing:
            path[-1].children.append(element := _Element(name, match["attributes"]))
            path.append(element)
        else:
            # Nothing closes it: a placeholder
            path[-1].text.append(match[0])
    path[-1].text.append(text[done:])
    if len(path) > 1:
        raise UnreadableSkeleton(f"<{path[-1].name}> has no end")
    return root


def _node(element: _Element) -> Node:
    attributes = [
        Field(name, leaf_of(first or second, quoted=True))
        for name, first, second in _ATTRIBUTE.findall(element.attributes)
    ]
    own = leaf_of(" ".join(element.text), quoted=True)
    if not element.children:
        leaf = noted(own, " ".join(element.notes))
        if not attributes:
            return leaf
        return Record((*attributes, Field("text", leaf)))
    found: dict[str, Node] = {}
    repeated: set[str] = set()
    for child in element.children:
        if child.name in found:
            repeated.add(child.name)
            found[child.name] = merged(found[child.name], _node(child))
        else:
            found[child.name] = _node(child)
    only = next(iter(found))
    # One kind of child named as a list's parts are: <events><event>, <li>, or given several times
    is_list = len(found) == 1 and (
        only in repeated or only in _ITEMS or element.name.rstrip("s") in (only, only.rstrip("s"))
    )
    node: Node
    if is_list and not attributes:
        node = Listing(found[only])
    else:
        node = Record(
            (
                *attributes,
                *(Field(name, Listing(one) if name in repeated else one) for name, one in found.items()),
            )
        )
    return noted(node, own.text) if isinstance(own, Leaf) and "".join(element.text).strip() else node
