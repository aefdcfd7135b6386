"""HTML and Markdown into a tree: headings, lists, tables and "Key: value" lines become fields and sequences.

Markdown is read by way of HTML: what looks alike to a reader is alike.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from markdown_it import MarkdownIt

from evenkeel.metrics.structured.tree import Tree, UnreadableError, gather, scalar
from evenkeel.metrics.structured.xml import Element, parse_soup

_TAG_NAMES = """
a article b blockquote body br code dd div dl dt em footer form h1 h2 h3 h4 h5 h6 head header hr
html i img input label li main nav ol p pre script section small span strong style sub sup table
tbody td tfoot th thead title tr u ul
"""
TAGS = frozenset(_TAG_NAMES.split())
"""Names of HTML elements, by which HTML is told from XML."""

MARKS = frozenset(("a", "b", "br", "code", "em", "i", "small", "span", "strong", "sub", "sup", "u"))
"""Names of elements that stand within a sentence."""

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
# Not part of what a reader sees.
_DROPPED = frozenset(("head", "title", "script", "style", "nav"))
_FLOW_NAMES = """
article aside blockquote body div fieldset footer form header html main p section table ul ol dl pre
h1 h2 h3 h4 h5 h6 hr
"""
_FLOW = frozenset(_FLOW_NAMES.split())
# Private characters stand around bold text, so that a bold key is seen where its line is read.
_BOLD, _END_BOLD = "\ue000", "\ue001"
_MARKS = str.maketrans("", "", _BOLD + _END_BOLD)
_BOLD_KEY = re.compile(rf"{_BOLD}([^{_END_BOLD}]{{1,60}}){_END_BOLD}(.*)", re.DOTALL)
_PLAIN_KEY = re.compile(r"([^\W\d_][\w/()' -]{0,40}):(?:\s+(.*)|$)", re.DOTALL)
# A longer phrase before a colon is a sentence.
_MOST_KEY_WORDS = 5
# Heads of a first column that make a table of two columns a mapping.
_KEY_HEADS = frozenset(("key", "field", "property", "attribute", "parameter", "item", "entry"))


class _Block(NamedTuple):
    """Block of a document, in reading order."""

    key: str | None
    """Key of a field, or the text of a heading."""
    value: Tree | None
    """Value of the block.

    None if it follows: up to the next heading for a heading, the next block for a key.
    """
    level: int = 0
    """Level of a heading, 1 to 6; 0 for other blocks."""


def read_html(text: str) -> Tree:
    """Read HTML whose tags are balanced and known.

    Headings are fields that hold what follows up to the next heading of their level; a lone
    heading around everything is a title and dropped. Lists are sequences, or mappings where each
    item is "Key: value"; tables are sequences of records, or mappings where the first column is
    headed "Key", "Field" or the like. Other text is scalars, one for each line or paragraph. A
    link's address stands behind its text.

    Raises:
        UnreadableError: "malformed" if there is no HTML element, or if one that needs an end tag
            has none or the other way round; "too_deep".
    """
    soup = parse_soup(text, is_html=True)
    if soup.repairs:
        raise UnreadableError("malformed", f"{soup.repairs} tags without their counterpart")
    return _document(soup.root)


def repair_html(text: str) -> Tree:
    """Read HTML whatever its tags are like.

    Raises:
        UnreadableError: "malformed" if there is no HTML element, or "too_deep".
    """
    return _document(parse_soup(text, is_html=True).root)


def _document(root: Element) -> Tree:
    if not _holds(root, TAGS):
        raise UnreadableError("malformed", "no HTML element")
    blocks = _blocks(root)
    tree = _sections(blocks)
    titled = len(blocks) > 1 and blocks[0].level and isinstance(tree, dict) and len(tree) == 1
    if titled and isinstance(tree, dict):
        inner: Tree = next(iter(tree.values()))
        return inner if isinstance(inner, (dict, tuple)) else tree
    return tree


def _holds(element: Element, tags: frozenset[str]) -> bool:
    """Return whether an element of one of the names is anywhere within."""
    for child in element.elements():
        if child.tag in tags or _holds(child, tags):
            return True
    return False


def _sections(blocks: list[_Block]) -> Tree:
    """Nest the blocks behind a heading under it, and the block behind a lone key beside it."""
    entries: list[tuple[str | None, Tree]] = []
    index = 0
    while index < len(blocks):
        block = blocks[index]
        index += 1
        if block.value is not None:
            entries.append((block.key, block.value))
            continue
        end = index
        if block.level:
            while end < len(blocks) and not 0 < blocks[end].level <= block.level:
                end += 1
        elif end < len(blocks) and not blocks[end].level:
            end += 1
        entries.append((block.key, _sections(blocks[index:end])))
        index = end
    return gather(entries)


def _blocks(element: Element) -> list[_Block]:
    blocks: list[_Block] = []
    line: list[str] = []
    for child in element.children:
        if isinstance(child, str):
            line.append(child)
        elif child.tag in _DROPPED:
            continue
        elif child.tag in _FLOW or _holds(child, _FLOW):
            blocks += _paragraph("".join(line))
            line = []
            blocks += _flow(child)
        else:
            line.append(_inline(child))
    return blocks + _paragraph("".join(line))


def _flow(element: Element) -> list[_Block]:
    match element.tag:
        case "ul" | "ol":
            return [_Block(None, _list(element))]
        case "dl":
            return [_Block(None, _definitions(element))]
        case "table":
            return [_Block(None, _table(element))]
        case "pre":
            return [_Block(None, scalar(element.text()))]
        case tag if tag in _HEADINGS:
            title = _plain(_inline(element)).rstrip(":")
            return [_Block(title, None, _HEADINGS[tag])] if title else []
        case _:
            return _blocks(element)


def _list(element: Element) -> Tree:
    items: list[Tree] = []
    for child in element.elements():
        if child.tag == "li":
            items.append(_sections(_blocks(child)))
    fields: dict[str, Tree] = {}
    for item in items:
        if isinstance(item, dict) and len(item) == 1:
            fields.update(item)
    # A list whose every item is another key with a value is a mapping.
    return fields if items and len(fields) == len(items) else tuple(items)


def _definitions(element: Element) -> Tree:
    entries: list[tuple[str | None, Tree]] = []
    key: str | None = None
    for child in element.elements():
        if child.tag == "dt":
            key = _plain(_inline(child)).rstrip(":")
        elif child.tag == "dd":
            entries.append((key, _sections(_blocks(child))))
    return gather(entries)


def _table(element: Element) -> Tree:
    rows = []
    for row_element in _rows(element):
        cells = []
        for cell in row_element.elements():
            if cell.tag in ("td", "th"):
                cells.append(cell)
        if cells:
            rows.append(cells)
    if not rows:
        return ()
    heads = [_plain(_inline(cell)) for cell in rows[0]]
    values: list[list[Tree]] = []
    for row in rows:
        values.append([_sections(_blocks(cell)) for cell in row])
    pairs = all(len(row) == 2 for row in rows)  # noqa: PLR2004 - a key and a value
    if all(cell.tag == "th" for cell in rows[0]):
        if pairs and heads[0].lower() in _KEY_HEADS:
            return _keyed(rows[1:], values[1:])
        return tuple(gather(zip(heads, row, strict=False)) for row in values[1:])
    if pairs and all(row[0].tag == "th" for row in rows):
        return _keyed(rows, values)
    return tuple(map(tuple, values))


def _keyed(rows: list[list[Element]], values: list[list[Tree]]) -> Tree:
    return gather((_plain(_inline(row[0])), value[1]) for row, value in zip(rows, values, strict=True))


def _rows(element: Element) -> list[Element]:
    rows: list[Element] = []
    for child in element.elements():
        if child.tag == "tr":
            rows.append(child)
        elif child.tag in ("thead", "tbody", "tfoot"):
            rows += _rows(child)
    return rows


def _inline(element: Element) -> str:
    """Return the text of an element without blocks: bold marked, line breaks kept."""
    if element.tag == "br":
        return "\n"
    inner = "".join(child if isinstance(child, str) else _inline(child) for child in element.children)
    if element.tag in ("strong", "b") and inner.strip():
        return f"{_BOLD}{inner.strip()}{_END_BOLD}"
    if element.tag == "a":
        address = element.attributes.get("href", "")
        return inner if address in ("", inner) or address.startswith("#") else f"{inner} {address}"
    return inner or element.attributes.get("alt", "")


def _plain(text: str) -> str:
    return " ".join(text.translate(_MARKS).split())


def _paragraph(text: str) -> list[_Block]:
    """Return a field for each line if all lines have a key, else one scalar; nothing if it is blank."""
    lines = []
    for line in text.split("\n"):
        if line.strip():
            lines.append(line.strip())
    fields = [_field(line) for line in lines]
    keyed = [field for field in fields if field is not None]
    if lines and len(keyed) == len(fields):
        return keyed
    if keyed and keyed[0] is fields[0] and len(keyed) == 1:
        # A key, and a sentence that runs over several lines.
        field = _field(" ".join(lines))
        return [field] if field else keyed
    plain = _plain(text)
    return [_Block(None, scalar(plain))] if plain else []


def _field(line: str) -> _Block | None:
    """Return the field of a line that begins with a bold key, or with a short key and a colon."""
    match = _BOLD_KEY.fullmatch(line)
    if match:
        key, rest = match[1].strip(), match[2].strip()
        if rest and not key.endswith(":") and not rest.startswith((":", "-", "–")):
            return None
        rest = rest.lstrip(":-– ")
    else:
        match = _PLAIN_KEY.fullmatch(line)
        if not match or len(match[1].split()) > _MOST_KEY_WORDS:
            return None
        key, rest = match[1], match[2] or ""
    value = _plain(rest)
    return _Block(_plain(key).rstrip(":"), scalar(value) if value else None)


# Most characters that are parsed.
#
# Parsing takes about a second for 300,000, and longer where brackets pile up.
_LONGEST = 60_000
# Spaces behind a mark tell a list from "-5" and a heading from "#1".
_CONSTRUCT = re.compile(
    r"^[ ]{0,3}(?:#{1,6}[ ]+\S|[-*+][ ]+\S|\d{1,3}[.)][ ]+\S|>[ ]?\S|\|.*\||(?:```|~~~)"
    r"|\*\*[^*\n]{1,60}\*\*:?|__[^_\n]{1,60}__:?)",
    re.MULTILINE,
)
_FENCE = re.compile(r"^[ ]{0,3}(?:```|~~~)", re.MULTILINE)


def construct_count(text: str) -> int:
    """Count the lines that begin with a mark of Markdown: heading, list, table, quote, fence, bold."""
    return sum(1 for _ in _CONSTRUCT.finditer(text))


def read_markdown(text: str) -> Tree:
    """Read Markdown that has some structure: any text would do for the standard.

    Embedded HTML is text. Structure becomes fields and sequences as in `read_html`.

    Raises:
        UnreadableError: "malformed" if no line begins with a mark, or a fence is not closed;
            "too_large" beyond 60,000 characters; "too_deep".
    """
    if not construct_count(text):
        raise UnreadableError("malformed", "no heading, list, table or other mark")
    if len(_FENCE.findall(text)) % 2:
        raise UnreadableError("malformed", "a fence is not closed")
    return repair_markdown(text)


def repair_markdown(text: str) -> Tree:
    """Read any text as Markdown.

    Raises:
        UnreadableError: "too_large" beyond 60,000 characters, "too_deep", or "malformed" if
            nothing is left of it.
    """
    if len(text) > _LONGEST:
        raise UnreadableError("too_large")
    return repair_html(_parser().render(text))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")
