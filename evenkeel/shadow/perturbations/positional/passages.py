"""The text of a prompt as passages that can be put into another order.

A passage is what can stand elsewhere without harm. Lines that belong to their neighbours go with them:
lead-ins, labels, fences and other delimiters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core.rewordings import Category
from evenkeel.shadow.prompt import Segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from evenkeel.shadow.prompt import PromptView


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


CATEGORY: Final = Category(
    "positional",
    "Template perturbations: the same parts in another order.",
    order=20,
    on_template=True,
)

Slot = tuple[int, int | None]
Part = Literal["c", "i", "u", "e", "t", "l", "o", "z"]
"""What a passage is, as one letter, so that runs of them can be found by regular expressions: context,
other input, output instructions, examples, other template text, lead-in, opening or closing delimiter."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment, or a part of one, without the blanks around it."""

    segment: Segment
    mark: Mark
    gap: str
    """The blanks behind it."""

    @property
    def ends_line(self) -> bool:
        """Whether the next piece begins a line."""
        return "\n" in self.gap


@dataclass(frozen=True, slots=True)
class Passage:
    """Pieces that move as one: a value with the words around it, a document with its label."""

    pieces: tuple[Piece, ...]
    part: Part
    is_document: bool = False
    name: tuple[Slot, int] = ((0, None), 0)
    """Tells it from every other passage of the prompt: where it stood first."""

    @property
    def gap(self) -> str:
        """The blanks behind it; holds a line end unless the slot ends there."""
        return self.pieces[-1].gap

    @property
    def text(self) -> str:
        """Its text without the blanks around it."""
        *inner, last = self.pieces
        return "".join(piece.segment.text + piece.gap for piece in inner) + last.segment.text

    def followed_by(self, gap: str) -> Passage:
        """The same passage with other blanks behind it."""
        *inner, last = self.pieces
        return replace(self, pieces=(*inner, replace(last, gap=gap)))


_LONG = 200
"""Characters from which an input text is context rather than a question."""
_CUTTABLE: Final = ("instructions", "text")


def passages_of(segments: Sequence[Segment]) -> tuple[str, tuple[Passage, ...]]:
    """The blanks at the beginning of a slot, and its passages.

    Args:
        segments: All of the slot, at least one of which holds more than blanks.
    """
    lead, pieces = _pieces(segments)
    known = any(one.kind == "template" and one.text.strip() for one in segments)
    passages: list[Passage] = []
    for group in _groups(pieces):
        part = _part(group, template_known=known)
        after_output = passages and passages[-1].part == "u" and passages[-1].text.endswith(":")
        if after_output and group[0].segment.kind == "template" and group[0].segment.type == "code":
            part = "u"
        name = (segments[0].slot, len(passages))
        passages.append(Passage(tuple(group), part, _is_document(group), name))
    return lead, tuple(passages)


def _pieces(segments: Sequence[Segment]) -> tuple[str, list[Piece]]:
    """The blanks at the beginning, then the pieces."""
    texts: list[tuple[Segment, Mark, str]] = []
    segments = _joined(segments)
    visible = [one for one in segments if one.text.strip()]
    blanks = _blanks_between(segments)
    for place, segment in enumerate(visible):
        before = visible[place - 1] if place else None
        after = visible[place + 1] if place + 1 < len(visible) else None
        glued = ("\n" not in blanks[place], "\n" not in blanks[place + 1])
        texts += _cut(segment, before, after, glued)
    pieces: list[Piece] = []
    ended = 0
    for number, (segment, mark, text) in enumerate(texts):
        ends_segment = number + 1 == len(texts) or texts[number + 1][0] is not segment
        ended += ends_segment
        gap = blanks[ended] if ends_segment else text[len(text.rstrip()) :]
        core = text.strip()
        own = segment if core == segment.text else replace(segment, text=core)
        pieces.append(Piece(own, mark, gap))
    return blanks[0], pieces


def _joined(segments: Sequence[Segment]) -> list[Segment]:
    """The segments, neighbouring texts of one kind and type put together.

    So lead-ins are found wherever a classifier, or an earlier change, has cut.
    """
    found: list[Segment] = []
    for segment in map(_retyped, segments):
        last = found[-1] if found else None
        joins = last is not None and (segment.kind, segment.type) == (last.kind, last.type)
        if joins and segment.type in _CUTTABLE:
            found[-1] = replace(found[-1], text=found[-1].text + segment.text)
        else:
            found.append(segment)
    return found


def _retyped(segment: Segment) -> Segment:
    """A template's words around a value of some type are instructions like any others.

    What a classifier calls a document or code may be just its label or fence, or what follows a
    document that was filled in.
    """
    if segment.kind != "template":
        return segment
    match segment.type:
        case "document":
            first, _, rest = segment.text.strip().partition("\n")
            label_only = not rest.strip() and (is_label(first.strip()) or opens_document(first))
            framing = label_only or not begins_document(first.strip())
        case "code":
            framing = segment.text.count("```") % 2 == 1
        case _:
            framing = False
    return replace(segment, type="instructions") if framing else segment


def _blanks_between(segments: Sequence[Segment]) -> list[str]:
    """The blanks before the first visible segment, between each two, and behind the last."""
    blanks = [""]
    for segment in segments:
        core = segment.text.strip()
        if not core:
            blanks[-1] += segment.text
            continue
        start = segment.text.index(core)
        blanks[-1] += segment.text[:start]
        blanks.append(segment.text[start + len(core) :])
    return blanks


def _cut(
    segment: Segment, before: Segment | None, after: Segment | None, glued: tuple[bool, bool]
) -> list[tuple[Segment, Mark, str]]:
    """A segment without what belongs to its neighbours, and that."""
    text = segment.text.strip()
    if segment.type not in (*_CUTTABLE, "examples"):
        # A document that is nothing but "Context:" introduces those that follow.
        heads = after is not None and after.type == segment.type and "\n" not in text and _introduces(text)
        return [(segment, "lead" if heads and not is_label(text) else "body", text)]
    found: list[tuple[Segment, Mark, str]] = []
    if before is not None and _frames(segment, before):
        on_the_line = glued[0]
        while text and (head := head_end(text, glued=on_the_line)) is not None:
            found.append((segment, head[1], text[: head[0]] + _blanks_at(text, head[0])))
            text = text[head[0] :].lstrip()
            on_the_line = False
    if not text:
        return found
    cuts = []
    if after is not None and (_frames(segment, after) or after.type == "output_instructions"):
        cuts = tail_cuts(text, glued=glued[1], delimiters=after.type != "output_instructions")
    start = 0
    mark: Mark = "body"
    for cut in cuts:
        if cut.start > start:
            found.append((segment, mark, text[start : cut.start]))
        start, mark = cut
    found.append((segment, mark, text[start:]))
    return found


def _blanks_at(text: str, start: int) -> str:
    rest = text[start:]
    return rest[: len(rest) - len(rest.lstrip())]


def _frames(segment: Segment, neighbour: Segment) -> bool:
    """Whether lines of one may belong to the other.

    Such are words of the template around a value, and a user's around a document.
    """
    if segment.kind == "template":
        return neighbour.kind == "input" or neighbour.type == "document"
    return neighbour.kind == "input" and neighbour.type != "text"


def _groups(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """The pieces, those together that can't be parted."""
    at = 0
    while at < len(pieces):
        end = _group_end(pieces, at)
        yield list(pieces[at:end])
        at = end


def _group_end(pieces: Sequence[Piece], at: int) -> int:
    end = at + 1
    while end < len(pieces):
        last = pieces[end - 1]
        if last.mark == "opening":
            closing = _closing(pieces, end - 1)
            if closing is None and last.ends_line:
                break
            end = end + 1 if closing is None else closing + 1
        elif not last.ends_line or (last.mark == "label" and pieces[end].mark in ("body", "opening")):
            end += 1
        else:
            break
    return end


def _closing(pieces: Sequence[Piece], at: int) -> int | None:
    """Where the delimiter is that ends what another begins, if just one thing stands between."""
    bodies = 0
    for place in range(at + 1, len(pieces)):
        piece = pieces[place]
        if piece.mark == "closing" and closes(pieces[at].segment.text, piece.segment.text):
            return place
        bodies += piece.mark == "body"
        if bodies > 1 or piece.mark == "lead":
            break
    return None


_FRAMES: Final[Mapping[Mark, Part]] = {"lead": "l", "opening": "o", "closing": "z"}


def _part(group: Sequence[Piece], *, template_known: bool) -> Part:
    types = {piece.segment.type for piece in group}
    if "output_instructions" in types:
        return "u"
    if len(group) == 1 and group[0].mark in _FRAMES:
        return _FRAMES[group[0].mark]
    if _is_document(group) or types == {"examples"}:
        return "e" if types == {"examples"} else "c"
    values = [piece.segment for piece in group if piece.segment.kind == "input"]
    if not values:
        return "e" if "examples" in types else "t"
    if not _is_mostly_value(group, values):
        return "t"
    return "c" if template_known and sum(len(one.text) for one in values) >= _LONG else "i"


def _is_mostly_value(group: Sequence[Piece], values: Sequence[Segment]) -> bool:
    """Whether a passage is a value with words around it, not words with a name or the like filled in."""
    length = sum(len(one.text) for one in values)
    if 2 * length >= sum(len(piece.segment.text) for piece in group):
        return True
    named = group[0].mark in ("label", "opening") or group[0].segment.text.endswith(COLONS)
    return named and group[-1].mark != "inline"


_EXAMPLE: Final = re.compile(r"example|beispiel|ejemplo|exemple|esempi|voorbeeld|exemplo|例", re.IGNORECASE)


def _is_document(group: Sequence[Piece]) -> bool:
    if any(piece.segment.type == "document" and piece.mark != "lead" for piece in group):
        return True
    labelled = any(
        (piece.mark == "label" and not _EXAMPLE.search(piece.segment.text))
        or (piece.mark == "opening" and opens_document(piece.segment.text))
        for piece in group[:-1]
    )
    return labelled and any(piece.segment.kind == "input" for piece in group)


@dataclass(frozen=True, slots=True)
class Layout:
    """The passages of one slot."""

    slot: Slot
    lead: str
    """The blanks at its very beginning."""
    passages: tuple[Passage, ...]

    @property
    def parts(self) -> str:
        """A letter for each passage, see `Part`."""
        return "".join(passage.part for passage in self.passages)

    @property
    def has_template(self) -> bool:
        """Whether any of its text is known to be the application's."""
        return any(one.segment.kind == "template" for passage in self.passages for one in passage.pieces)

    @property
    def line_end(self) -> str:
        """As this slot writes it."""
        return "\r\n" if any("\r\n" in passage.gap for passage in self.passages) else "\n"

    def arranged(self, passages: Sequence[Passage]) -> Layout:
        """The slot with these passages in this order.

        Those that were neighbours before stay as far apart; between new neighbours stands a blank
        line. The end of the slot stays as it was.
        """
        neighbours = {(one.name, other.name) for one, other in pairwise(self.passages)}
        blank = self.line_end * 2
        indents = {
            other.name: one.gap.rpartition("\n")[2]
            for one, other in pairwise(self.passages)
            if "\n" in one.gap
        }
        inner = [
            one
            if (one.name, other.name) in neighbours
            else one.followed_by(blank + indents.get(other.name, ""))
            for one, other in pairwise(passages)
        ]
        end = self.passages[-1].gap if self.passages else ""
        return replace(self, passages=(*inner, passages[-1].followed_by(end)))

    def segments(self) -> Iterator[Segment]:
        """What the slot is made of now, blanks included."""
        before = self.lead
        message, part = self.slot
        for passage in self.passages:
            for piece in passage.pieces:
                own = piece.segment
                text = before + own.text + piece.gap
                yield Segment(own.index, own.role, own.kind, own.type, text, message, part)
                before = ""


def layouts(view: PromptView) -> list[Layout]:
    """The layout of each slot of a prompt that holds text and nothing of the history."""
    slots: dict[Slot, list[Segment]] = {}
    for segment in view.segments:
        slots.setdefault(segment.slot, []).append(segment)
    return [
        Layout(slot, *passages_of(segments))
        for slot, segments in slots.items()
        if all(one.kind != "history" for one in segments) and any(one.text.strip() for one in segments)
    ]


def laid_out(view: PromptView, changed: Iterable[Layout]) -> PromptView:
    """The prompt with some slots laid out anew."""
    anew: Mapping[Slot, Layout] = {layout.slot: layout for layout in changed}
    kept = [segment for segment in view.segments if segment.slot not in anew]
    return view.recut([*kept, *(segment for layout in anew.values() for segment in layout.segments())])
