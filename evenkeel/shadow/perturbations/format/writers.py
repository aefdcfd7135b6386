"""A structure, written in each format with placeholders for its values."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from evenkeel.shadow.perturbations.format.schema import Field, Leaf, Listing, Node, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.perturbations.format.instructions import Speech

_SAYS_NOTHING: Final = re.compile(r"(?:string|str|text|any|object)s?|\.{3}|…", re.IGNORECASE)


_ENGLISH_WORDS: Final = ("such as", "any number", "each", "with")


def write_free(node: Node, speech: Speech | None = None) -> str:
    """Return a sentence that names the contents, with their descriptions in parentheses."""
    words = _ENGLISH_WORDS if speech is None else speech.words
    match node:
        case Record(fields=fields):
            contents = "; ".join(_described(field.name, field.value, words) for field in fields)
        case Listing(item=item):
            many = "any number of parts" if speech is None else words[1]
            hint = _hint(item, words)
            contents = f"{many}, {words[2]} {hint}" if hint else many
        case Leaf():
            contents = node.text
    if speech is not None:
        return speech.covers.format(contents=contents)
    return f"Plain prose, without JSON or any markup, that covers: {contents}."


def _described(name: str, node: Node, words: Sequence[str]) -> str:
    hint = _hint(node, words)
    return f"{name} ({hint})" if hint else name


def _hint(node: Node, words: Sequence[str]) -> str:
    such_as, any_number, each, having = words
    match node:
        case Leaf(text=text, form="literal"):
            return text if " " in text else f"{such_as} “{text}”"
        case Leaf(text=text, form="bare"):
            return f"{such_as} {text}"
        case Leaf(text=text):
            return "" if _SAYS_NOTHING.fullmatch(text) else text
        case Listing(item=item):
            inner = _hint(item, words)
            return f"{any_number}, {each} {inner}" if inner else any_number
        case Record(fields=()):
            return ""
        case Record(fields=fields):
            return f"{having} " + ", ".join(_described(field.name, field.value, words) for field in fields)


def write_json(node: Node) -> str:
    """The structure as JSON with placeholders in quotation marks, indented by two."""
    return _value(node, "")


def _value(node: Node, indent: str) -> str:
    inner = indent + "  "
    match node:
        case Record(fields=()):
            return "{}"
        case Record(fields=fields):
            lines = [f"{inner}{_quoted(field.name)}: {_value(field.value, inner)}" for field in fields]
            return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
        case Listing(item=Leaf() as leaf):
            return f"[{_json_leaf(leaf)}]"
        case Listing(item=item):
            return f"[\n{inner}{_value(item, inner)}\n{indent}]"
        case Leaf():
            return _json_leaf(node)


def _json_leaf(leaf: Leaf) -> str:
    if leaf.form == "bare":
        return leaf.text
    if leaf.form == "literal":
        return _quoted(leaf.text)
    return f"<{leaf.text}>" if leaf.is_number else _quoted(f"<{leaf.text}>")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_PLAIN: Final = re.compile(r"[^\W\d][\w ./()…-]*(?<! )|<(?!<)[^:#\n]*>")
_OTHER_TYPE: Final = re.compile(r"true|false|yes|no|on|off|null|y|n", re.IGNORECASE)


def write_yaml(node: Node) -> str:
    """The structure as YAML in block style, placeholders in angle brackets."""
    return "\n".join(_yaml_lines(node))


def _yaml_lines(node: Node) -> list[str]:
    match node:
        case Record(fields=fields) if fields:
            lines: list[str] = []
            for field in fields:
                lines += _yaml_named(f"{_scalar(field.name)}:", field.value)
            return lines
        case Record():
            return ["{}"]
        case Listing(item=item):
            first, *others = _yaml_lines(item)
            return [f"- {first}", *(f"  {line}" for line in others)]
        case Leaf():
            return [_yaml_leaf(node)]


def _yaml_named(key: str, value: Node) -> list[str]:
    if isinstance(value, Leaf) or value == Record(()):
        return [f"{key} {_yaml_lines(value)[0]}"]
    return [key, *(f"  {line}" for line in _yaml_lines(value))]


def _yaml_leaf(leaf: Leaf) -> str:
    return (
        leaf.text if leaf.form == "bare" else _scalar(f"<{leaf.text}>" if leaf.form == "hint" else leaf.text)
    )


def _scalar(text: str) -> str:
    """The text, in quotation marks where it would be read as something else without."""
    plain = _PLAIN.fullmatch(text) and not _OTHER_TYPE.fullmatch(text)
    return text if plain else json.dumps(text, ensure_ascii=False)


_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]+")
_NAME_START: Final = re.compile(r"[^\W\d]")


def write_xml(node: Node) -> str:
    """The structure as elements in one element "response", placeholders in square brackets."""
    return "\n".join(_element("response", node))


def _element(name: str, node: Node) -> list[str]:
    match node:
        case Leaf():
            return [f"<{name}>{_xml_leaf(node)}</{name}>"]
        case Record(fields=fields):
            inner: list[str] = []
            for field in fields:
                inner += _element(element_name(field), field.value)
        case Listing(item=item):
            inner = _element("item", item)
    return [f"<{name}>", *(f"  {line}" for line in inner), f"</{name}>"]


def element_name(field: Field) -> str:
    """The field's name, as XML allows it."""
    name = _NOT_IN_NAMES.sub("_", field.name).strip("_") or "field"
    return name if _NAME_START.match(name) else f"_{name}"


def _xml_leaf(leaf: Leaf) -> str:
    return escape(f"[{leaf.text}]" if leaf.form == "hint" else leaf.text)


_LEVELS = (2, 6)


def write_html(node: Node) -> str:
    """The structure as headings, paragraphs and lists, placeholders in square brackets."""
    return "\n".join(_html_lines(node, _LEVELS[0]))


def _html_lines(node: Node, level: int) -> list[str]:
    match node:
        case Leaf():
            return [f"<p>{_html_leaf(node)}</p>"]
        case Listing(item=Leaf() as leaf):
            return ["<ul>", f"  <li>{_html_leaf(leaf)}</li>", "</ul>"]
        case Listing(item=item):
            return ["<ul>", "  <li>", *(f"    {line}" for line in _html_part(item)), "  </li>", "</ul>"]
        case Record(fields=fields):
            lines: list[str] = []
            for field in fields:
                lines.append(f"<h{level}>{escape(field.name)}</h{level}>")
                lines += _html_lines(field.value, min(level + 1, _LEVELS[1]))
            return lines


def _html_part(node: Node) -> list[str]:
    """Inside a list, where headings would be out of place."""
    match node:
        case Leaf():
            return [_html_leaf(node)]
        case Listing(item=item):
            return ["<ul>", "  <li>", *(f"    {line}" for line in _html_part(item)), "  </li>", "</ul>"]
        case Record(fields=fields):
            lines = ["<dl>"]
            for field in fields:
                name = f"  <dt>{escape(field.name)}</dt>"
                if isinstance(field.value, Leaf):
                    lines.append(f"{name}<dd>{_html_leaf(field.value)}</dd>")
                else:
                    lines += [name, "  <dd>", *(f"    {line}" for line in _html_part(field.value)), "  </dd>"]
            return [*lines, "</dl>"]


def _html_leaf(leaf: Leaf) -> str:
    return escape(f"[{leaf.text}]" if leaf.form == "hint" else leaf.text)


def write_markdown(node: Node) -> str:
    """The structure as headings, paragraphs and lists, placeholders in square brackets."""
    return "\n".join(_markdown_lines(node, _LEVELS[0]))


def _markdown_lines(node: Node, level: int) -> list[str]:
    match node:
        case Leaf():
            return [_markdown_leaf(node)]
        case Listing(item=item):
            return _markdown_part(item)
        case Record(fields=fields):
            lines: list[str] = []
            for field in fields:
                # A blank line before each heading but the first
                lines += ([""] if lines else []) + [f"{'#' * level} {field.name}"]
                inner = _markdown_lines(field.value, min(level + 1, _LEVELS[1]))
                lines += ([""] if isinstance(field.value, Record) else []) + inner
            return lines


def _markdown_part(node: Node) -> list[str]:
    """Return the lines of a list item and of everything under it."""
    match node:
        case Leaf():
            return [f"- {_markdown_leaf(node)}"]
        case Listing(item=item):
            return ["-", *(f"  {line}" for line in _markdown_part(item))]
        case Record(fields=fields):
            lines: list[str] = []
            for field in fields:
                if isinstance(field.value, Leaf):
                    lines.append(f"  **{field.name}:** {_markdown_leaf(field.value)}  ")
                else:
                    lines += [f"  **{field.name}:**", *(f"  {line}" for line in _nested(field.value))]
            first, *others = lines or ["  "]
            entry = [f"- {first[2:]}", *others]
            # Two blanks break a line in Markdown; behind the last one there is nothing to break.
            entry[-1] = entry[-1].rstrip()
            return entry


def _nested(node: Node) -> list[str]:
    return _markdown_part(node.item) if isinstance(node, Listing) else _markdown_part(node)


def _markdown_leaf(leaf: Leaf) -> str:
    return f"[{leaf.text}]" if leaf.form == "hint" else leaf.text
