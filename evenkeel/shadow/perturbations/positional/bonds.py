"""What must stay together or in order in a prompt, and whether another order of its passages keeps it.

Lead-ins and headings are tied to what follows; words that point ("above", 下記) to what they point at; what
stands under a heading to that heading; and what stands behind a document must not read as part of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby, pairwise, starmap
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.shadow.prompt.blocks import cut
from evenkeel.shadow.prompt.references import Reference, references

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from evenkeel.shadow.perturbations.positional.passages import Layout, Passage, Slot
    from evenkeel.shadow.prompt.references import Target

_HEADING: Final = re.compile(
    r"^[ \t]*(?:(?P<marks>\#{1,6})[ \t]+\S[^\n]*|(?:\*\*|__)[^*_\n]{1,80}(?:\*\*|__):?[ \t]*(?=\n|\Z)"
    r"|[A-ZÀ-Þ]{3}[A-ZÀ-Þ0-9 _&/()'’-]{1,56}:?[ \t]*(?=\n|\Z))",
    re.MULTILINE,
)
_BELOW_MARKS: Final = 7
"""Level of a heading in bold type or capitals, below those with marks."""
_LEAD_END: Final = re.compile(r"[:\uff1a][\"'*_)\s]*\Z")
_PARAGRAPH_END: Final = re.compile(r"\n[ \t\r]*\n")
_LIST_START: Final = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]")
_LABELLED: Final = re.compile(r"[^\n:\uff1a]{1,40}[:\uff1a]|\#|\*\*")
_TITLE: Final = re.compile(r"[^\W\d_a-z][\w'’-]*(?:[ ][\w'’-]+){0,4}")


class Heading(NamedTuple):
    """A heading above other passages."""

    level: int
    of: object
    """Names the passage and the place in it."""


def headings_in(passage: Passage) -> list[Heading]:
    """The headings of a passage, in order; those inside of documents and code are text like any other."""
    if any(piece.segment.type == "code" for piece in passage.pieces):
        return []
    found = [
        Heading(len(match["marks"]) if match["marks"] else _BELOW_MARKS, (passage.name, match.start()))
        for match in _HEADING.finditer(passage.text)
    ]
    return (
        found[:1]
        if passage.is_document and _begins_with_heading(passage)
        else []
        if passage.is_document
        else found
    )


def _begins_with_heading(passage: Passage) -> bool:
    return _HEADING.match(passage.text) is not None


def level_of(passage: Passage) -> int | None:
    """The level of the heading that a passage begins with, None if it begins with none."""
    return headings_in(passage)[0].level if _begins_with_heading(passage) and headings_in(passage) else None


def is_tied(passage: Passage, following: Passage) -> bool:
    """Whether a passage introduces the one behind it."""
    last = passage.pieces[-1]
    if passage.is_document or (last.segment.type == "code" and following.part != "z"):
        return False
    if last.mark in ("lead", "label") or (passage.part == "o" and last.mark == "opening"):
        return True
    text = last.segment.text.rstrip()
    above, _, line = text.rpartition("\n")
    return (
        following.part == "z"
        or _LEAD_END.search(line) is not None
        or _HEADING.fullmatch(line) is not None
        or following.part == "e"
        or _is_title(line, above)
        or ("\n\n" not in passage.gap and _LIST_START.match(following.text) is not None)
    )


def _is_title(line: str, above: str) -> bool:
    """Whether a line names what follows: a few words with a blank line before."""
    return _TITLE.fullmatch(line) is not None and not above.rpartition("\n")[2].strip()


def _waits(passage: Passage) -> bool:
    """Whether the last passage of a message introduces what the next message holds."""
    return passage.part in ("l", "o") or (
        passage.part == "t" and not passage.is_document and _LEAD_END.search(passage.text) is not None
    )


@dataclass(frozen=True, slots=True)
class _Placed:
    """A passage and where it stands."""

    passage: Passage
    run: object
    """Names it, or all documents beside it together."""
    under: tuple[object, ...]
    """The headings it stands under, the nearest last."""


def _placed(layouts: Sequence[Layout]) -> list[list[_Placed]]:
    found: list[list[_Placed]] = []
    for layout in layouts:
        stack: list[Heading] = []
        slot: list[_Placed] = []
        run: object = None
        for passage in layout.passages:
            own = headings_in(passage)
            level = level_of(passage)
            while level is not None and stack and stack[-1].level >= level:
                stack.pop()
            run = (run or ("documents", passage.name)) if passage.is_document else None
            slot.append(_Placed(passage, run or passage.name, tuple(one.of for one in stack)))
            for heading in own:
                while stack and stack[-1].level >= heading.level:
                    stack.pop()
                stack.append(heading)
        found.append(slot)
    return found


class Bonds:
    """The bonds of a prompt as it is."""

    def __init__(self, layouts: Sequence[Layout]) -> None:
        self._slots = _placed(layouts)
        self._order = [one for slot in self._slots for one in slot]
        self._runs = {one.passage.name: one.run for one in self._order}
        self._pointing = [
            (place, reference)
            for place, one in enumerate(self._order)
            if not one.passage.is_document
            for reference in (*_outer(one.passage), *_bare_question(one.passage))
        ]
        # A lead-in above another one speaks of all that follows.
        self._pointing += [
            (place, Reference(0, 0, "ahead", "any"))
            for place, (one, other) in enumerate(pairwise(self._order))
            if other.passage.part == "l" and _LEAD_END.search(one.passage.text)
        ]

    def fault(self, changed: Sequence[Layout]) -> str:
        """What another order of the passages breaks, in words; "" if nothing.

        Args:
            changed: Every layout of the prompt, those without a change included, in order.
        """
        after = _placed(changed)
        faults = (
            self._torn(after),
            self._misplaced(after),
            self._pointing_nowhere(after),
            self._swallowed(changed),
        )
        return next(filter(None, faults), "")

    def _neighbours(self, slots: Iterable[Sequence[_Placed]]) -> dict[object, tuple[object, object]]:
        """What stands before and behind each passage, runs of documents as one."""
        found: dict[object, tuple[object, object]] = {}
        for slot in slots:
            runs = [self._runs[one.passage.name] for one in slot]
            for place, one in enumerate(slot):
                before = runs[place - 1] if place else None
                behind = runs[place + 1] if place + 1 < len(runs) else None
                found[one.passage.name] = (before, behind)
        return found

    def _torn(self, after: Sequence[Sequence[_Placed]]) -> str:
        now = self._neighbours(after)
        runs = [run for slot in after for run, _ in groupby(self._runs[one.passage.name] for one in slot)]
        if len(runs) > len(set(runs)):
            return "documents that stand together would be parted"
        for slot in self._slots:
            for place, one in enumerate(slot[:-1]):
                if (
                    is_tied(one.passage, slot[place + 1].passage)
                    and now[one.passage.name][1] != slot[place + 1].run
                ):
                    return "a lead-in or heading would be parted from what follows it"
            last = slot[-1].passage
            if _waits(last) and now[last.name][1] is not None:
                return "a lead-in would be parted from what follows it"
        return ""

    def _misplaced(self, after: Sequence[Sequence[_Placed]]) -> str:
        was = {one.passage.name: one.under for one in self._order}
        if any(was[one.passage.name] != one.under for slot in after for one in slot):
            return "a part would stand under another heading"
        return ""

    def _pointing_nowhere(self, after: Sequence[Sequence[_Placed]]) -> str:
        if not self._pointing:
            return ""
        place_now = {
            one.passage.name: place for place, one in enumerate(one for slot in after for one in slot)
        }
        was, now = self._neighbours(self._slots), self._neighbours(after)
        last_before = _extremes(self._order, place_now, max)
        first_behind = _extremes(self._order[::-1], place_now, min)
        count = len(self._order)
        for place, reference in self._pointing:
            own = self._order[place].passage.name
            side = 0 if reference.direction == "back" else 1
            target: Target = reference.target
            bounds = last_before[place] if side == 0 else first_behind[count - 1 - place]
            if target not in bounds:
                if reference.end == 0:
                    continue
                target = "any"
            moved = target in bounds and (
                bounds[target] > place_now[own] if side == 0 else bounds[target] < place_now[own]
            )
            if moved or (target == "any" and was[own][side] != now[own][side]):
                pointing = "above" if side == 0 else "below"
                return f"words that point at what stands {pointing} would point at something else"
        return ""

    def _swallowed(self, changed: Sequence[Layout]) -> str:
        known = {(one.run, other.passage.name) for slot in self._slots for one, other in pairwise(slot)}
        new = (
            (one, other)
            for layout in changed
            for one, other in pairwise(layout.passages)
            if one.is_document and not other.is_document and (self._runs[one.name], other.name) not in known
        )
        return "a part would read as the end of a document" if any(starmap(_reads_on, new)) else ""


def _reads_on(document: Passage, following: Passage) -> bool:
    """Whether a reader would take what stands behind a document for a part of it."""
    text = f"{document.text}\n\n"
    at = 0
    for block in cut(text + _PARAGRAPH_END.split(following.text, maxsplit=1)[0]):
        at += len(block.text)
        if at == len(text):
            return False
    return True


def _bare_question(passage: Passage) -> tuple[Reference, ...]:
    """A user's question without a label stays behind the documents that it stands behind."""
    text = passage.text
    is_bare = (
        passage.part == "i"
        and text.endswith(("?", "\uff1f"))
        and "\n" not in text
        and not _LABELLED.match(text)
    )
    return (Reference(0, 0, "back", "context"),) if is_bare else ()


def _outer(passage: Passage) -> list[Reference]:
    return [
        one
        for piece in passage.pieces
        if piece.segment.type not in ("code", "document")
        for one in references(piece.segment.text)
    ]


def _extremes(
    order: Sequence[_Placed], place_now: Mapping[tuple[Slot, int], int], furthest: Callable[[int, int], int]
) -> list[dict[Target, int]]:
    """For each passage: how far those before it have gone, by what they are."""
    found: list[dict[Target, int]] = []
    known: dict[Target, int] = {}
    for one in order:
        found.append(dict(known))
        kind: Target = (
            "context" if one.passage.part in "ci" else "output" if one.passage.part == "u" else "any"
        )
        for target in {kind, "any"}:
            now = place_now[one.passage.name]
            known[target] = furthest(known[target], now) if target in known else now
    return found
