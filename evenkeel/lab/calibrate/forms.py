"""The form of an answer: a workflow, data, a list or prose. A score means something else for each."""

from __future__ import annotations

import re
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core.verdict import Failure
from evenkeel.metrics.structured.reading import Structure, read_structure
from evenkeel.metrics.structured.tree import LONGEST, UnreadableError
from evenkeel.metrics.workflow.diagrams import looks_like_node_edge
from evenkeel.metrics.workflow.reading import read_workflow
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.core.pair import Answer


Form = Literal["workflow", "prose", "list", "data"]
"""The parts of an answer: steps, sentences, items, or the values of JSON, YAML or XML."""

NAME: Final = "form"
VERSION: Final = 1
_DATA_FORMATS: Final = frozenset(("json", "yaml", "xml"))
_OPENING: Final = frozenset("{[<")
"""First characters of data that are not text."""
_LEAST_CALLS = 2
_LEAST_ITEMS = 2
_MAIN_SHARE = 0.5


def form_of(answer: Answer, task: str | None) -> Form | Failure:
    """Tell the form of an answer.

    In this order: "workflow" if the task says so and a workflow can be read, if at least two tools are
    called, or if the text is in the Node:/Edge: form; "data" if it is JSON, YAML or XML,
    alone, fenced or with a little talk around it; "list" if items make up at least half of it; else "prose".

    Returns: the form; a `Failure` "empty" without text and calls, "too_large" or "too_deep" beyond the limits
        of the readers, "single_call" for one tool call without text: nothing in it could be missing.
    """
    if len(answer.tool_calls) >= _LEAST_CALLS:
        return "workflow"
    if answer.tool_calls and not answer.text.strip():
        return Failure(NAME, VERSION, "single_call", "One tool call has no parts to degrade.")
    return _form_of_text(answer.text, named=task == "workflow")


def _form_of_text(text: str, *, named: bool) -> Form | Failure:
    if not text.strip():
        return Failure(NAME, VERSION, "empty", "The answer has no text.")
    found = read_structure(text)
    if isinstance(found, UnreadableError) and (len(text) > LONGEST or text.lstrip()[0] in _OPENING):
        return Failure(NAME, VERSION, found.reason, f"The answer cannot be read: {found}.")
    if _is_workflow(text, named=named):
        return "workflow"
    if isinstance(found, Structure) and found.format in _DATA_FORMATS:
        return "data"
    # Markdown beyond what metrics read as a tree can still be divided.
    return "list" if _is_list(text) else "prose"


def _is_workflow(text: str, *, named: bool) -> bool:
    if not named and not looks_like_node_edge(text):
        return False
    try:
        return bool(read_workflow(text).steps)
    except WorkflowError:
        return False


def _is_list(text: str) -> bool:
    lines = text.splitlines(keepends=True)
    items = item_of_each_line(lines)
    listed = [line for line, item in zip(lines, items, strict=True) if item is not None]
    said = sum(map(_size, listed)) / max(1, _size(text))
    return len({item for item in items if item is not None}) >= _LEAST_ITEMS and said >= _MAIN_SHARE


def _size(text: str) -> int:
    """Characters, white space aside."""
    return len("".join(text.split()))


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
_ENDED: Final = re.compile(r"[.!?:;…。\uff01\uff1f\uff1a\uff1b؟\u06d4।|][\"'”’»)\]*_`]*\s*$")
_LINE_END_SEEN = 12
"""Characters at the end of a line that are looked at."""
_LEAST_AT_MARGIN = 2


def item_of_each_line(lines: Sequence[str]) -> list[int | None]:
    """Return for each line the number of the list item that it belongs to; None outside of lists.

    Items are those of the least indented level that has two or more; what is indented further goes with the
    item above. Text that is not indented ends a list unless it goes on with a sentence of the line above.
    """
    coded = list(_coded(lines))
    marks = [
        None if code or FIXED.match(line.rstrip("\r\n")) else MARKER.match(line)
        for line, code in zip(lines, coded, strict=True)
    ]
    margin = _margin([_width(mark[1]) for mark in marks if mark])
    numbers = count()
    items: list[int | None] = []
    current: int | None = None
    within_code, above = False, ""
    for line, code, mark in zip(lines, coded, marks, strict=True):
        indent = _width(line[: len(line) - len(line.lstrip(" \t"))])
        if mark and indent == margin:
            current = next(numbers)
        elif current is not None:
            stays = not line.strip() or indent > (margin or 0) or (code and within_code)
            if not stays and not goes_on(above, line):
                current = None
        within_code, above = code, line
        items.append(current)
    return items


def goes_on(line: str, following: str) -> bool:
    """Tell whether a sentence seems to run over a line break: nothing ends it, and small letters follow."""
    after = following.lstrip()
    return bool(after) and after[0].islower() and not _ENDED.search(line[-_LINE_END_SEEN:])


def closes(line: str, opened: str) -> bool:
    """Tell whether a line ends the fenced block that `opened` began."""
    found = FENCE.match(line)
    return found is not None and found[1].startswith(opened) and not line[found.end() :].strip()


def _coded(lines: Sequence[str]) -> Iterator[bool]:
    """Tell for each line whether it belongs to a fenced block."""
    fence = ""
    for line in lines:
        if fence:
            yield True
            fence = "" if closes(line, fence) else fence
        else:
            opening = FENCE.match(line)
            fence = opening[1] if opening else ""
            yield opening is not None


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))


def _margin(indents: Sequence[int]) -> int | None:
    """The least indentation with at least two items, else the least of all; None without any."""
    usual = [indent for indent, times in Counter(indents).items() if times >= _LEAST_AT_MARGIN]
    return min(usual or indents, default=None)
