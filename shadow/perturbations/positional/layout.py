"""The slots of a prompt as passages in an order, which can be changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from evenkeel.shadow.perturbations.positional.cutting import passages_of
from evenkeel.shadow.perturbations.recut import recut
from evenkeel.shadow.prompt import Segment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from evenkeel.shadow.perturbations.positional.passage import Passage
    from evenkeel.shadow.prompt import PromptView

Slot = tuple[int, int | None]


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
        neighbours = {(id(one), id(other)) for one, other in pairwise(self.passages)}
        blank = self.line_end * 2
        inner = [
            one if (id(one), id(other)) in neighbours else one.followed_by(blank)
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
    return recut(view, [*kept, *(segment for layout in anew.values() for segment in layout.segments())])
