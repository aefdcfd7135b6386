"""Prose divided into sentences, in any script that marks their ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.experiments.calibrate.degrade.text.block import Block, written_blocks
from evenkeel.experiments.calibrate.degrade.text.lines import FENCE, FIXED, MARKER, TABLE_ROW, closes, goes_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
"""In lower case and without the last full stop; those that often end a sentence ("etc.") are no members."""
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
        """The text with other sentences; a line whose sentences all go is gone with its bullet."""
        return written_blocks(self.blocks, slots)


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
    """Whether a unit is a fenced block or a row of a table: nothing to reword or to merge."""
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
    """Whether a mark ends a sentence that began at `start`, with the next one at `following`."""
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
