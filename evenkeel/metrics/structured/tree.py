"""Tree into which answers in JSON, YAML, XML, HTML and Markdown are read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Tree: TypeAlias = "str | tuple[Tree, ...] | dict[str, Tree]"
"""Scalar (its text, see `scalar`), sequence, or mapping. Never deeper than `DEEPEST`."""

DEEPEST = 64
"""Most levels of nesting that are read; answers need a handful, attacks thousands."""
LONGEST = 500_000
"""Most characters that are read: several times what models write at once."""
TEXT_KEY = "text"
"""Key for text that has none, among fields that have one."""

_WHOLE = re.compile(r"(-?\d+)\.0+")
_LITERALS = {"true": "true", "false": "false", "null": ""}


class UnreadableError(ValueError):
    """Text that is not in the format it was read as. `reason` is a word usable as a label."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason


def scalar(value: object) -> str:
    """Return the same spelling for equal values of all formats.

    None, "null" and "" are ""; booleans are "true" and "false" in any case; 1.0 is 1, as no
    format but JSON and YAML tells a number from a text. Other text is kept, without white space
    around it.
    """
    if value is None:
        return ""
    text = str(value).strip()
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else _LITERALS.get(text.lower(), text)


def gather(entries: Iterable[tuple[str | None, Tree]]) -> Tree:
    """Put entries together that may have keys.

    Returns: a mapping if any has a key: the values of a repeated key become a sequence, those
        without key stand under `TEXT_KEY`. Else the only value, or the sequence of values; "" if
        there is none.
    """
    listed = list(entries)
    if all(key is None for key, _ in listed):
        values = [value for _, value in listed]
        return values[0] if len(values) == 1 else tuple(values) or ""
    grouped: dict[str, list[Tree]] = {}
    for key, value in listed:
        grouped.setdefault(TEXT_KEY if key is None else key, []).append(value)
    return {key: values[0] if len(values) == 1 else tuple(values) for key, values in grouped.items()}


def leaves(tree: Tree) -> Iterator[str]:
    """Return the scalars of a tree in order, empty ones included. An empty container gives one ""."""
    if isinstance(tree, str):
        yield tree
        return
    inner = tree if isinstance(tree, tuple) else tuple(tree.values())
    for item in inner:
        yield from leaves(item)
    if not inner:
        yield ""


def flat(tree: Tree) -> str:
    """Return the text of all scalars, one a line, without keys."""
    return "\n".join(leaf for leaf in leaves(tree) if leaf)
