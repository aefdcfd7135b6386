"""Text in files that spreadsheets open."""

from __future__ import annotations

import re
from typing import Final

_FORMULA: Final = re.compile("(?:^|(?<=[;\t\r\n]))(?=[=+\\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\t\r\n])")
"""Where spreadsheets take what follows for a formula: before its first sign, also in its wide form, at the
beginning of a cell. Where commas stand for decimal points they begin another cell at a semicolon, and then
at the end of a line within quotes too."""


def harmless(text: str) -> str:
    """The text as a cell: with an apostrophe wherever a spreadsheet would take the rest for a formula."""
    return _FORMULA.sub("'", text)
