"""XML into a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.metrics.structured.markup import Element, parse_soup, parse_xml
from evenkeel.metrics.structured.tree import TEXT_KEY, Tree, UnreadableError, gather, scalar

if TYPE_CHECKING:
    from collections.abc import Iterator


def read_xml(text: str) -> Tree:
    """Read a text that is one well-formed XML document.

    The root's name is dropped, as other formats have none. Attributes and child elements are
    fields; elements that only repeat one tag are a sequence; an element with nothing but text is a
    scalar, and so is one whose text stands between its elements.

    Raises:
        UnreadableError: "malformed", "entity" or "too_deep", see `parse_xml`.
    """
    return _tree(parse_xml(text))


def repair_xml(text: str) -> Tree:
    """Read XML with unclosed, crossed or cut tags, bare "&" and "<", or several roots.

    Raises:
        UnreadableError: "malformed" if there is no element, or "too_deep".
    """
    root = parse_soup(text, is_html=False).root
    roots = root.elements()
    if not roots:
        raise UnreadableError("malformed", "no element")
    # Text around a lone root is somebody talking about it.
    return _tree(roots[0]) if len(roots) == 1 else _tree(Element("", {}, list(roots)))


def _texts(element: Element) -> Iterator[str]:
    for child in element.children:
        if isinstance(child, str):
            yield child
        else:
            yield from _texts(child)


def _tree(element: Element) -> Tree:
    fields: list[tuple[str | None, Tree]] = [
        (name, scalar(value)) for name, value in element.attributes.items() if not name.startswith("xmlns")
    ]
    children = element.elements()
    own_text = "".join(child for child in element.children if isinstance(child, str))
    if own_text.strip():
        # Marks within a sentence do not make it a record.
        text = scalar(" ".join(" ".join(_texts(element)).split()))
        return gather([*fields, (TEXT_KEY, text)]) if fields else text
    if not fields and len(children) > 1 and len({child.tag for child in children}) == 1:
        return tuple(_tree(child) for child in children)
    fields += [(child.tag, _tree(child)) for child in children]
    return gather(fields) if fields else ""
