"""A stretch of text with units in it: a paragraph with its sentences, a list with its items."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_WIDE_END: Final = re.compile(r"[。\uff01\uff1f｡][^\w\s]*$")
_SEEN = 8
"""Characters at the end of a sentence that are looked at."""


@dataclass(frozen=True, slots=True)
class Block:
    """Units with what stands before, between and behind them. Without units it is never changed."""

    lead: str
    """What goes if no unit is left: indentation, a bullet; without units all of the text."""
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


def written_blocks(blocks: Sequence[Block], slots: Sequence[Sequence[str]]) -> str:
    """All blocks with other units; where the last ones go, the text still ends as it did."""
    parts: list[str] = []
    at = 0
    for block in blocks:
        here = slots[at : at + len(block.units)]
        at += len(block.units)
        parts.append(block.written(here))
    if parts and not parts[-1]:
        return "".join(parts).rstrip() + blocks[-1].end
    return "".join(parts)
