"""Common tree for answers in JSON, YAML, XML, HTML and Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Tree: TypeAlias = "str | tuple[Tree, ...] | dict[str, Tree]"
"""Scalar as text (see `scalar`), sequence, or mapping. Never deeper than `DEEPEST`."""

DEEPEST = 64
"""Most levels of nesting that are read. Answers need a handful; attacks use thousands."""
LONGEST = 500_000
"""Most characters that are read: several times the longest answer of a model."""
TEXT_KEY = "text"
"""Key of text without a name beside named fields, as between the elements of XML."""

# XML and HTML cannot tell 1 from 1.0, so neither can a comparison across formats.
_WHOLE = re.compile(r"(-?\d+)\.0+")
_LITERALS = {"true": "true", "false": "false", "null": ""}


class UnreadableError(ValueError):
    """Raised for text that is not in the expected format. `reason` is a word usable as a label."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(detail or reason)
        self.reason = reason


def scalar(value: object) -> str:
    """Return a value as text, spelled the same whatever the format.

    None, "null" and "" give ""; booleans of any case give "true" or "false"; 1.0 and "1.0" give "1", since
    only JSON and YAML distinguish numbers from text. Other text is kept, without surrounding white space.
    """
    if value is None:
        return ""
    text = str(value).strip()
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else _LITERALS.get(text.lower(), text)


def gather(entries: Iterable[tuple[str | None, Tree]]) -> Tree:
    """Combine entries, with or without keys, into a tree.

    Returns: a mapping if any entry has a key; values of a repeated key form a sequence, and values without a
        key are under `TEXT_KEY`. Without keys, the single value or the sequence of values; "" if there is
        none.
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
    """Yield the scalars of a tree in order, empty ones included. An empty container gives one ""."""
    if isinstance(tree, str):
        yield tree
        return
    inner = tree if isinstance(tree, tuple) else tuple(tree.values())
    for item in inner:
        yield from leaves(item)
    if not inner:
        yield ""


def flat(tree: Tree) -> str:
    """Return the text of all scalars without keys, one per line. Empty ones are left out."""
    return "\n".join(leaf for leaf in leaves(tree) if leaf)
