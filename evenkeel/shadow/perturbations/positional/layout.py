"""The text of a slot as units that may stand in another order.

A model lists them and what binds them once for a template (`listing`); without one the text itself shows
what is plainly free: numbered or tagged documents, demonstrations, and parts with a label of their own in a
prompt without any word that points.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.shadow.prompt.blocks import CLOSED, cut
from evenkeel.shadow.prompt.demonstrations import open_input
from evenkeel.shadow.prompt.references import (
    ends_in_a_question,
    labels_a_request,
    orders,
    points_ahead,
    points_back,
    points_by_order,
    refers,
)
from evenkeel.shadow.prompt.segments import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.shadow.prompt import PromptView, Segment

Slot = tuple[int, int | None]
Part = Literal["context", "examples", "output", "question", "other"]
PARTS: Final[tuple[Part, ...]] = ("context", "examples", "output", "question", "other")

_LEADS: Final = re.compile(r"[:\uff1a][\"'*_)\s]*\Z")
_HEADING: Final = re.compile(
    r"[ \t]*(?:\#{1,6}[ \t]+\S[^\n]*|(?:\*\*|__)[^*_\n]{1,80}(?:\*\*|__):?[ \t]*"
    r"|[A-ZÀ-Þ]{3}[A-ZÀ-Þ0-9 _&/()'’-]{1,56}:?)(?=\n|\Z)"
)
# An indented "#" begins a comment in code.
_LABELLED: Final = re.compile(
    r"\s*(?:(?<![ \t])\#{1,6}\s|\*\*"
    r"|[^\W\d_][^\n:\uff1a.!?]{0,40}[:\uff1a]|<[A-Za-z]|\[\d{1,3}\]|\"{3}|'{3}|`{3})"
)
_PART_MARK: Final = re.compile(r"\#{1,6}\s|\*\*|<[A-Za-z]")
# Beginnings of what the words before it announce: a form, code, a table.
_STRUCTURE: Final = ("{", "[", "<", "`", "|", "~")
_BLANK: Final = re.compile(r"\n[ \t\r]*\n\s*\Z")
_PARAGRAPH: Final = re.compile(r"(?>(?:[^\n]*\S[^\n]*(?:\n|\Z))+)\s*+|\s++")
_TAG: Final = re.compile(
    r"<(?P<name>[A-Za-z][\w.-]*)(?:\s[^<>\n]*)?>|^[ \t]*(?P<fence>`{3,}|~{3,}|\"{3}|'{3})",
    re.MULTILINE,
)
# The beginning of a step, a turn or an entry of a log.
_EVENT: Final = re.compile(
    r"[\W_]*(?:step|turn|day|week|round|phase|stage|chapter|message|update|event|reply|comment|post|schritt|tag|paso"
    r"|étape|passo|stap|e-?mail)\s?\#?\d|[\W_]*(?:\d{4}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d{2}|\d{4}年|\d{1,2}月)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of a slot that moves as a whole."""

    start: int
    end: int
    part: Part
    joined: bool = False
    """True if it must stand directly behind the unit before it."""
    needs: frozenset[int] = frozenset()
    """Numbers of the units that must stand somewhere before it."""
    free: bool = False
    """True if it may change places with its neighbours of the same part."""
    fixed: bool = False
    """True if it must stay where it is, at the beginning or the end."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The units of a slot, which tile its text."""

    slot: Slot
    text: str
    units: tuple[Unit, ...]

    groups: tuple[tuple[int, ...], ...] = field(init=False)
    """Numbers of the units, those together that must stay so."""
    parts: tuple[Part, ...] = field(init=False)
    """Part of each group: that of its units but for what leads in to them."""

    def __post_init__(self) -> None:
        groups: list[list[int]] = []
        for number, unit in enumerate(self.units):
            if unit.joined and groups:
                groups[-1].append(number)
            else:
                groups.append([number])
        object.__setattr__(self, "groups", tuple(map(tuple, groups)))
        object.__setattr__(self, "parts", tuple(map(self._part, groups)))

    def _part(self, group: Sequence[int]) -> Part:
        parts = {self.units[number].part for number in group} - {"other"}
        return parts.pop() if len(parts) == 1 else "other"

    def are_alike(self, number: int, other_number: int) -> bool:
        """Return whether two groups are of one part and may change places."""
        first, second = (self.units[self.groups[group][0]] for group in (number, other_number))
        return first.free and second.free and first.part == second.part

    def holds(self, order: Sequence[int]) -> bool:
        """Return whether an order keeps all bonds, and no group would seem to continue the one before it."""
        groups = self.groups
        if any(self._is_fixed(group) and order[group] != group for group in range(len(groups))):
            return False
        position: dict[int, int] = {}
        for at, group in enumerate(order):
            for number in groups[group]:
                position[number] = at
        for number, unit in enumerate(self.units):
            if any(position[other] > position[number] for other in unit.needs):
                return False
        for part in ("context", "examples"):
            # Documents that stood together must not be torn apart.
            if self._runs(part, order) > self._runs(part, range(len(groups))):
                return False
        for before, other in pairwise(order):
            is_new_neighbour = other != before + 1
            if is_new_neighbour and self._reads_on(groups[before][-1], groups[other][0]):
                return False
        return True

    def _runs(self, part: Part, order: Sequence[int]) -> int:
        runs = 0
        is_inside = False
        for group in order:
            runs += self.parts[group] == part and not is_inside
            is_inside = self.parts[group] == part
        return runs

    def _is_fixed(self, group: int) -> bool:
        return any(self.units[number].fixed for number in self.groups[group])

    def _reads_on(self, first: int, other: int) -> bool:
        """Return whether a unit would read as the end of the document or of the demonstrations before it."""
        part = self.units[first].part
        if part not in ("context", "examples") or part == self.units[other].part:
            return False
        return not (CLOSED.search(self.written(first)) or _LABELLED.match(self.written(other)))

    def written(self, number: int) -> str:
        """Return the text of a unit without the blanks behind it."""
        unit = self.units[number]
        return self.text[unit.start : unit.end].rstrip()

    def arranged(self, order: Sequence[int]) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and the blanks behind of each unit, for an order of the groups.

        Those that were neighbours before stay as far apart, and the items of a row; between other neighbours
        stands a blank line. The end of the slot stays as it was.
        """
        groups = self.groups
        for position, group in enumerate(order):
            following = order[position + 1] if position + 1 < len(order) else None
            for number in groups[group]:
                unit, core = self.units[number], self.written(number)
                gap = self.text[unit.start + len(core) : unit.end]
                if number == groups[group][-1]:
                    if following is None:
                        gap = self.text[len(self.text.rstrip()) :]
                    elif following != group + 1:
                        gap = self._gap_before(groups[following][0], unit, gap)
                yield unit.start, unit.start + len(core), gap

    def _gap_before(self, number: int, above: Unit, gap: str) -> str:
        """Return the blanks between a unit and the one that now stands above it.

        Args:
            number: Of the unit.
            above: The one above it, which was not its neighbour.
            gap: What stands behind that.
        """
        before = self.text[: self.units[number].start]
        part = self.units[number].part
        if part != "other" and above.part == part:
            # Items of a row stay as far apart as they were.
            in_row = number > 0 and self.units[number - 1].part == part
            row = before[len(before.rstrip()) :] if in_row else gap
            if "\n" in row:
                return row
        return "\n\n" + before[len(before.rstrip(" \t")) :]


def laid_out(view: PromptView, layout: Layout, order: Sequence[int]) -> PromptView:
    """Return the prompt with the units of a slot in another order."""
    own = []
    for segment in view.segments:
        if segment.slot == layout.slot:
            own.append(segment)
    starts: list[int] = []
    at = 0
    for segment in own:
        starts.append(at)
        at += len(segment.text)
    pieces: list[Segment] = []
    lead = layout.text[: layout.units[0].start]
    for start, end, gap in layout.arranged(order):
        first = len(pieces)
        for segment, begin in zip(own, starts, strict=True):
            text = layout.text[max(start, begin) : min(end, begin + len(segment.text))]
            if text and begin < end:
                pieces.append(replace(segment, text=text))
        pieces[first] = replace(pieces[first], text=lead + pieces[first].text)
        pieces[-1] = replace(pieces[-1], text=pieces[-1].text + gap)
        lead = ""
    return view.recut([*(segment for segment in view.segments if segment.slot != layout.slot), *pieces])


def slots_of(view: PromptView) -> list[tuple[Slot, list[Segment]]]:
    """Return the slots of a prompt whose parts may move: no history, no earlier turns, and some text."""
    segments_of: dict[Slot, list[Segment]] = {}
    for segment in view.segments:
        segments_of.setdefault(segment.slot, []).append(segment)
    last = view.last_user_slot
    movable: list[tuple[Slot, list[Segment]]] = []
    for slot, segments in segments_of.items():
        is_earlier = segments[0].role == "user" and last is not None and slot[0] != last[0]
        is_history = any(segment.kind == "history" for segment in segments)
        has_text = any(segment.text.strip() for segment in segments)
        if has_text and not is_history and not is_earlier:
            movable.append((slot, segments))
    return movable


def by_rule(view: PromptView) -> list[Layout]:
    """Return the layouts of a prompt as far as the texts themselves show them."""
    slots = slots_of(view)
    own_words: list[str] = []
    for _, segments in slots:
        for part, piece in _pieces(text_of(segments)):
            # Of a document only what may follow it: "the second rule" in its text points at nothing here.
            own_words.append(piece.partition("\n\n")[2] if part in _SHOWN else piece)
    by_order = points_by_order("\n".join(own_words))
    return [_layout(slot, segments, by_order=by_order) for slot, segments in slots]


def _layout(slot: Slot, segments: Sequence[Segment], *, by_order: bool) -> Layout:
    """Return the layout of a slot; `by_order` if words of any slot speak of the places of documents."""
    text = text_of(segments)
    units = _units(text)
    if len(units) > _MOST_UNITS:
        return Layout(slot, text, (Unit(units[0].start, len(text), "other"),))
    units = _joined_inside(units, sorted([*_values(segments), *_enclosures(text)]))
    units = _joined_under_headings(text, units)
    if units and (open_input(text) or _leads(text, "other")):
        units[-1] = replace(units[-1], fixed=True)
    if not by_order:
        units = _freed(text, units)
    return Layout(slot, text, tuple(_kept_in_order(text, units, by_order=by_order)))


# Most units of a slot that are told apart: every order is checked against all of them.
_MOST_UNITS: Final = 150
# Parts that hold texts of others.
_SHOWN: Final = ("context", "examples")
_PART_OF: Final[dict[str, Part]] = {
    "document": "context",
    "examples": "examples",
    "output_instructions": "output",
}


def _pieces(text: str) -> Iterator[tuple[Part, str]]:
    """Yield the parts of a text in order: blocks of one type, plain text by paragraph."""
    for block in cut(text):
        if block.type == "text":
            for paragraph in _PARAGRAPH.findall(block.text):
                yield "other", paragraph
        else:
            yield _PART_OF.get(block.type, "other"), block.text


def _units(text: str) -> list[Unit]:
    """Return the units of a text, each joined to the one before it unless a mark shows where it begins."""
    units: list[Unit] = []
    lead = len(text) - len(text.lstrip())
    end = 0
    in_document = False
    """True behind a document that may go on: nothing has shown yet where it ends."""
    listed = False
    """True behind a bare heading such as "Examples:", whose demonstrations are what follows."""
    for part, piece in _pieces(text):
        start, end = max(end, lead), end + len(piece)
        if start >= end:
            continue
        if units and text[start - 1] != "\n":
            # What stands in one line with other words is no part by itself.
            units[-1] = replace(units[-1], end=end, part="other")
            continue
        if part == "examples":
            listed = _leads(piece, part)
        if part == "context" and units and units[-1].part == "examples":
            # Few-shot examples that bear the label of a document: "Ticket: …". A further labelled text may be
            # the input itself, so it stays joined unless a heading introduced a list.
            units.append(Unit(start, end, "examples", joined=not listed))
            continue
        joined = bool(units) and _continues(text, units[-1], part, piece, in_document=in_document)
        in_document = part in _SHOWN or (joined and in_document)
        units.append(Unit(start, end, part, joined))
    return units


def _continues(text: str, before: Unit, part: Part, piece: str, *, in_document: bool) -> bool:
    """Return whether a piece belongs to the unit before it, or may do so."""
    written = text[before.start : before.end]
    if _leads(written, before.part) or (before.part != part and not _BLANK.search(written)):
        return True
    if part in _SHOWN:
        return False
    if part == "other":
        if before.part == "output" and not (labels_a_request(piece) or _HEADING.match(piece)):
            # "Output: a YAML document", and what the document is to look like.
            return True
        # "class Node:" looks like a label, and may be a document's code.
        if in_document and not (_PART_MARK.match(piece.lstrip()) or orders(piece.strip())):
            return True
    if _LABELLED.match(piece):
        return part == "other" and piece.lstrip()[:1] in _STRUCTURE
    # A paragraph without a label says more about what stands before it, as a question does.
    is_open = before.part in _SHOWN and not CLOSED.search(written)
    return part == "other" or is_open or ends_in_a_question(piece)


def _kept_in_order(text: str, units: Sequence[Unit], *, by_order: bool) -> list[Unit]:
    """Return the units, bound to their order if words of one point at another: "the text above".

    Free ones still change places with each other, and output instructions that refer to nothing move.
    """
    pointing = [_points(text, unit) for unit in units]
    if not by_order and not any(pointing):
        return list(units)
    kept: list[Unit] = []
    ordered: set[int] = set()
    for number, unit in enumerate(units):
        if unit.part == "output" and not pointing[number]:
            kept.append(unit)
            continue
        before = {other for other in ordered if not (unit.free and units[other].free)}
        # "Mix it with the sauce." stands directly behind what it speaks of, as a table behind "as follows".
        points_here = number > 0 and (pointing[number] or pointing[number - 1])
        joined = unit.joined or (points_here and not unit.free)
        kept.append(replace(unit, needs=frozenset(before), joined=joined))
        ordered.add(number)
    return kept


def _points(text: str, unit: Unit) -> bool:
    """Return whether words of a unit point at another: "the text above", "Then use this message:"."""
    written = text[unit.start : unit.end].strip()
    if unit.part in _SHOWN:
        return False
    points_at_all = points_back(written) or points_ahead(written)
    return points_at_all or (refers(written) and not _LABELLED.match(written))


# Characters of a line that may be a label alone.
_LONGEST_LABEL: Final = 30


def _leads(text: str, part: Part) -> bool:
    """Return whether a unit introduces the next one: its last line ends in a colon, or is a heading."""
    line = text.rstrip().rpartition("\n")[2]
    if part == "context" and len(line) > _LONGEST_LABEL:
        # A document may end in any sentence; a bare label such as "Output:" belongs to what follows.
        return False
    return bool(_LEADS.search(line[-80:]) or _HEADING.fullmatch(line[:200]))


def _values(segments: Sequence[Segment]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each value that fills a template."""
    at = 0
    for segment in segments:
        if segment.kind == "input" and len(segments) > 1:
            yield at, at + len(segment.text.rstrip())
        at += len(segment.text)


def _enclosures(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of what stands between tags or fences. A fence without an end encloses the rest."""
    reach = 0
    for mark in _TAG.finditer(text):
        if mark.start() < reach:
            continue
        reach = text.find(mark["fence"] or f"</{mark['name']}>", mark.end())
        if reach < 0 and mark["fence"]:
            reach = len(text)
        if reach >= 0:
            yield mark.start(), reach


def _joined_inside(units: Sequence[Unit], spans: Sequence[tuple[int, int]]) -> list[Unit]:
    """Return the units, those joined to the one before that begin inside a span."""
    joined: list[Unit] = []
    reach = position = 0
    for unit in units:
        while position < len(spans) and spans[position][0] < unit.start:
            reach = max(reach, spans[position][1])
            position += 1
        joined.append(replace(unit, joined=True) if unit.start < reach else unit)
    return joined


def _joined_under_headings(text: str, units: Sequence[Unit]) -> list[Unit]:
    """Return the units, those under one heading of the highest level joined, where a text has headings.

    A document below its own heading holds nothing but itself: "### Article 2" says nothing of the question
    behind it.
    """
    levels = [_level(text, unit) for unit in units]
    highest = min((level for level in levels if level), default=0)
    joined: list[Unit] = []
    is_inside = False
    for unit, level in zip(units, levels, strict=True):
        if level == highest:
            is_inside = bool(highest) and unit.part != "context"
            joined.append(unit)
        else:
            joined.append(replace(unit, joined=True) if is_inside else unit)
    return joined


def _level(text: str, unit: Unit) -> int:
    match = _HEADING.match(text, unit.start)
    if match is None:
        return 0
    written = match[0].lstrip()
    return len(written) - len(written.lstrip("#")) or _BELOW_MARKS


# Level of a heading in bold type or capitals.
_BELOW_MARKS: Final = 7


def _freed(text: str, units: Sequence[Unit]) -> list[Unit]:
    """Return the units, those set free that may change places with their neighbours of one part."""
    freed: list[Unit] = list(units)
    for part in ("context", "examples"):
        for head, last in _runs(units, part):
            first = head + _leads(text[units[head].start : units[head].end], "other")
            written = []
            for unit in units[first:last]:
                written.append(text[unit.start : unit.end])
            labelled = all(_LABELLED.match(text) for text in written)
            if not written or not labelled or any(map(_EVENT.match, written)):
                continue
            if any(_goes_on(text) for text in written[1:]):
                continue
            # What follows the last one without a mark of its own may be no part of it.
            followed = last < len(units) and units[last].joined
            open_end = followed or ("\n\n" in written[-1].strip() and not CLOSED.search(written[-1]))
            for number in range(first, last - open_end):
                freed[number] = replace(units[number], free=True)
    return freed


def _goes_on(document: str) -> bool:
    """Return whether a document begins with a word for something in another one: "If it goes on, call …"."""
    text = _LABEL.sub("", document.lstrip(), count=1)
    return refers(text[:_FIRST_WORDS])


_LABEL: Final = re.compile(r"\A[^\n:\uff1a\]>]{0,60}[\n:\uff1a\]>]\s*")
# Characters of a document in which a pronoun has nothing in the document itself to stand for.
_FIRST_WORDS: Final = 20


def _runs(units: Sequence[Unit], part: Part) -> Iterator[tuple[int, int]]:
    start: int | None = None
    for number, unit in enumerate([*units, Unit(0, 0, "other")]):
        if unit.part == part and not unit.fixed and (start is None or not unit.joined):
            start = number if start is None else start
        elif start is not None:
            yield start, number
            start = None
