"""Parts of a prompt at another place: its context, its output instructions, or several parts at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.positional.passages import CATEGORY, laid_out, layouts
from evenkeel.shadow.perturbations.positional.reordering import Reordering
from evenkeel.shadow.perturbations.protocol import NOTHING, NotApplicable

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from evenkeel.shadow.perturbations.positional.passages import Layout, Passage
    from evenkeel.shadow.prompt import PromptView


# With delimiters around all of it, and what introduces it.
_CONTEXT: Final = re.compile(r"[lo]*c(?:[loz]*c)*z*")
_ANY_INPUT: Final = re.compile(r"[lo]*[ci](?:[loz]*[ci])*z*")
_CONTEXT_OUTPUT: Final = re.compile(r"l?u+")


class Context:
    """Moves what the task is about, such as documents or a case, to another place of its message.

    It goes to the beginning, to the end, or before the output instructions. What introduces it goes
    along: a line that ends in a colon, a heading, labels, fences and tags around it.
    """

    name: Final = "positional.context"
    rewording: Final = Rewording(CATEGORY, phrase="moved context", order=10)
    version: Final = 1
    graded: Final = False
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with its context elsewhere, as `Perturbation.apply`.

        Not applicable: "no_context"; "nowhere_to_move" where its message holds nothing else.
        """
        del severity
        found = [(layout, span) for layout in layouts(view) if (span := _context(layout)) is not None]
        if not found:
            return NotApplicable("no_context", "no part of the prompt is known to be a task's context")
        movable = [(layout, span, places) for layout, span in found if (places := _places(layout, span))]
        if not movable:
            return NotApplicable("nowhere_to_move", "the message holds nothing but the context")
        layout, (start, end), places = max(movable, key=lambda one: _length(one[0], one[1]))
        others = [*layout.passages[:start], *layout.passages[end:]]
        for place in rng.sample(places, len(places)):
            moved = [*others[:place], *layout.passages[start:end], *others[place:]]
            changed = laid_out(view, [layout.arranged(moved)])
            # Where neighbours are alike, a place may be no other one
            if changed.text != view.text:
                return changed
        return NotApplicable("nowhere_to_move", "the rest of the message is the same text")


def _context(layout: Layout) -> tuple[int, int] | None:
    """The longest run of passages that is context; where none is, of any input beside a template."""
    parts = layout.parts
    spans = [match.span() for match in _CONTEXT.finditer(parts)]
    if not spans and any(part in "tue" for part in parts) and layout.has_template:
        spans = [match.span() for match in _ANY_INPUT.finditer(parts)]
    return max(spans, key=lambda span: _length(layout, span), default=None)


def _length(layout: Layout, span: tuple[int, int]) -> int:
    return sum(len(passage.text) for passage in layout.passages[span[0] : span[1]])


def _places(layout: Layout, span: tuple[int, int]) -> list[int]:
    """Where among the other passages it could stand, its present place apart."""
    others = layout.parts[: span[0]] + layout.parts[span[1] :]
    # A delimiter that is not part of the context would be left around nothing.
    if not others.strip("loz"):
        return []
    output = _CONTEXT_OUTPUT.search(others)
    wanted = {0, len(others), *([output.start()] if output else [])}
    return sorted(wanted - {span[0]})


# With a heading or lead-in, and examples of what is asked for
_INSTRUCTIONS_OUTPUT: Final = re.compile(r"l?u+e*")
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
    rewording: Final = Rewording(CATEGORY, phrase="moved output instructions", order=20)
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
            for match in _INSTRUCTIONS_OUTPUT.finditer(layout.parts)
            for move in _moves(layout, match.span(), user if layout is system else system)
        ]
        for move in rng.sample(moves, len(moves)):
            changed = laid_out(view, _done(move))
            # Where neighbours are alike, a place may be no other one
            if changed.text != view.text:
                return changed
        return NotApplicable("nowhere_to_move", "the message holds nothing but the output instructions")


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


_KINDS: Final[tuple[Context | OutputInstructions | Reordering, ...]] = (
    Context(),
    OutputInstructions(),
    Reordering(),
)
_FEWEST = 2


class Mixed:
    """Does two or all three of the other positional changes, one after the other."""

    name: Final = "positional.mixed"
    rewording: Final = Rewording(CATEGORY, phrase="several moved parts", order=40)
    version: Final = 1
    graded: Final = False
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with several changes of position, as `Perturbation.apply`.

        Not applicable: "too_few_changes" where fewer than two kinds have anything to act on.
        """
        wanted = rng.randint(_FEWEST, len(_KINDS))
        changed, done = view, 0
        for kind in rng.sample(_KINDS, len(_KINDS)):
            if done == wanted:
                break
            outcome = kind.apply(changed, severity, rng)
            # Two moves may undo each other, such as context to the end and what followed it as well.
            if isinstance(outcome, NotApplicable) or _same(outcome, view):
                continue
            changed, done = outcome, done + 1
        if done < _FEWEST:
            return NotApplicable("too_few_changes", "fewer than two kinds of positional change apply")
        return changed


def _same(view: PromptView, other: PromptView) -> bool:
    return view.text == other.text
