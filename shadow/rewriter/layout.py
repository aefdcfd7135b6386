"""The layout of a text: which marks begin its lines."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

_MARKS: Final = {
    "bulleted item": re.compile(r"^[ \t]*[-*+•・][ \t]+\S", re.MULTILINE),
    "numbered item": re.compile(r"^[ \t]*\d{1,3}[.)][ \t]+\S", re.MULTILINE),
    "lettered item": re.compile(r"^[ \t]*\(?[A-Za-z][.)][ \t]+\S", re.MULTILINE),
    "heading": re.compile(r"^[ \t]*#{1,6}[ \t]+\S", re.MULTILINE),
    "quoted line": re.compile(r"^[ \t]*>", re.MULTILINE),
    "table row": re.compile(r"^[ \t]*\|[^\n]*\|[ \t]*$", re.MULTILINE),
    "code fence": re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE),
}


def layout_of(text: str) -> Counter[str]:
    """How many lines begin with each kind of mark."""
    return Counter({name: len(mark.findall(text)) for name, mark in _MARKS.items()})


def layout_faults(before: str, after: str) -> list[str]:
    """How the layout of a rewriting differs: "3 bulleted items instead of 4"; empty if it does not."""
    had, has = layout_of(before), layout_of(after)
    return [
        f"{has[name]} {name if has[name] == 1 else f'{name}s'} instead of {had[name]}"
        for name in _MARKS
        if had[name] != has[name]
    ]
