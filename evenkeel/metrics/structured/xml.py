"""XML into a tree, and elements from any text that resembles XML or HTML."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

from evenkeel.metrics.structured.tree import DEEPEST, TEXT_KEY, Tree, UnreadableError, gather, scalar

if TYPE_CHECKING:
    from collections.abc import Iterator


VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
)
"""HTML elements that have no end tag."""

_TABLE_PARTS = frozenset(("tr", "td", "th", "thead", "tbody", "tfoot"))
_BLOCKS = (
    "address article aside blockquote div dl fieldset footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p "
    "pre section table ul"
)
# Open HTML elements that a start tag closes without an end tag, by start tag.
_ENDED_BY: dict[str, frozenset[str]] = {
    "li": frozenset(("li", "p")),
    "dt": frozenset(("dt", "dd", "p")),
    "dd": frozenset(("dt", "dd", "p")),
    "td": frozenset(("td", "th", "p")),
    "th": frozenset(("td", "th", "p")),
    "tr": frozenset(("tr", "td", "th", "p")),
    "thead": _TABLE_PARTS,
    "tbody": _TABLE_PARTS,
    "tfoot": _TABLE_PARTS,
    "option": frozenset(("option",)),
} | {block: frozenset(("p",)) for block in _BLOCKS.split()}
# Elements whose end tag the HTML standard lets authors leave out.
_OPTIONAL_END = frozenset(("li", "dt", "dd", "p", "option", "html", "body", "head")) | _TABLE_PARTS

_TAG = re.compile(
    # Neither names nor quoted values reach beyond the next "<", so no start is read twice.
    r"<(/?)([A-Za-z_][\w:.-]*+)((?>(?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*)|[^<>]*+)>"
)
_ATTRIBUTE = re.compile(r"([\w:.-]++)(?:\s*+=\s*+(\"[^\"]*+\"|'[^']*+'|[^\s\"'>]++))?")
_RAW_END = re.compile(r"</(?:script|style)\s*+>", re.IGNORECASE)
# Their content is no markup: a "<" in it opens nothing.
_RAW = frozenset(("script", "style"))


@dataclass(slots=True)
class Element:
    """Element with its attributes, and its text and elements in order."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def elements(self) -> list[Element]:
        """Children that are elements."""
        children: list[Element] = []
        for child in self.children:
            if isinstance(child, Element):
                children.append(child)
        return children

    def text(self) -> str:
        """Return all text within the element, in order."""
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


class Soup(NamedTuple):
    """Tree that was read from a text that resembles markup, and the repairs it took."""

    root: Element
    """Root: an element without a tag that holds everything."""
    repairs: int
    """Number of end tags that were missing or had no start, and of pieces that had to be dropped."""


def parse_xml(text: str) -> Element:
    """Return the root element of a well-formed XML document.

    Raises:
        UnreadableError: "malformed"; "entity" if the document declares one (neither bombs nor
            files can be read that way, and answers need none); "too_deep" beyond `DEEPEST` levels.
    """
    parser = expat.ParserCreate(encoding="utf-8")
    top = Element("")
    stack = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > DEEPEST:
            raise UnreadableError("too_deep")
        element = Element(tag, attributes)
        stack[-1].children.append(element)
        stack.append(element)

    def end(_tag: str) -> None:
        stack.pop()

    def characters(data: str) -> None:
        stack[-1].children.append(data)

    def entity(*_: object) -> None:
        raise UnreadableError("entity", "the document declares an entity")

    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        raise UnreadableError("malformed", str(error)) from error
    return top.elements()[0]


def parse_soup(text: str, *, is_html: bool) -> Soup:
    """Read tags as far as they make sense; one pass, nothing is declared, fetched or expanded.

    End tags that HTML lets out are no repairs. Comments, declarations and processing instructions
    are dropped, also the contents of scripts and styles in HTML. Character references are resolved.

    Raises:
        UnreadableError: "too_deep" beyond `DEEPEST` levels.
    """
    builder = _Builder(is_html=is_html)
    position, last_end = 0, text.rfind(">")
    while (opening := text.find("<", position)) >= 0:
        builder.add_text(text[position:opening])
        after = _skip_declaration(text, opening, builder)
        if after is None:
            tag = _TAG.match(text, opening)
            if (
                tag is None
                and opening > last_end
                and text[opening + 1 : opening + 3].lstrip("/")[:1].isalpha()
            ):
                # The text was cut within a tag.
                builder.repairs += 1
                return builder.finish()
            after = tag.end() if tag else opening + 1
            if tag is None:
                builder.add_text("<")
            elif builder.add_tag(tag):
                raw_end = _RAW_END.search(text, after)
                after = raw_end.end() if raw_end else len(text)
        position = after
    builder.add_text(text[position:])
    return builder.finish()


def _skip_declaration(text: str, at: int, builder: _Builder) -> int | None:
    """Skip a comment, CDATA section, declaration or instruction at `at`.

    Returns: the position behind it; None if there is none.
    """
    for opener, closer in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<!", ">"), ("<?", ">")):
        if text.startswith(opener, at):
            begin = at + len(opener)
            end = text.find(closer, begin)
            if end < 0:
                builder.repairs += 1
                end = len(text)
            if opener == "<![CDATA[":
                builder.add_text(html.escape(text[begin:end]))
            return end + len(closer)
    return None


class _Builder:
    """Elements that are open."""

    def __init__(self, *, is_html: bool) -> None:
        self._is_html = is_html
        self._stack = [Element("")]
        self.repairs = 0

    def add_text(self, text: str) -> None:
        if text:
            self._stack[-1].children.append(html.unescape(text) if "&" in text else text)

    def add_tag(self, match: re.Match[str]) -> bool:
        """Open or close an element. Return whether raw text follows, which is to be skipped."""
        name = match[2].lower() if self._is_html else match[2]
        if match[1]:
            self._end(name)
            return False
        if self._is_html:
            ended = _ENDED_BY.get(name, frozenset())
            while self._stack[-1].tag in ended:
                self._stack.pop()
        element = Element(name, _attributes(match[3]))
        self._stack[-1].children.append(element)
        if match[3].endswith("/") or (self._is_html and name in VOID):
            return False
        if self._is_html and name in _RAW:
            return True
        if len(self._stack) > DEEPEST:
            raise UnreadableError("too_deep")
        self._stack.append(element)
        return False

    def finish(self) -> Soup:
        self.repairs += sum(not self._may_stay_open(element) for element in self._stack[1:])
        return Soup(self._stack[0], self.repairs)

    def _end(self, name: str) -> None:
        if all(element.tag != name for element in self._stack[1:]):
            # A line break written as an end tag is common and harmless; the rest has no start.
            self.repairs += 1
            return
        while (element := self._stack.pop()).tag != name:
            self.repairs += not self._may_stay_open(element)

    def _may_stay_open(self, element: Element) -> bool:
        return self._is_html and element.tag in _OPTIONAL_END


def _attributes(text: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text.removesuffix("/")):
        attributes[match[1].lower()] = html.unescape((match[2] or "").strip("\"'"))
    return attributes


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
    fields: list[tuple[str | None, Tree]] = []
    for name, value in element.attributes.items():
        if not name.startswith("xmlns"):
            fields.append((name, scalar(value)))
    children = element.elements()
    own_text = "".join(child for child in element.children if isinstance(child, str))
    if own_text.strip():
        # Marks within a sentence do not make it a record.
        text = scalar(" ".join(" ".join(_texts(element)).split()))
        return gather([*fields, (TEXT_KEY, text)]) if fields else text
    if not fields and len(children) > 1 and len({child.tag for child in children}) == 1:
        return tuple(map(_tree, children))
    fields += [(child.tag, _tree(child)) for child in children]
    return gather(fields) if fields else ""
