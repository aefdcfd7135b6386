"""Skeletons as people write them, in JSON, YAML, XML, Markdown and HTML.

Placeholders, comments, missing commas and unclosed tags are expected: no reader of the real format would
take them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.shadow.perturbations.format.schema import (
    ANYTHING,
    Field,
    Leaf,
    Listing,
    Record,
    UnreadableSkeleton,
    leaf_of,
    merged,
    noted,
    read_json_schema,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.shadow.perturbations.format.schema import Node


_BLANK: Final = re.compile(r"\s*")
_COMMENT: Final = re.compile(r"[ \t]*(?://|#)[ \t]*([^\n]*)|[ \t]*/\*(.*?)\*/", re.DOTALL)
_JSON_REMARK: Final = re.compile(r"\s(?://|\#[ ]|/\*)\s*(.*?)\s*(?:\*/)?\s*\Z", re.DOTALL)
_COMMA: Final = re.compile(r"\s*,")
_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|“([^”]*)”', re.DOTALL)
_JSON_KEY: Final = re.compile(r"[^\s:,{}\[\]\"']+(?:[ ][^\s:,{}\[\]\"']+)*(?=\s*:)")
_RAW: Final = re.compile(
    r"(?:<[^<>{}]*(?:<[^<>{}]*>[^<>{}]*)*>|\([^()\n]*\)|\[[^\[\]\n]*\]|\"[^\"\n]*\"|/(?!/)|[^,{}\[\]\n<(\"/]|[<(\"])+"
)
_CHOICE: Final = re.compile(r"\s*(?:\||/(?!/)|or\b)")
_ELLIPSIS: Final = re.compile(r"\.{3}|…")
_DEEPEST = 20
_MOST_EXAMPLES: Final = 2
"""Objects in a list that shows what its items look like."""


class Read(NamedTuple):
    """A value and where it ends."""

    node: Node
    end: int


def read_json(text: str) -> Node:
    """The contents that a skeleton in JSON asks for.

    Raises: UnreadableSkeleton if it is not one, or something stands behind it.
    """
    read = json_at(text, _past_blanks(text, 0))
    rest, _ = _skipped(text, read.end)
    if rest != len(text):
        raise UnreadableSkeleton(f"more text behind the value, at character {rest}")
    return read.node


def json_at(text: str, start: int) -> Read:
    """The object or list that begins here.

    Raises: UnreadableSkeleton if there is none, or it does not end.
    """
    if not text.startswith(("{", "["), start):
        raise UnreadableSkeleton(f"no object or list at character {start}")
    if text.startswith("{{", start):
        # Braces doubled for a template language
        end = text.rfind("}}")
        if end < 0:
            raise UnreadableSkeleton("an object without an end")
        plain = text[start : end + 2].replace("{{", "{").replace("}}", "}")
        return Read(_value(plain, 0, 0).node, end + 2)
    return _json_schema_at(text, start) or _value(text, start, 0)


def _json_schema_at(text: str, start: int) -> Read | None:
    """The contents that a JSON Schema asks for, if one begins here."""
    if '"properties"' not in text:
        return None
    try:
        schema, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    is_schema = isinstance(schema, dict) and isinstance(schema.get("properties"), dict)
    return (
        Read(read_json_schema(schema), end)
        if is_schema and ("type" in schema or "$schema" in schema)
        else None
    )


def _value(text: str, start: int, depth: int) -> Read:
    if depth > _DEEPEST:
        raise UnreadableSkeleton(f"nested more than {_DEEPEST} deep")
    if text.startswith("{", start):
        return _json_record(text, start, depth)
    if text.startswith("[", start):
        return _json_listing(text, start, depth)
    string = _STRING.match(text, start)
    if string and not _CHOICE.match(text, string.end()):
        return Read(leaf_of(_decoded(string), quoted=True), string.end())
    raw = _RAW.match(text, start)
    if raw is None or not raw[0].strip():
        raise UnreadableSkeleton(f"no value at character {start}")
    written, note = raw[0], ""
    if remark := _JSON_REMARK.search(written):
        written, note = written[: remark.start()], remark[1]
    plain = written.strip().replace('"', "") if string else written.strip()
    return Read(noted(leaf_of(plain), note), raw.end())


def _json_record(text: str, start: int, depth: int) -> Read:
    fields: list[Field] = []
    at, _ = _skipped(text, start + 1)
    while not text.startswith("}", at):
        if ellipsis := _ELLIPSIS.match(text, at):
            at, _ = _after_value(text, ellipsis.end())
            continue
        string = _STRING.match(text, at)
        key = string or _JSON_KEY.match(text, at)
        if key is None:
            raise UnreadableSkeleton(f"no key at character {at}")
        colon = _past_blanks(text, key.end())
        if not text.startswith(":", colon):
            raise UnreadableSkeleton(f"no colon at character {colon}")
        at, _ = _skipped(text, colon + 1)
        read = _value(text, at, depth + 1)
        at, note = _after_value(text, read.end)
        fields.append(Field(_decoded(string) if string else key[0], noted(read.node, note)))
    return Read(Record(tuple(fields)), at + 1)


def _json_listing(text: str, start: int, depth: int) -> Read:
    item: Node | None = None
    records = 0
    at, _ = _skipped(text, start + 1)
    while not text.startswith("]", at):
        if ellipsis := _ELLIPSIS.match(text, at):
            at, _ = _after_value(text, ellipsis.end())
            continue
        read = _value(text, at, depth + 1)
        records += isinstance(read.node, Record)
        if records > _MOST_EXAMPLES:
            raise UnreadableSkeleton("a list of so many objects is data")
        at, note = _after_value(text, read.end)
        one = noted(read.node, note)
        item = one if item is None else merged(item, one)
    return Read(Listing(ANYTHING if item is None else item), at + 1)


def _after_value(text: str, at: int) -> tuple[int, str]:
    """Where the next key or value begins, and the remarks on the way there."""
    comma = _COMMA.match(text, at)
    at, before = (at, "") if comma else _skipped(text, at)
    comma = comma or _COMMA.match(text, at)
    if comma:
        at = comma.end()
    at, behind = _skipped(text, at)
    if at == len(text):
        raise UnreadableSkeleton("an object or list without an end")
    return at, f"{before} {behind}"


def _past_blanks(text: str, at: int) -> int:
    blanks = _BLANK.match(text, at)
    assert blanks is not None  # none at all is a match too
    return blanks.end()


def _skipped(text: str, at: int) -> tuple[int, str]:
    """Where the next thing begins that is neither blank nor comment, and the comments."""
    comments: list[str] = []
    while True:
        at = _past_blanks(text, at)
        comment = _COMMENT.match(text, at)
        if comment is None:
            return at, " ".join(comments)
        comments.append((comment[1] or comment[2] or "").strip())
        at = comment.end()


def _decoded(string: re.Match[str]) -> str:
    if string[1] is None:
        return string[2] or string[3] or ""
    try:
        decoded = json.loads(string[0], strict=False)
    except ValueError:
        return string[1]
    assert isinstance(decoded, str)
    return decoded


_YAML_KEY: Final = re.compile(r"(?:\"([^\"]+)\"|'([^']+)'|([^\s:#\[{<>\"'][^:<>{}]*?))[ ]*:(?:[ ]+(.*))?$")
_YAML_REMARK: Final = re.compile(r"(?:^|[ \t]+)#[ \t]*(.*)$")
_QUOTED: Final = re.compile(r"\"(.*)\"|'(.*)'")
_BLOCK: Final = re.compile(r"[|>][+-]?\d?")


class _YamlLine(NamedTuple):
    indent: int
    text: str
    note: str


class _Read(NamedTuple):
    node: Node
    next: int


def read_yaml(text: str) -> Node:
    """The contents that a skeleton in YAML asks for.

    Raises: UnreadableSkeleton if it is neither a mapping nor a list.
    """
    lines = [line for one in text.expandtabs().split("\n") if (line := _line(one)) is not None]
    if not lines:
        raise UnreadableSkeleton("no lines")
    read = _block(lines, 0, 0)
    if read.next < len(lines) or isinstance(read.node, Leaf):
        raise UnreadableSkeleton(f"not YAML from line {read.next + 1} on")
    return read.node


def _line(written: str) -> _YamlLine | None:
    text = written.strip()
    if not text or text in ("---", "..."):
        return None
    remark = _YAML_REMARK.search(text)
    note = remark[1] if remark else ""
    content = text[: remark.start()].rstrip() if remark else text
    if not content:
        return None
    return _YamlLine(len(written) - len(written.lstrip()), content, note)


def _block(lines: Sequence[_YamlLine], at: int, depth: int) -> _Read:
    """The value whose first line this is."""
    if depth > _DEEPEST:
        raise UnreadableSkeleton(f"nested more than {_DEEPEST} deep")
    first = lines[at]
    if first.text.startswith("-") and first.text[1:2] in ("", " "):
        return _yaml_listing(lines, at, depth)
    if _YAML_KEY.match(first.text):
        return _yaml_record(lines, at, depth)
    return _Read(_scalar(first), at + 1)


def _yaml_listing(lines: Sequence[_YamlLine], at: int, depth: int) -> _Read:
    indent = lines[at].indent
    item: Node | None = None
    while at < len(lines) and lines[at].indent == indent and lines[at].text.startswith("-"):
        content = lines[at].text[1:]
        text = content.lstrip()
        if text:
            inner = _YamlLine(indent + 1 + len(content) - len(text), text, lines[at].note)
            read = _block([inner, *lines[at + 1 :]], 0, depth + 1)
            node, at = read.node, at + read.next
        elif at + 1 < len(lines) and lines[at + 1].indent > indent:
            node, at = _block(lines, at + 1, depth + 1)
        else:
            node, at = ANYTHING, at + 1
        item = node if item is None else merged(item, node)
    return _Read(Listing(item or ANYTHING), at)


def _yaml_record(lines: Sequence[_YamlLine], at: int, depth: int) -> _Read:
    indent = lines[at].indent
    fields: list[Field] = []
    while at < len(lines) and lines[at].indent == indent and (key := _YAML_KEY.match(lines[at].text)):
        line, value = lines[at], key[4] or ""
        at += 1
        node: Node
        if _BLOCK.fullmatch(value):
            end = at
            while end < len(lines) and lines[end].indent > indent:
                end += 1
            node = leaf_of(" ".join(one.text for one in lines[at:end]))
            at = end
        elif value:
            node = _scalar(_YamlLine(indent, value, ""))
        elif at < len(lines) and (
            lines[at].indent > indent or (lines[at].indent == indent and lines[at].text.startswith("- "))
        ):
            node, at = _block(lines, at, depth + 1)
        else:
            node = ANYTHING
        fields.append(Field(key[1] or key[2] or key[3], noted(node, line.note)))
    return _Read(Record(tuple(fields)), at)


def _scalar(line: _YamlLine) -> Node:
    if line.text.startswith(("[", "{")):
        try:
            return noted(read_json(line.text), line.note)
        except UnreadableSkeleton:
            pass
    quoted = _QUOTED.fullmatch(line.text)
    text = (quoted[1] or quoted[2] or "") if quoted else line.text
    return noted(leaf_of(text, quoted=quoted is not None), line.note)


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


_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*$")
_ITEM: Final = re.compile(r"([ \t]*)(?:[-*+•]|\d{1,3}[.)])[ \t]+(.*)$")
_NAMED: Final = re.compile(r"(?:\*\*|__)([^*_:\n]+):?(?:\*\*|__)[ \t]*:?[ \t]*(.*)$")
_RULE: Final = re.compile(r"[-*_]{3,}$")
_HTML: Final = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)[^<>]*>")
_TEXT_ELEMENTS: Final = (
    "p",
    "br",
    "span",
    "strong",
    "b",
    "em",
    "i",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "hr",
)
_PAGE_ELEMENTS: Final = (
    "html",
    "head",
    "body",
    "title",
    "main",
    "article",
    "section",
    "header",
    "footer",
    "div",
)
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS: Final = frozenset((*_TEXT_ELEMENTS, *_PAGE_ELEMENTS, *_HEADINGS))
_MARKS: Final = {"li": "\n- ", "dt": "\n**", "dd": " ", "br": "\n", "p": "\n", "hr": "\n"}
_ENDS: Final = {"dt": "**:"}


class _OutlineLine(NamedTuple):
    level: int
    """Of a heading, 0 for any other line."""
    text: str
    is_item: bool


def read_markdown(text: str) -> Node:
    """The contents that an outline in Markdown asks for: a field for each heading or bold name.

    Raises: UnreadableSkeleton if there is neither, or text before the first.
    """
    lines = list(_lines(text))
    if not lines:
        raise UnreadableSkeleton("no lines")
    if any(line.level for line in lines):
        return _sections(lines)
    node = _part([line.text for line in lines])
    if not isinstance(node, Record):
        raise UnreadableSkeleton("neither headings nor bold names throughout")
    return node


def read_html(text: str) -> Node:
    """The contents that an outline in HTML asks for: a field for each heading or definition.

    Raises: UnreadableSkeleton if it holds anything else, such as a table.
    """
    closing = {match[2].lower() for match in _HTML.finditer(text) if match[1]}
    unknown = closing - _BLOCKS
    if unknown or not closing:
        raise UnreadableSkeleton(f"<{min(unknown)}> is no part of an outline" if unknown else "no element")
    return read_markdown(_HTML.sub(lambda match: _as_markdown(match, closing), re.sub(r"\s+", " ", text)))


def _as_markdown(tag: re.Match[str], closing: set[str]) -> str:
    name = tag[2].lower()
    if name not in _BLOCKS or (not tag[1] and name not in closing and name not in _MARKS):
        return tag[0]
    if tag[1]:
        return _ENDS.get(name, "\n" if name in _HEADINGS else "")
    if name in _HEADINGS:
        return "\n" + "#" * int(name[1:]) + " "
    return _MARKS.get(name, "")


def _lines(text: str) -> Iterator[_OutlineLine]:
    for written in text.split("\n"):
        line = written.strip()
        if not line or _RULE.match(line):
            continue
        if heading := _HEADING.match(line):
            yield _OutlineLine(len(heading[1]), heading[2].strip("*_ "), is_item=False)
        elif item := _ITEM.match(written):
            yield _OutlineLine(0, item[2].strip(), is_item=True)
        else:
            yield _OutlineLine(0, line, is_item=False)


def _sections(lines: Sequence[_OutlineLine]) -> Node:
    """A field for each heading of the highest level; what stands before the first must be nothing."""
    top = min(line.level for line in lines if line.level)
    starts = [place for place, line in enumerate(lines) if line.level == top]
    if starts[0]:
        raise UnreadableSkeleton("text before the first heading")
    ends = [*starts[1:], len(lines)]
    parts = [(lines[start].text, lines[start + 1 : end]) for start, end in zip(starts, ends, strict=True)]
    if len(parts) == 1 and any(line.level for line in parts[0][1]) and parts[0][1][0].level:
        # A title over everything
        return _sections(parts[0][1])
    return Record(tuple(Field(name, _content(inner)) for name, inner in parts))


def _content(lines: Sequence[_OutlineLine]) -> Node:
    if not lines:
        return ANYTHING
    if lines[0].level:
        return _sections(lines)
    if any(line.level for line in lines):
        raise UnreadableSkeleton("a section with both text and sections of its own")
    if not lines[0].is_item:
        return _part([line.text for line in lines])
    parts: list[list[str]] = []
    for line in lines:
        if line.is_item:
            parts.append([])
        parts[-1].append(line.text)
    item = _part(parts[0])
    for part in parts[1:]:
        item = merged(item, _part(part))
    return Listing(item)


def _part(texts: Sequence[str]) -> Node:
    """A paragraph, or the lines of one item: bold names are fields, anything else is a value."""
    written = [text for text in texts if text]
    named = [match for text in written if (match := _NAMED.match(text))]
    if named and len(named) == len(written):
        return Record(tuple(Field(match[1].strip(), leaf_of(match[2], quoted=True)) for match in named))
    return leaf_of(" ".join(written), quoted=True)
