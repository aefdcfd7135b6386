"""Order of a prompt's passages: what must stay together or in order, and whether a new order keeps it.

Lead-ins and headings are tied to what follows; words that point ("above", 下記) to what they point at; what
stands under a heading to that heading; and what stands behind a document must not read as part of it.
"""

from __future__ import annotations

import re
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.blocks import cut
from evenkeel.shadow.prompt.references import references

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.shadow.perturbations.positional.passages import Layout, Passage
    from evenkeel.shadow.prompt.references import Direction, Target

    Name = tuple[tuple[int, int | None], int]

_LABELLED: Final = re.compile(r"[^\n:\uff1a]{1,40}[:\uff1a]|\#|\*\*")
_THESE: Final = re.compile(
    r"\b(?:these|those|diesen?|dieser|deze|ces|est[ao]s|quest[ei]|estes)\b(?![^\n:\uff1a]{0,80}[:\uff1a])"
    r"|これらの|这些",
    re.IGNORECASE,
)
"""Words that refer to the text just before, unless a colon after them shows otherwise."""
_PARAGRAPH_END: Final = re.compile(r"\n[ \t\r]*\n")


def broken(before: Sequence[Layout], after: Sequence[Layout]) -> str:
    """Return a description of what another order of the passages breaks; "" if nothing.

    Too strict is harmless: such a move is not made.
    """
    were, are = _Order(before), _Order(after)
    if were.document_runs < are.document_runs:
        return "documents that stand together would be parted"
    faults = (_broken_bond(passage, were, are) for passage in were.passages)
    fault = next(filter(None, faults), "")
    if fault:
        return fault
    known = {(_run(one), other.name) for one, other in were.pairs}
    if any((_run(one), other.name) not in known and _reads_on(one, other) for one, other in are.pairs):
        return "a part would read as the end of a document"
    return ""


def _broken_bond(passage: Passage, were: _Order, are: _Order) -> str:
    name = passage.name
    if passage.introduces and were.beside(name, "ahead") != are.beside(name, "ahead"):
        return "a lead-in or heading would be parted from what follows it"
    if name in were.stacked and were.on_side(name, "ahead", "any") - are.on_side(name, "ahead", "any"):
        return "a lead-in above another one speaks of all that follows"
    if were.headings[name] != are.headings[name]:
        return "a part would stand under another heading"
    if passage.is_document:
        return ""
    for direction, target in _pointers(passage):
        meant = were.on_side(name, direction, target)
        moved = meant - are.on_side(name, direction, target)
        is_beside = were.beside(name, direction) == are.beside(name, direction)
        if moved or (not is_beside and (target == "any" or not meant)):
            side = "above" if direction == "back" else "below"
            return f"words that point at what stands {side} would point at something else"
    return ""


class _Order:
    """Positions of the passages in a prompt."""

    def __init__(self, layouts: Sequence[Layout]) -> None:
        self.passages = [passage for layout in layouts for passage in layout.passages]
        self._place = {passage.name: place for place, passage in enumerate(self.passages)}
        self.pairs = [pair for layout in layouts for pair in pairwise(layout.passages)]
        self._behind = {one.name: _run(other) for one, other in self.pairs}
        self._before = {other.name: _run(one) for one, other in self.pairs}
        runs = [is_run for layout in layouts for is_run, _ in groupby(p.is_document for p in layout.passages)]
        self.document_runs = sum(runs)
        self.headings = dict(_headings(layouts))
        self.stacked = {one.name for one, other in self.pairs if one.introduces and other.part == "l"}

    def beside(self, name: Name, direction: Direction) -> object:
        """Return the neighbour of a passage in its message; a document stands for all documents."""
        return (self._before if direction == "back" else self._behind).get(name)

    def on_side(self, name: Name, direction: Direction, target: Target) -> set[Name]:
        """Return the passages before or after a passage that may be the target of a reference."""
        place = self._place[name]
        side = self.passages[:place] if direction == "back" else self.passages[place + 1 :]
        return {passage.name for passage in side if passage.part in _PARTS[target]}


_PARTS: Final[dict[Target, str]] = {"context": "ci", "output": "u", "any": "ciuetl"}


def _run(passage: Passage) -> object:
    return "documents" if passage.is_document else passage.name


def _headings(layouts: Sequence[Layout]) -> Iterator[tuple[Name, tuple[Name, ...]]]:
    """Yield each passage with the headings above it, the nearest last."""
    for layout in layouts:
        stack: list[tuple[int, Name]] = []
        for passage in layout.passages:
            level = passage.level
            while level is not None and stack and stack[-1][0] >= level:
                stack.pop()
            yield passage.name, tuple(name for _, name in stack)
            if level is not None and not passage.is_document:
                stack.append((level, passage.name))


def _pointers(passage: Passage) -> Iterator[tuple[Direction, Target]]:
    """Yield the directions and targets of a passage's references."""
    for segment, _ in passage.pieces:
        if segment.type not in ("code", "document"):
            yield from ((one.direction, one.target) for one in references(segment.text))
    text = passage.text
    if passage.part == "u" and _THESE.search(text):
        yield "back", "any"  # "exactly these keys"
    is_question = text.endswith(("?", "\uff1f")) and "\n" not in text and not _LABELLED.match(text)
    if passage.part == "i" and is_question:
        yield "back", "context"  # a user's question without a label stays behind what it stands behind


def _reads_on(document: Passage, following: Passage) -> bool:
    """Return whether a reader would take the text after a document for a part of it."""
    if not document.is_document or following.is_document:
        return False
    text = f"{document.text}\n\n"
    at = 0
    for block in cut(text + _PARAGRAPH_END.split(following.text, maxsplit=1)[0]):
        at += len(block.text)
        if at == len(text):
            return False
    return True
