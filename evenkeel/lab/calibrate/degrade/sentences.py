"""Text divided into units, so that it can be put together from other units.

Prose is divided into sentences, in any script that marks their ends; a list into items, bullets and numbers,
each with all that is indented beneath it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.lab.calibrate.degrade.engine import NotDegradableError
from evenkeel.lab.calibrate.forms import FENCE, FIXED, MARKER, closes, goes_on, item_of_each_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


TABLE_ROW: Final = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_NUMBER: Final = re.compile(r"\d+")


class _Item(NamedTuple):
    """Place of an item."""

    mark: str
    """Mark with the indentation before and the white space behind it."""
    text: str
    end: str
    """White space up to what follows."""
    number: int | None


class _Stretch(NamedTuple):
    """Text that is no item, or items that follow each other directly."""

    text: str
    items: tuple[_Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Items:
    """A text divided into items."""

    stretches: tuple[_Stretch, ...]
    units: tuple[str, ...]
    """The items without their marks, with what is nested in them."""
    share: float
    """Share of the text's characters, white space aside, that belong to items, in [0, 1]."""

    def written(self, slots: Sequence[Sequence[str]]) -> str:
        """The text with other items, numbered anew where they were numbered one up from the last."""
        parts: list[str] = []
        at, previous, shown = 0, None, 0
        for stretch in self.stretches:
            parts.append(stretch.text)
            gap = stretch.items[0].end if len(stretch.items) > 1 else "\n"
            begun = False
            for index, item in enumerate(stretch.items):
                if item.number is None or previous is None or item.number != previous + 1:
                    # A new count, or none at all: "1. 1. 1." stays as it is.
                    shown = item.number or 0
                previous = item.number
                for nth, text in enumerate(slots[at]):
                    if begun:
                        parts.append(gap if nth or not index else stretch.items[index - 1].end)
                    parts += (_numbered(item, shown), text)
                    shown += 1
                    begun = True
                at += 1
            if begun:
                parts.append(stretch.items[-1].end)
        written = "".join(parts)
        last = self.stretches[-1].items
        return written if not last or begun else written.rstrip() + last[-1].end


def read_items(text: str) -> Items:
    """Divide a list; all parts together are the text again.

    Items are those of the least indented level that has two or more; what is indented further goes with the
    item above. Text that is not indented ends a list unless it goes on with a sentence of the line above.

    Raises:
        NotDegradableError: "no_list": there is no item.
    """
    lines = text.splitlines(keepends=True)
    numbered = item_of_each_line(lines)
    if not any(item is not None for item in numbered):
        raise NotDegradableError("no_list", "there is no list in the text")
    stretches = tuple(_stretches(lines, numbered))
    units = tuple(item.text for stretch in stretches for item in stretch.items)
    said = sum(_size(item.mark + item.text) for stretch in stretches for item in stretch.items)
    return Items(stretches, units, said / max(1, _size(text)))


def own_text(unit: str) -> tuple[str, str]:
    """An item's first line, and all that stands beneath it, from the line break on."""
    first, line_break, nested = unit.partition("\n")
    return first, line_break + nested


def _size(text: str) -> int:
    """Characters, white space aside."""
    return len("".join(text.split()))


def _numbered(item: _Item, number: int) -> str:
    return item.mark if item.number is None else _NUMBER.sub(str(number), item.mark, count=1)


def _stretches(lines: Sequence[str], numbered: Sequence[int | None]) -> Iterator[_Stretch]:
    by_item = groupby(zip(numbered, lines, strict=True), key=lambda numbered_line: numbered_line[0])
    blocks = [(number, [line for _, line in of_item]) for number, of_item in by_item]
    for outside, stretch in groupby(blocks, key=lambda block: block[0] is None):
        if outside:
            yield _Stretch("".join(line for _, block in stretch for line in block))
        else:
            yield _Stretch("", tuple(_item(block) for _, block in stretch))


def _item(lines: Sequence[str]) -> _Item:
    text = "".join(lines)
    mark = MARKER.match(text)
    assert mark is not None
    body = text[mark.end() :].rstrip()
    number = _NUMBER.search(mark[2])
    end = text[mark.end() + len(body) :]
    return _Item(mark[0], body, end, int(number[0]) if number else None)


_WIDE_END: Final = re.compile(r"[。\uff01\uff1f｡][^\w\s]*$")
_SEEN = 8
"""Characters at the end of a sentence that are looked at."""


@dataclass(frozen=True, slots=True)
class Block:
    """Units with what stands before, between and behind them. Without units it is never changed."""

    lead: str
    """Text that goes if no unit is left: indentation, a bullet; without units all of the text."""
    units: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    """Between the units: one fewer."""
    end: str = ""
    """White space up to the next block; goes if no unit is left."""

    def written(self, slots: Sequence[Sequence[str]]) -> str:
        """The block with other units: for each what stands there now."""
        if not self.units:
            return self.lead + self.end
        body = "".join(_woven(slots, self.gaps))
        return f"{self.lead}{body}{self.end}" if body else ""


def _woven(slots: Sequence[Sequence[str]], gaps: Sequence[str]) -> Iterator[str]:
    last = ""
    for index, texts in enumerate(slots):
        for nth, text in enumerate(texts):
            if last:
                # Chinese and Japanese have no space between sentences, all others need one.
                usual = "" if _WIDE_END.search(last[-_SEEN:]) else " "
                yield usual if nth or not index else gaps[index - 1] or usual
            yield text
            last = text


_CLOSING = "\"'”’»)\\]*_」』\uff09】"
_END: Final = re.compile(
    # The look-behind has every run of marks read only once.
    rf"(?<![.!?…])(?:[.!?…؟\u06d4।]++[{_CLOSING}]*+(?:[ ]?\[\d{{1,3}}\])*+(?=\s)"
    rf"|[。\uff01\uff1f｡]++[{_CLOSING}]*+)"
)
_KEPT_TOGETHER: Final = re.compile(
    r"`[^`\n]+`|\*\*[^*\n]+\*\*|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|「[^」\n]{1,400}」"
)
"""Within these no sentence ends: half a pair of marks would be left over."""
_WORD_BEFORE: Final = re.compile(r"([^\W\d_]+(?:\.[^\W\d_]+)*|\d+)\.$")
_SPACE: Final = re.compile(r"\s*")
_SAYS: Final = re.compile(r"[^\W_]")
_QUOTE: Final = re.compile(r"[ \t]*(?:>[ \t]?)+")
_TABLE_RULE: Final = re.compile(r"[ \t]*+\|?[ \t]*+:?-++:?[ \t]*+\|")
_ONE_LETTER_WORDS: Final = frozenset("I")
_LOOK_BACK = 24
_ABBREVIATIONS: Final = frozenset((
    "approx", "art", "bzw", "ca", "cf", "co", "corp", "d.h", "dept", "dr", "e.g", "eq", "est", "ex", "fig",
    "figs", "gen", "hr", "i.e", "inc", "jr", "lt", "ltd", "max", "min", "mr", "mrs", "ms", "mt", "nr", "p.ex",
    "pp", "prof", "ref", "s.a", "sec", "sog", "sr", "sra", "st", "u.a", "v", "vgl", "vol", "vs", "z.b",
))  # fmt: skip
"""Abbreviations in lower case, without the last full stop; none that often ends a sentence ("etc.")."""
_MONTHS: Final = re.compile(
    r"\s+(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Jahrhundert|Quartal)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Sentences:
    """A text divided into sentences."""

    blocks: tuple[Block, ...]
    units: tuple[str, ...]
    """The sentences, and as one unit each: a fenced block and a row of a table."""

    def written(self, slots: Sequence[Sequence[str]]) -> str:
        """The text with other sentences.

        A line whose sentences all go is gone with its bullet; where the last ones go, the text still ends as
        it did.

        Args:
            slots: For each sentence what stands there now: nothing, one text, or several. The sentences
                themselves, one each, give the same text back.
        """
        parts: list[str] = []
        at = 0
        for block in self.blocks:
            parts.append(block.written(slots[at : at + len(block.units)]))
            at += len(block.units)
        if parts and not parts[-1]:
            return "".join(parts).rstrip() + self.blocks[-1].end
        return "".join(parts)


def read_sentences(text: str) -> Sentences:
    """Divide prose; all parts together are the text again.

    A sentence ends at a full stop, question or exclamation mark (or several) with white space behind, at the
    marks of Chinese and Japanese also without, and with its line. It does not end behind an abbreviation, an
    initial or an ordinal, before a small letter, or within code and bold text. A line that nothing ends goes
    on in the next one if that begins with a small letter. Headings and rules are no sentences.
    """
    blocks = tuple(_merged(_blocks(text)))
    return Sentences(blocks, tuple(unit for block in blocks for unit in block.units))


def is_code(unit: str) -> bool:
    """Tell whether a unit is a fenced block or a row of a table: nothing to reword or to merge."""
    return FENCE.match(unit) is not None or TABLE_ROW.match(unit) is not None


def split_sentences(line: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The sentences of one stretch of text, and the white space between them.

    What has no letter or digit belongs to the sentence before.
    """
    kept = [match.span() for match in _KEPT_TOGETHER.finditer(line)]
    units: list[str] = []
    gaps: list[str] = []
    start = span = 0
    for end in _END.finditer(line):
        stop = end.end()
        while span < len(kept) and kept[span][1] <= stop:
            span += 1
        within = span < len(kept) and kept[span][0] < stop
        space = _SPACE.match(line, stop)
        assert space is not None  # none at all is a match too
        following = space.end()
        if within or following == len(line) or not _ends(line, start, end, following):
            continue
        units.append(line[start:stop])
        gaps.append(line[stop:following])
        start = following
    units.append(line[start:])
    if len(units) > 1 and not _SAYS.search(units[-1]):
        last = units.pop()
        units[-1] += gaps.pop() + last
    return tuple(units), tuple(gaps)


def _ends(line: str, start: int, end: re.Match[str], following: int) -> bool:
    """Tell whether a mark ends a sentence that began at `start`, with the next one at `following`."""
    if not _SAYS.search(line, start, end.start()):
        return False
    if end[0][0] in "。\uff01\uff1f｡":
        return True
    if line[following].islower():
        return False
    word = _WORD_BEFORE.search(line[max(start, end.start() - _LOOK_BACK) : end.start() + 1])
    if end[0][0] != "." or word is None or end[0].startswith(".."):
        return True
    before = word[1]
    if before.isdecimal():
        # "1. Open the tray": the number of an item within a line; "am 3. Mai": an ordinal.
        is_mark = not _SAYS.search(line, start, end.start() - len(before))
        return not is_mark and not _MONTHS.match(line, end.end())
    parts = before.split(".")
    is_initial = all(len(part) == 1 and part.isupper() for part in parts) and before not in _ONE_LETTER_WORDS
    return not is_initial and before.lower() not in _ABBREVIATIONS


def _blocks(text: str) -> Iterator[Block]:
    """Fixed lines and paragraphs; every line end and empty line is the end of the block before."""
    fence = ""
    gathered: list[str] = []
    for line in text.splitlines(keepends=True):
        opening = FENCE.match(line)
        if fence:
            gathered.append(line)
            if closes(line, fence):
                yield _one("".join(gathered))
                fence, gathered = "", []
            continue
        goes = bool(gathered) and not opening and not MARKER.match(line) and goes_on(gathered[-1], line)
        if gathered and not goes:
            yield _paragraph("".join(gathered))
            gathered = []
        if opening:
            fence, gathered = opening[1], [line]
        elif not line.strip() or FIXED.match(line.rstrip("\r\n")):
            yield Block(line)
        elif TABLE_ROW.match(line.rstrip("\r\n")):
            yield _one(line)
        else:
            gathered.append(line)
    if gathered:
        yield _one("".join(gathered)) if fence else _paragraph("".join(gathered))


def _one(text: str) -> Block:
    body = text.rstrip()
    return Block("", (body,), (), text[len(body) :])


def _paragraph(text: str) -> Block:
    marker = MARKER.match(text) or _QUOTE.match(text)
    lead = marker[0] if marker else text[: len(text) - len(text.lstrip())]
    body = text[len(lead) :].rstrip()
    if not _SAYS.search(body):
        return Block(text)
    units, gaps = split_sentences(body)
    return Block(lead, units, gaps, text[len(lead) + len(body) :])


def _merged(blocks: Iterator[Block]) -> Iterator[Block]:
    """Empty lines put to the block above, with which they go; table heads kept."""
    last: Block | None = None
    for block in blocks:
        if last is not None and last.units and not block.units and not block.lead.strip():
            last = replace(last, end=last.end + block.lead)
        elif last is not None and last.units and _TABLE_RULE.match(block.lead) and is_code(last.units[0]):
            # What stands above the rule names the columns.
            yield Block(last.lead + last.units[0] + last.end)
            last = block
        else:
            if last is not None:
                yield last
            last = block
    if last is not None:
        yield last


TextForm = Literal["prose", "list"]
NOUNS: Final[dict[TextForm, str]] = {"prose": "sentences", "list": "items"}


def read_units(text: str, form: TextForm) -> Sentences | Items:
    """Divide a text.

    Raises:
        NotDegradableError: "empty": there is no unit.
    """
    found = read_sentences(text) if form == "prose" else read_items(text)
    if not found.units:
        raise NotDegradableError("empty", f"no {'sentence' if form == 'prose' else 'item'} in the text")
    return found
