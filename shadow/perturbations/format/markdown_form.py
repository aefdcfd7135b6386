"""Answers in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.shadow.perturbations.format.form import Form
from evenkeel.shadow.perturbations.format.schema import Leaf, Listing, Node, Record
from evenkeel.shadow.perturbations.format.words import Words

if TYPE_CHECKING:
    from evenkeel.core.pair import Format

_LEVELS = (2, 6)


class Markdown(Form):
    """Asks for the answer in Markdown instead of the format that the prompt asks for.

    Fields become headings with a paragraph or a list under each.
    """

    name: ClassVar[str] = "format.markdown"
    format: ClassVar[Format] = "markdown"
    words: ClassVar[Words] = Words(
        "Markdown", "a", "Markdown document", "Markdown list", "Markdown headings", "Markdown"
    )
    request: ClassVar[str] = "Write your whole answer in Markdown."

    def render(self, node: Node) -> str:
        """The structure as headings, paragraphs and lists, placeholders in square brackets."""
        return "\n".join(_lines(node, _LEVELS[0]))


def _lines(node: Node, level: int) -> list[str]:
    match node:
        case Leaf():
            return [_leaf(node)]
        case Listing(item=item):
            return _part(item)
        case Record(fields=fields):
            lines: list[str] = []
            for one in fields:
                # A blank line before each heading but the first
                lines += ([""] if lines else []) + [f"{'#' * level} {one.name}"]
                inner = _lines(one.value, min(level + 1, _LEVELS[1]))
                lines += ([""] if isinstance(one.value, Record) else []) + inner
            return lines


def _part(node: Node) -> list[str]:
    """One item of a list, and what belongs under it."""
    match node:
        case Leaf():
            return [f"- {_leaf(node)}"]
        case Listing(item=item):
            return ["-", *(f"  {line}" for line in _part(item))]
        case Record(fields=fields):
            lines: list[str] = []
            for one in fields:
                if isinstance(one.value, Leaf):
                    lines.append(f"  **{one.name}:** {_leaf(one.value)}  ")
                else:
                    lines += [f"  **{one.name}:**", *(f"  {line}" for line in _nested(one.value))]
            first, *others = lines or ["  "]
            return [
                line.rstrip() if place == len(others) else line
                for place, line in enumerate([f"- {first[2:]}", *others])
            ]


def _nested(node: Node) -> list[str]:
    return _part(node.item) if isinstance(node, Listing) else _part(node)


def _leaf(leaf: Leaf) -> str:
    return f"[{leaf.text}]" if leaf.form == "hint" else leaf.text
