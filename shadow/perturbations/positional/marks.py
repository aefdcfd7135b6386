"""Lines that belong to what they stand beside: lead-ins, labels, fences and other delimiters."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

Mark = Literal["body", "lead", "label", "opening", "closing", "inline"]
"""What a piece of text is to its neighbours: something of its own; the line that introduces what
follows; the name of a document; the delimiter before or behind something; or the rest of a line that a
value was filled into."""

COLONS: Final = (":", "\uff1a")
"""What a lead-in ends in, the wide form of Chinese and Japanese included."""

_FENCE: Final = r"`{3,}[\w+-]*|~{3,}[\w+-]*|\"{3}|'{3}|`|\"|'|“|«"
_OPENING: Final = re.compile(
    rf"(?:{_FENCE}|<(?!/|END)[A-Za-z][^<>\n]{{0,120}}>|\[(?!/|END)[A-Z_]{{2,60}}\]"
    r"|[-=*#_ ]{0,8}\b(?:BEGIN|START)\b[^\n]{0,60}|-{3,}|={3,})"
)
_CLOSING: Final = re.compile(
    rf"(?:{_FENCE}|”|»|</[^<>\n]{{1,120}}>|<END[^<>\n]{{1,60}}>|\[(?:/|END)[A-Z_ ]{{0,60}}\]"
    r"|[-=*#_ ]{0,8}\bEND(?:\b|_)[^\n]{0,60}|-{3,}|={3,})"
)
_PAIRED: Final = {"“": "”", "«": "»"}
_WORDS: Final = re.compile(r"\w+")
_LABEL: Final = re.compile(
    r"(?:\#{1,6}[ ]*|\*\*)?(?:"
    r"\[?(?:[^\W\d_]{2,20}[ _-]?){1,2}(?:\#|n[ro]\.?|№)?[ ]?[\[(]?(?:\d{1,4}|[A-Z])[\])]{0,2}"
    r"|\#\d{1,4}|[\[(](?:\d{1,4}|[A-Z])[\])][ ]?[^.\n]{0,120})"
    r"(?:\*\*)?[ ]*(?:[:\uff1a)\]–-].{0,120})?(?:\*\*)?"
)
_DOCUMENT_TAG: Final = re.compile(
    r"<(?:(?:doc(?:ument)?|source|passage|article|snippet|excerpt|result|record|file|page)"
    r"(?:[ _-]?\d+)?(?![\w-])"
    r"|[A-Za-z][\w-]*\s[^<>]*\b(?:id|index|n|no|number|name|title|source)\s*=)",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(r"(?:[.!?:\uff1a。]|\A)[\"'”)*_]*\s*\Z")
_TITLE: Final = re.compile(r"[^\W\d_a-z][\w'’-]*(?:[ ][\w'’-]+){0,4}")
"""Of a section, on a line with a blank one before it."""
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]")
_MOST_MARKS = 6
"""Lines looked at before a value: delimiter, label, delimiter, lead-in, and some to spare."""
_LONGEST_LEAD = 600
_LONGEST_HEADING = 60
_LONGEST_LABEL = 100


class Cut(NamedTuple):
    """A stretch of a text that begins here, up to the next cut or the end."""

    start: int
    mark: Mark


def tail_cuts(text: str, *, glued: bool, delimiters: bool = True) -> list[Cut]:
    """Which lines at the end of a text belong to what follows it, in order.

    Args:
        text: What stands before a value, a document or a block.
        glued: Whether that goes on in the last line of the text.
        delimiters: Whether fences, tags and labels count, or only lead-ins and headings.
    """
    cuts: list[Cut] = []
    end = len(text.rstrip())
    for _ in range(_MOST_MARKS):
        if not end:
            break
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip()
        mark = _tail_mark(line, glued=glued and not cuts, delimiters=delimiters)
        if mark is None and not delimiters and not text[: max(start - 1, 0)].rpartition("\n")[2].strip():
            mark = "lead" if _TITLE.fullmatch(line) else None
        if mark is None:
            break
        if mark == "lead":
            start = _sentence_start(text, start)
        cuts.append(Cut(start, mark))
        if mark == "lead":
            break
        end = len(text[:start].rstrip())
    return cuts[::-1]


def _tail_mark(line: str, *, glued: bool, delimiters: bool) -> Mark | None:
    if delimiters and _OPENING.fullmatch(line):
        return "opening"
    if delimiters and is_label(line):
        return "label"
    if glued:
        return "inline"
    return "lead" if _introduces(line) else None


def head_end(text: str, *, glued: bool) -> tuple[int, Mark] | None:
    """The first line of a text if it belongs to what stands before: where it ends and what it is.

    Args:
        text: What stands behind a value; its first line is looked at.
        glued: Whether that value ends in this line.
    """
    start = len(text) - len(text.lstrip())
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    if _CLOSING.fullmatch(text[start:end].strip()):
        return end, "closing"
    return (end, "inline") if glued else None


def closes(opening: str, closing: str) -> bool:
    """Whether one line ends what another begins."""
    if opening[0] in "<[-=*#_B" and any(letter.isalpha() for letter in opening):
        words = [word.removeprefix("BEGIN_") for word in _WORDS.findall(opening)]
        named = [word for word in words if word not in ("BEGIN", "START")]
        ends = [word.removeprefix("END_") for word in _WORDS.findall(closing) if word != "END"]
        return bool(named and ends) and named[0] == ends[0]
    if opening[:3] in ("```", "~~~"):
        return closing == opening[: len(opening) - len(opening.lstrip(opening[0]))]
    return closing == _PAIRED.get(opening, opening)


def is_label(line: str) -> bool:
    """Whether a line names one of several things: "Doc 1:", "[2]", "### Source B"."""
    return not line.endswith((".", "!", "?")) and _LABEL.fullmatch(line) is not None


def begins_document(line: str) -> bool:
    """Whether a line begins a document: its label, with a title or its first sentence, or its tag."""
    return _LABEL.fullmatch(line[:_LONGEST_LABEL]) is not None or opens_document(line)


def opens_document(line: str) -> bool:
    """Whether a tag begins one of several documents: `<document id="3">`, `<source>`, `<doc_2>`."""
    return _DOCUMENT_TAG.match(line) is not None


def _introduces(line: str) -> bool:
    if line.endswith((*COLONS, ":**", ":*", ":_")):
        return True
    return len(line) <= _LONGEST_HEADING and (
        line.startswith("#") or line.isupper() or (line.startswith("**") and line.endswith("**"))
    )


def _sentence_start(text: str, start: int) -> int:
    """Where the sentence that a line ends begins, lines wrapped by hand included."""
    if text[start:].startswith("#"):
        return start
    first = start
    while first > 0 and start - first < _LONGEST_LEAD:
        before = text.rfind("\n", 0, first - 1) + 1
        line = text[before : first - 1]
        if not line.strip() or _SENTENCE_END.search(line) or line.lstrip().startswith("#"):
            break
        if _ITEM.match(line):
            return start
        first = before
    return first
