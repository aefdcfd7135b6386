"""The text of a prompt as passages that can be put into another order.

A passage is what can stand elsewhere without harm: a paragraph, a value with the words around it, a document
with its label and delimiters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core.rewordings import Category
from evenkeel.shadow.prompt import Segment
from evenkeel.shadow.prompt.demonstrations import open_input

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from evenkeel.shadow.prompt import PromptView

CATEGORY: Final = Category(
    "positional",
    "Template perturbations: the same parts in another order.",
    order=20,
    on_template=True,
)
Slot = tuple[int, int | None]
Part = Literal["c", "i", "u", "e", "t", "l"]
"""Kind of a passage as a letter, so that regular expressions can find runs of them: context, other input,
output instructions, examples, other template text, a lead-in or heading by itself."""

COLONS: Final = (":", "\uff1a")
"""Characters that end a lead-in, including the wide colon of Chinese and Japanese."""
_LONG: Final = 200
"""Characters from which an input text is context rather than a question."""
_CUTTABLE: Final = ("instructions", "text")
_PARAGRAPH: Final = re.compile(r"\s*(?:(?!\r?\n[ \t]*\r?\n)[\s\S])+\s*")
_LEAD_LINE: Final = re.compile(
    r"\n(?=[ \t]*(?:[^\n]{1,200}[:\uff1a]|\#{1,6}[ ][^\n]{1,80}|`{3,}[\w+-]*|\"{3}|'{3}|<[A-Za-z][^<>\n]*>)"
    r"[ \t*\"]*\Z)"
)
"""Line break before the last line of a text, if that line introduces or opens what follows."""
_MARK: Final = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,}|\"{3}|'{3})|<(?P<close>/)?(?P<tag>[A-Za-z][\w.-]*)(?:\s[^<>]*)?>",
    re.MULTILINE,
)
_LABEL: Final = re.compile(
    r"(?:\#{1,6}[ ]*|\*\*)?(?:"
    r"\[?(?:[^\W\d_]{2,20}[ _-]?){1,2}(?:\#|n[ro]\.?|№)?[ ]?[\[(]?(?:\d{1,4}|[A-Z])[\])]{0,2}"
    r"|\#\d{1,4}|[\[(](?:\d{1,4}|[A-Z])[\])][ ]?[^.\n]{0,120})"
    r"(?:\*\*)?[ ]*(?:[:\uff1a)\]–-].{0,120})?(?:\*\*)?"
)
_EXAMPLE: Final = re.compile(r"example|beispiel|ejemplo|exemple|esempi|voorbeeld|exemplo|例", re.IGNORECASE)
_DOCUMENT_TAG: Final = re.compile(
    r"<(?:doc(?:ument)?|source|passage|article|snippet|excerpt|result|record|file|page)"
    r"(?:[ _-]?\d+)?(?![\w-])",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(
    r"[ \t]*(?:(?P<marks>\#{1,6})[ \t]+\S[^\n]*|(?:\*\*|__)[^*_\n]{1,80}(?:\*\*|__):?[ \t]*(?=\n|\Z)"
    r"|[A-ZÀ-Þ]{3}[A-ZÀ-Þ0-9 _&/()'’-]{1,56}:?[ \t]*(?=\n|\Z))"
)
_BELOW_MARKS: Final = 7
"""Level of a heading in bold type or capitals, below those with marks."""
_LEAD_END: Final = re.compile(r"[:\uff1a][\"'*_)\s]*\Z")
_TITLE: Final = re.compile(r"[^\W\d_a-z][\w'’-]*(?:[ ][\w'’-]+){0,4}")


class Piece(NamedTuple):
    """A segment, or a part of one, without the blanks around it, and the blanks behind it."""

    segment: Segment
    gap: str


@dataclass(frozen=True, slots=True)
class Passage:
    """Passage: pieces that move together."""

    pieces: tuple[Piece, ...]
    part: Part
    is_document: bool
    name: tuple[Slot, int]
    """Name that is unique in the prompt: the place where the passage first stood."""

    @property
    def gap(self) -> str:
        """Return the blanks after the passage. They hold a line end unless the slot ends there."""
        return self.pieces[-1].gap

    @property
    def text(self) -> str:
        """Return the passage's text without the blanks after it."""
        return "".join(piece.segment.text + piece.gap for piece in self.pieces).removesuffix(self.gap)

    @property
    def level(self) -> int | None:
        """Return the level of the heading that the passage begins with, None without a heading."""
        found = _HEADING.match(self.text)
        if found is None or any(piece.segment.type == "code" for piece in self.pieces):
            return None
        return len(found["marks"]) if found["marks"] else _BELOW_MARKS

    @property
    def introduces(self) -> bool:
        """Return whether the last line leads in to what follows, or is a heading."""
        if self.is_document or self.pieces[-1].segment.type == "code":
            return False
        above, _, line = self.pieces[-1].segment.text.rpartition("\n")
        is_title = _TITLE.fullmatch(line) is not None and not above.rpartition("\n")[2].strip()
        return _LEAD_END.search(line) is not None or _HEADING.fullmatch(line) is not None or is_title

    def followed_by(self, gap: str) -> Passage:
        """Return the passage with other blanks after it."""
        return replace(self, pieces=(*self.pieces[:-1], self.pieces[-1]._replace(gap=gap)))


@dataclass(frozen=True, slots=True)
class Layout:
    """The passages of one slot."""

    slot: Slot
    lead: str
    """Blanks at the beginning of the slot."""
    passages: tuple[Passage, ...]

    @property
    def parts(self) -> str:
        """Return a letter for each passage; see `Part`."""
        return "".join(passage.part for passage in self.passages)

    @property
    def has_template(self) -> bool:
        """Return whether any part of the slot is known to be the application's text."""
        return any(piece.segment.kind == "template" for passage in self.passages for piece in passage.pieces)

    def arranged(self, passages: Sequence[Passage]) -> Layout:
        """Return the slot with its passages in this order.

        Those that were neighbours before stay as far apart; between new neighbours stands a blank line. The
        end of the slot stays as it was.
        """
        neighbours = {(one.name, other.name) for one, other in pairwise(self.passages)}
        blank = "\r\n\r\n" if any("\r\n" in passage.gap for passage in self.passages) else "\n\n"
        indents = {other.name: one.gap.rpartition("\n")[2] for one, other in pairwise(self.passages)}
        inner = [
            one
            if (one.name, other.name) in neighbours
            else one.followed_by(blank + indents.get(other.name, ""))
            for one, other in pairwise(passages)
        ]
        end = self.passages[-1].gap if self.passages else ""
        return replace(self, passages=(*inner, passages[-1].followed_by(end)))

    def segments(self) -> Iterator[Segment]:
        """Yield the segments of the slot, blanks included."""
        before = self.lead
        message, part = self.slot
        for passage in self.passages:
            for own, gap in passage.pieces:
                text = before + own.text + gap
                yield Segment(own.index, own.role, own.kind, own.type, text, message, part)
                before = ""


def layouts(view: PromptView) -> list[Layout]:
    """Return the layout of each slot of a prompt that holds text and no history."""
    slots: dict[Slot, list[Segment]] = {}
    for segment in view.segments:
        slots.setdefault(segment.slot, []).append(segment)
    return [
        _layout(slot, segments)
        for slot, segments in slots.items()
        if all(one.kind != "history" for one in segments)
        and any(one.text.strip() for one in segments)
        # The last demonstration is open at its end.
        and open_input("".join(one.text for one in segments)) is None
    ]


def laid_out(view: PromptView, changed: Iterable[Layout]) -> PromptView:
    """Return the prompt with some slots in a new layout."""
    anew: Mapping[Slot, Layout] = {layout.slot: layout for layout in changed}
    kept = [segment for segment in view.segments if segment.slot not in anew]
    return view.recut([*kept, *(segment for layout in anew.values() for segment in layout.segments())])


def _layout(slot: Slot, segments: Sequence[Segment]) -> Layout:
    """Return a slot cut into passages.

    Args:
        slot: Its name.
        segments: All of it, at least one of which holds more than blanks.
    """
    is_composed = any(one.kind == "template" and one.text.strip() for one in segments)
    lead, pieces = _pieces(_joined(segments), is_composed=is_composed)
    groups: list[list[Piece]] = []
    closings = _closings(pieces)
    until = -1
    for place, piece in enumerate(pieces):
        if groups and (place <= until or _belongs(groups[-1], piece)):
            groups[-1].append(piece)
        else:
            groups.append([piece])
        until = max(until, closings.get(place, -1))
    return Layout(
        slot,
        lead,
        tuple(_passage(group, (slot, place), is_composed=is_composed) for place, group in enumerate(groups)),
    )


def _joined(segments: Sequence[Segment]) -> list[Segment]:
    """Return the segments with neighbouring texts of the same kind and type merged."""
    found: list[Segment] = []
    for segment in segments:
        last = found[-1] if found else None
        joins = last is not None and (segment.kind, segment.type) == (last.kind, last.type)
        if joins and segment.type in _CUTTABLE:
            found[-1] = replace(found[-1], text=found[-1].text + segment.text)
        else:
            found.append(segment)
    return found


def _pieces(segments: Sequence[Segment], *, is_composed: bool) -> tuple[str, list[Piece]]:
    """Return the leading blanks and the pieces: plain text cut into paragraphs, anything else whole."""
    lead = ""
    pieces: list[Piece] = []
    for segment in segments:
        is_value = is_composed and segment.kind == "input"
        cuttable = segment.type in _CUTTABLE and not is_value
        for text in _PARAGRAPH.findall(segment.text) if cuttable else [segment.text]:
            opening = _LEAD_LINE.search(text.rstrip()) if cuttable else None
            cut = len(text) if opening is None else opening.end()
            for part in (text[:cut], text[cut:]):
                core = part.strip()
                before = part[: part.index(core)] if core else part
                if pieces:
                    pieces[-1] = pieces[-1]._replace(gap=pieces[-1].gap + before)
                else:
                    lead += before
                if core:
                    pieces.append(Piece(replace(segment, text=core), part[len(before) + len(core) :]))
    return lead, pieces


def _closings(pieces: Sequence[Piece]) -> dict[int, int]:
    """Return the pieces that close a fence or tag, by the plain-text piece that opens it."""
    opened: dict[str, int] = {}
    found: dict[int, int] = {}
    for place, piece in enumerate(pieces):
        if piece.segment.kind == "input" and piece.segment.type != "text":
            continue
        for mark in _MARK.finditer(piece.segment.text):
            key = mark["fence"] or mark["tag"]
            if key in opened and (mark["fence"] or mark["close"]):
                start = opened.pop(key)
                found[start] = max(place, found.get(start, -1))
            elif not mark["close"]:
                opened[key] = place
    return found


def _belongs(group: Sequence[Piece], piece: Piece) -> bool:
    """Return whether a piece goes on in the line of those before it, or is what their label names."""
    last = group[-1]
    if "\n" not in last.gap:
        return True
    line = last.segment.text.rpartition("\n")[2]
    if last.segment.type not in _CUTTABLE:
        return last.segment.kind == "template" and last.segment.text == line and _is_label(line)
    is_named = last.segment.kind == "template" and piece.segment.kind == "input"
    return _is_label(line) and (is_named or piece.segment.type == "document")


def _is_label(line: str) -> bool:
    return len(line) <= _LONG // 2 and _LABEL.fullmatch(line.strip()) is not None


def _passage(group: Sequence[Piece], name: tuple[Slot, int], *, is_composed: bool) -> Passage:
    passage = Passage(tuple(group), "t", _is_document(group), name)
    return replace(passage, part=_part(passage, is_composed=is_composed))


def _is_document(group: Sequence[Piece]) -> bool:
    if any(segment.type == "document" for segment, _ in group):
        text = group[0].segment.text
        return len(group) > 1 or not (text.endswith(COLONS) or _HEADING.fullmatch(text))
    lines = [one.text.rpartition("\n")[2] for one, _ in group[:-1] if one.kind == "template"]
    labelled = any(
        _DOCUMENT_TAG.match(line) or (_is_label(line) and not _EXAMPLE.search(line)) for line in lines
    )
    return labelled and any(segment.kind == "input" for segment, _ in group[1:])


def _part(passage: Passage, *, is_composed: bool) -> Part:
    types = {segment.type for segment, _ in passage.pieces}
    if "output_instructions" in types:
        return "u"
    if passage.is_document:
        return "c"
    if "examples" in types:
        return "e"
    values = [segment for segment, _ in passage.pieces if segment.kind == "input"]
    if passage.introduces and "\n" not in passage.text and (not values or not is_composed):
        return "l"
    length = sum(len(one.text) for one in values)
    named = passage.pieces[0].segment.text.endswith(COLONS) and passage.pieces[-1].segment.kind == "input"
    if not values or (2 * length < len(passage.text) and not named):
        return "t"
    return "c" if is_composed and length >= _LONG else "i"
