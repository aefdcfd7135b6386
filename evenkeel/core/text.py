"""Text from outside, made safe for labels, UTF-8, spreadsheets, terminals and Markdown.

Clients and endpoints choose names of any length, JSON can carry half characters (lone surrogates) as
escapes, and spreadsheets take some texts for formulas. HTML is escaped by the templates themselves (jinja2
with autoescape).
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_NAME: Final = 200
"""Maximum number of characters of a name. Names of models are below 100; a longer one is probably an
attack."""
UNWRITABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that no name contains: controls, line ends, overrides of the writing direction, surrogates."""


def named(text: str) -> str:
    """Return a name cut to `LONGEST_NAME` characters."""
    return text[:LONGEST_NAME]


def named_if(text: str | None) -> str | None:
    """Return a name cut to `LONGEST_NAME` characters; None for None or ""."""
    return named(text) if text else None


_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def well_formed(text: str) -> str:
    r"""Return the text in a form that UTF-8 can hold.

    Two surrogates that belong together become their character: servers that cut a stream anywhere send
    `"\ud83d"` and `"\ude00"` in two events. A lone one becomes U+FFFD.
    """
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


_IN_STRINGS_ALONE: Final = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(document: str) -> str:
    """Return a JSON text that is valid UTF-8 and safe to show in a terminal.

    Lone surrogates, controls and overrides of the writing direction occur only within strings and are escaped
    there; JSON escapes the other controls itself.
    """
    return _IN_STRINGS_ALONE.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def label(text: str) -> str:
    """Return the text as a Prometheus label: what could break a line of the exposition is replaced."""
    return text if text.isascii() and text.isprintable() else UNWRITABLE.sub("\ufffd", text)


_CONTROLS: Final = dict.fromkeys(
    [
        *(code for code in range(0x20) if chr(code) not in "\t\n\r"),
        *range(0x7F, 0xA0),
        *range(0x202A, 0x202F),  # embeddings and overrides of the writing direction
        *range(0x2066, 0x206A),  # isolates
    ],
    "\ufffd",
)
# Runs of blanks and line breaks. Non-breaking spaces are left, because they belong to figures.
_BLANKS: Final = re.compile(r"[^\S\u00a0\u202f]+")
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")


def visible(text: str) -> str:
    """Return the text with control characters and overrides of the writing direction replaced."""
    return text if text.isprintable() else well_formed(text).translate(_CONTROLS)


def one_line(text: str, longest: int | None = None) -> str:
    """Return the text on one line, cut if it is longer than `longest` characters."""
    line = visible(_BLANKS.sub(" ", text).strip())
    return line if longest is None or len(line) <= longest else f"{line[: longest - 1]}…"


def markdown(text: str) -> str:
    """Return the text on one line, escaped so that Markdown and HTML within it show it as it is."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))
