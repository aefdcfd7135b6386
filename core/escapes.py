"""Text from outside, made safe for where it is shown: terminals, pages and Markdown.

HTML is escaped by the templates themselves (jinja2 with autoescape), cells of spreadsheets by
`evenkeel.core.spreadsheets`.
"""

from __future__ import annotations

import re
from typing import Final

from evenkeel.core.text import well_formed

_CONTROLS: Final = dict.fromkeys(
    [
        *(code for code in range(0x20) if chr(code) not in "\t\n\r"),
        *range(0x7F, 0xA0),
        *range(0x202A, 0x202F),  # embeddings and overrides of the writing direction
        *range(0x2066, 0x206A),  # isolates
    ],
    "\ufffd",
)
_BLANKS: Final = re.compile(r"[^\S\u00a0\u202f]+")
"""Runs of blanks and line breaks; spaces that do not break belong to figures."""
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")


def visible(text: str) -> str:
    """The text with characters that show nothing, mislead or steer a terminal made visible."""
    return well_formed(text).translate(_CONTROLS)


def one_line(text: str, longest: int | None = None) -> str:
    """The text on one line, cut if it is longer than so many characters."""
    line = visible(_BLANKS.sub(" ", text).strip())
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def markdown(text: str, longest: int | None = None) -> str:
    """Text on one line that Markdown, and HTML within it, shows as it is."""
    return _MARKDOWN.sub(r"\\\1", one_line(text, longest))
