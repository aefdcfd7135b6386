"""Markdown into a tree, by way of HTML: what looks alike to a reader is alike."""

from __future__ import annotations

import re
from functools import lru_cache

from markdown_it import MarkdownIt

from evenkeel.metrics.structured.html_reader import repair_html
from evenkeel.metrics.structured.tree import Tree, UnreadableError

_LONGEST = 60_000
"""Parsing takes about a second for 300,000 characters, and longer where brackets pile up."""
_CONSTRUCT = re.compile(
    r"^[ ]{0,3}(?:#{1,6}[ ]+\S|[-*+][ ]+\S|\d{1,3}[.)][ ]+\S|>[ ]?\S|\|.*\||(?:```|~~~)"
    r"|\*\*[^*\n]{1,60}\*\*:?|__[^_\n]{1,60}__:?)",
    re.MULTILINE,
)
_FENCE = re.compile(r"^[ ]{0,3}(?:```|~~~)", re.MULTILINE)


def construct_count(text: str) -> int:
    """How many lines of a text begin with a mark of Markdown: heading, list, table, quote, fence, bold."""
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
