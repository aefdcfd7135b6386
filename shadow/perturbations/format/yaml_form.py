"""Answers in YAML."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.shadow.perturbations.format.form import Form
from evenkeel.shadow.perturbations.format.schema import Leaf, Listing, Node, Record
from evenkeel.shadow.perturbations.format.words import Words

if TYPE_CHECKING:
    from evenkeel.core.pair import Format

_PLAIN: Final = re.compile(r"[^\W\d][\w ./()…-]*(?<! )|<(?!<)[^:#\n]*>")
_OTHER_TYPE: Final = re.compile(r"true|false|yes|no|on|off|null|y|n", re.IGNORECASE)


class Yaml(Form):
    """Asks for the answer in YAML instead of the format that the prompt asks for."""

    name: ClassVar[str] = "format.yaml"
    format: ClassVar[Format] = "yaml"
    words: ClassVar[Words] = Words("YAML", "a", "YAML document", "YAML list", "YAML keys", "YAML")
    request: ClassVar[str] = "Write your whole answer as one valid YAML document."

    def render(self, node: Node) -> str:
        """The structure as YAML in block style, placeholders in angle brackets."""
        return "\n".join(_lines(node))


def _lines(node: Node) -> list[str]:
    match node:
        case Record(fields=fields) if fields:
            lines: list[str] = []
            for one in fields:
                lines += _named(f"{_scalar(one.name)}:", one.value)
            return lines
        case Record():
            return ["{}"]
        case Listing(item=item):
            first, *others = _lines(item)
            return [f"- {first}", *(f"  {line}" for line in others)]
        case Leaf():
            return [_leaf(node)]


def _named(key: str, value: Node) -> list[str]:
    if isinstance(value, Leaf) or value == Record(()):
        return [f"{key} {_lines(value)[0]}"]
    return [key, *(f"  {line}" for line in _lines(value))]


def _leaf(leaf: Leaf) -> str:
    return (
        leaf.text if leaf.form == "bare" else _scalar(f"<{leaf.text}>" if leaf.form == "hint" else leaf.text)
    )


def _scalar(text: str) -> str:
    """The text, in quotation marks where it would be read as something else without."""
    plain = _PLAIN.fullmatch(text) and not _OTHER_TYPE.fullmatch(text)
    return text if plain else json.dumps(text, ensure_ascii=False)
