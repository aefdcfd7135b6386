"""Answers in HTML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, ClassVar

from evenkeel.shadow.perturbations.format.form import Form
from evenkeel.shadow.perturbations.format.schema import Leaf, Listing, Node, Record
from evenkeel.shadow.perturbations.format.words import Words

if TYPE_CHECKING:
    from evenkeel.core.pair import Format

_LEVELS = (2, 6)


class Html(Form):
    """Asks for the answer in HTML instead of the format that the prompt asks for.

    Fields become headings with a paragraph or a list under each.
    """

    name: ClassVar[str] = "format.html"
    format: ClassVar[Format] = "html"
    words: ClassVar[Words] = Words("HTML", "an", "HTML fragment", "HTML list", "HTML headings", "HTML")
    request: ClassVar[str] = "Write your whole answer as one fragment of valid HTML."

    def render(self, node: Node) -> str:
        """The structure as headings, paragraphs and lists, placeholders in square brackets."""
        return "\n".join(_lines(node, _LEVELS[0]))


def _lines(node: Node, level: int) -> list[str]:
    match node:
        case Leaf():
            return [f"<p>{_leaf(node)}</p>"]
        case Listing(item=Leaf() as leaf):
            return ["<ul>", f"  <li>{_leaf(leaf)}</li>", "</ul>"]
        case Listing(item=item):
            return ["<ul>", "  <li>", *(f"    {line}" for line in _part(item)), "  </li>", "</ul>"]
        case Record(fields=fields):
            lines: list[str] = []
            for one in fields:
                lines.append(f"<h{level}>{escape(one.name, quote=False)}</h{level}>")
                lines += _lines(one.value, min(level + 1, _LEVELS[1]))
            return lines


def _part(node: Node) -> list[str]:
    """Inside a list, where headings would be out of place."""
    match node:
        case Leaf():
            return [_leaf(node)]
        case Listing(item=item):
            return ["<ul>", "  <li>", *(f"    {line}" for line in _part(item)), "  </li>", "</ul>"]
        case Record(fields=fields):
            lines = ["<dl>"]
            for one in fields:
                name = f"  <dt>{escape(one.name, quote=False)}</dt>"
                if isinstance(one.value, Leaf):
                    lines.append(f"{name}<dd>{_leaf(one.value)}</dd>")
                else:
                    lines += [name, "  <dd>", *(f"    {line}" for line in _part(one.value)), "  </dd>"]
            return [*lines, "</dl>"]


def _leaf(leaf: Leaf) -> str:
    return escape(f"[{leaf.text}]" if leaf.form == "hint" else leaf.text, quote=False)
