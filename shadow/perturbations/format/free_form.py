"""Answers in prose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.shadow.perturbations.format.form import Form
from evenkeel.shadow.perturbations.format.schema import Leaf, Listing, Node, Record
from evenkeel.shadow.perturbations.format.words import Words

if TYPE_CHECKING:
    from evenkeel.core.pair import Format

_SAYS_NOTHING: Final = re.compile(r"(?:string|str|text|any|object)s?|\.{3}|…", re.IGNORECASE)


class Free(Form):
    """Asks for plain prose instead of the format that the prompt asks for, with the same contents."""

    name: ClassVar[str] = "format.free"
    format: ClassVar[Format] = "free"
    words: ClassVar[Words] = Words(
        "plain prose", "a", "plain prose", "plain prose", "names", "plain-prose", counted=False
    )
    request: ClassVar[str] = "Write your whole answer as plain prose, without JSON or any markup."
    fenced: ClassVar[bool] = False

    def render(self, node: Node) -> str:
        """One sentence that names the contents, with what is said of them in parentheses."""
        match node:
            case Record(fields=fields):
                contents = "; ".join(_described(one.name, one.value) for one in fields)
            case Listing(item=item):
                contents = ", each ".join(part for part in ("any number of parts", _hint(item)) if part)
            case Leaf():
                contents = node.text
        return f"Plain prose, without JSON or any markup, that covers: {contents}."


def _described(name: str, node: Node) -> str:
    hint = _hint(node)
    return f"{name} ({hint})" if hint else name


def _hint(node: Node) -> str:
    match node:
        case Leaf(text=text, form="literal"):
            return f"such as “{text}”"
        case Leaf(text=text, form="bare"):
            return f"such as {text}"
        case Leaf(text=text):
            return "" if _SAYS_NOTHING.fullmatch(text) else text
        case Listing(item=item):
            inner = _hint(item)
            return f"any number, each {inner}" if inner else "any number"
        case Record(fields=()):
            return ""
        case Record(fields=fields):
            return "with " + ", ".join(_described(one.name, one.value) for one in fields)
