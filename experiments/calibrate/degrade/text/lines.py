"""What the lines of a Markdown text are, as far as sentences and items need it."""

from __future__ import annotations

import re
from typing import Final

FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})")
MARKER: Final = re.compile(
    r"([ \t]*+)((?:[-*+•‣–]|\(?\d{1,4}[.)]|[a-zA-Z][)])[ \t]+(?:\[[ xX]\][ \t]+)?"
    r"|\d{1,4}[、\uff0e][ \t]*)(?=\S)"
)
"""A bullet or a number before an item: indentation, then the mark with the space behind it."""
FIXED: Final = re.compile(
    # A heading, a rule, the rule of a table, or a title all in bold. No space is tried twice.
    r"[ \t]*+(?:#{1,6}[ \t].*|(?:[-*_=][ \t]*+){3,}+|\|?(?:[ \t]*+:?-++:?[ \t]*+\|)++[ \t:-]*+"
    r"|(?:\*\*|__)[^*_\n]{1,80}(?:\*\*:?|__:?|:\*\*))[ \t]*$"
)
TABLE_ROW: Final = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_ENDED: Final = re.compile(r"[.!?:;…。\uff01\uff1f\uff1a\uff1b؟\u06d4।|][\"'”’»)\]*_`]*\s*$")


def goes_on(line: str, following: str) -> bool:
    """Whether a sentence seems to run over a line break: nothing ends it, and small letters follow."""
    after = following.lstrip()
    return bool(after) and after[0].islower() and not _ENDED.search(line[-_SEEN:])


_SEEN = 12
"""Characters at the end of a line that are looked at."""


def closes(line: str, opened: str) -> bool:
    """Whether a line ends the fenced block that `opened` began."""
    found = FENCE.match(line)
    return found is not None and found[1].startswith(opened) and not line[found.end() :].strip()
