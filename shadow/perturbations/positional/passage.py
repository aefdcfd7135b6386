"""The stretches of a slot's text that can stand elsewhere without harm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from evenkeel.shadow.perturbations.positional.marks import Mark
    from evenkeel.shadow.prompt import Segment

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
