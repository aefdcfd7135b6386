"""Thoughts that a model writes in front of its answer, and that some servers leave in the text."""

from __future__ import annotations

import re
from typing import Final

_TAGS: Final = "think|thinking|thought|thoughts|reasoning"
_IN_TAGS: Final = re.compile(
    rf"\s*(?:<(?P<tag>{_TAGS})>.*?</(?P=tag)>|\[THINK\].*?\[/THINK\])", re.DOTALL | re.IGNORECASE
)
_CLOSED: Final = re.compile(rf"</(?:{_TAGS})>|\[/THINK\]", re.IGNORECASE)
"""End of thoughts whose beginning the chat template has written."""
_OPENED: Final = re.compile(rf"\s*(?:<(?:{_TAGS})>|\[THINK\])", re.IGNORECASE)
_FINAL_CHANNEL: Final = re.compile(r"<\|channel\|>final\b[^<]{0,80}<\|message\|>")
"""Beginning of the answer in OpenAI's harmony format."""


def without_thoughts(text: str) -> str:
    """Return the part of a text that follows the thoughts at its head; the whole text without any.

    Forms: `<think>…</think>` and its sisters, several in a row; `[THINK]…[/THINK]`; an end tag whose
    beginning is missing; the channels of OpenAI's harmony format. Thoughts that never end leave nothing.
    """
    if text.lstrip().startswith("<|channel|>"):
        final = _FINAL_CHANNEL.search(text)
        return text[final.end() :] if final else ""
    place = 0
    while thought := _IN_TAGS.match(text, place):
        place = thought.end()
    rest = text[place:]
    if _OPENED.match(rest):
        return ""
    if place or rest.lstrip().startswith(("{", "[", "<", "`")):
        return rest  # An end tag in there is quoted.
    closed = _CLOSED.search(rest)
    return rest[closed.end() :] if closed else rest
