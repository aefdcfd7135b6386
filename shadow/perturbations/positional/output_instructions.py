"""The output instructions at another place of the prompt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.shadow.perturbations.positional.layout import laid_out, layouts
from evenkeel.shadow.perturbations.protocol import NOTHING, NotApplicable

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from evenkeel.shadow.perturbations.positional.layout import Layout
    from evenkeel.shadow.perturbations.positional.passage import Passage
    from evenkeel.shadow.prompt import PromptView

# With a heading or lead-in, and examples of what is asked for
_OUTPUT: Final = re.compile(r"l?u+e*")
_SYSTEM: Final = ("system", "developer")


@dataclass(frozen=True, slots=True)
class _Move:
    """A run of output instructions and where it could go."""

    source: Layout
    start: int
    end: int
    target: Layout
    at_start: bool

    @property
    def within(self) -> bool:
        return self.source is self.target


class OutputInstructions:
    """Moves the output instructions to the other end of their message, or to the other message.

    From the end of a message they go to its beginning or the other way round, from the system message
    to the end of the last user message or back. Their heading, the skeleton they show and examples
    behind them go along.
    """

    name: Final = "positional.output_instructions"
    version: Final = 1
    graded: Final = False
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with its output instructions elsewhere, as `Perturbation.apply`.

        Not applicable: "no_output_instructions"; "nowhere_to_move" where they are the whole prompt.
        """
        del severity
        known = layouts(view)
        found = [layout for layout in known if "u" in layout.parts]
        if not found:
            return NotApplicable(
                "no_output_instructions", "no part of the prompt is known to say how to answer"
            )
        roles = {(slot.message, slot.part): slot.role for slot in view.slots}
        system = next((one for one in known if roles[one.slot] in _SYSTEM), None)
        user = next((one for one in reversed(known) if roles[one.slot] == "user"), None)
        moves = [
            move
            for layout in found
            for match in _OUTPUT.finditer(layout.parts)
            for move in _moves(layout, match.span(), user if layout is system else system)
        ]
        for move in rng.sample(moves, len(moves)):
            changed = laid_out(view, _done(move))
            # Where neighbours are alike, a place may be no other one
            if changed.text != view.text:
                return changed
        return NotApplicable("nowhere_to_move", "nothing else stands beside the output instructions")


def _moves(layout: Layout, span: tuple[int, int], other: Layout | None) -> Iterator[_Move]:
    start, end = span
    if end - start == len(layout.passages):
        return
    if start > 0:
        yield _Move(layout, start, end, layout, at_start=True)
    if end < len(layout.passages):
        yield _Move(layout, start, end, layout, at_start=False)
    if other is not None and other is not layout:
        yield _Move(layout, start, end, other, at_start=False)


def _done(move: _Move) -> Sequence[Layout]:
    moved = move.source.passages[move.start : move.end]
    others = [*move.source.passages[: move.start], *move.source.passages[move.end :]]
    if not move.within:
        return move.source.arranged(others), move.target.arranged([*move.target.passages, *moved])
    order: list[Passage] = [*moved, *others] if move.at_start else [*others, *moved]
    return (move.source.arranged(order),)
