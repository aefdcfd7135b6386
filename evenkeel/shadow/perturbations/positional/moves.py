"""Parts of a prompt at another place: its context, its output instructions, or several parts at once."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.positional.order import broken
from evenkeel.shadow.perturbations.positional.passages import CATEGORY, laid_out, layouts
from evenkeel.shadow.perturbations.positional.reordering import Reordering
from evenkeel.shadow.perturbations.protocol import NOTHING, NotApplicable

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from evenkeel.shadow.perturbations.positional.passages import Layout
    from evenkeel.shadow.prompt import PromptView

_CONTEXT: Final = re.compile(r"l*c(?:l*c)*")
_ANY_INPUT: Final = re.compile(r"l*[ci](?:l*[ci])*")
_OUTPUT: Final = re.compile(r"l*u+e*")
_SYSTEM: Final = ("system", "developer")
_MOST_PLACES: Final = 8
"""Most section starts that are tried, so that the time stays linear."""


class _Move(NamedTuple):
    """Move of a run of passages to a place among the other passages of a slot."""

    source: Layout
    start: int
    end: int
    target: Layout
    place: int

    def done(self) -> Sequence[Layout]:
        """Return the layouts that the move changes, after it."""
        passages = self.source.passages
        moved = passages[self.start : self.end]
        others = [*passages[: self.start], *passages[self.end :]]
        if self.source is self.target:
            return (self.source.arranged([*others[: self.place], *moved, *others[self.place :]]),)
        into = self.target.passages
        return (
            self.source.arranged(others),
            self.target.arranged([*into[: self.place], *moved, *into[self.place :]]),
        )


def _first_sound(
    view: PromptView, known: Sequence[Layout], moves: Sequence[_Move]
) -> PromptView | NotApplicable:
    """Return the variant of the first move that breaks nothing, or the reason why there is none."""
    if not moves:
        return NotApplicable("nowhere_to_move", "the message holds nothing else, or it stands there already")
    fault = ""
    for move in moves:
        done = {layout.slot: layout for layout in move.done()}
        changed = laid_out(view, done.values())
        # Where neighbours are alike, a place may be no other one
        if changed.text == view.text:
            continue
        found = broken(known, [done.get(layout.slot, layout) for layout in known])
        if not found:
            return changed
        fault = fault or found
    if not fault:
        return NotApplicable("nowhere_to_move", "the rest of the message is the same text")
    return NotApplicable("bound", fault)


def _places(layout: Layout, start: int, end: int) -> list[int]:
    """Return the possible positions of a run among the other passages, except its present one."""
    others = [*layout.passages[:start], *layout.passages[end:]]
    parts = "".join(passage.part for passage in others)
    if not parts.strip("l"):
        return []
    output = _OUTPUT.search(parts)
    sections = [place for place, passage in enumerate(others) if passage.level is not None]
    wanted = {0, len(others), *sections[:_MOST_PLACES], *([output.start()] if output else [])}
    return sorted(wanted - {start})


def _with_section(layout: Layout, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the run, and the whole section that contains it."""
    yield start, end
    levels = [passage.level for passage in layout.passages]
    first = next((place for place in range(start, -1, -1) if levels[place] is not None), None)
    if first is None:
        return
    level = levels[first]
    assert level is not None
    last = end
    while last < len(levels) and (levels[last] or level + 1) > level:
        last += 1
    if (first, last) != (start, end):
        yield first, last


class Context:
    """Moves what the task is about, such as documents or a case, to another place of its message.

    It goes to the beginning, to the end, before another section or before the output instructions. What
    introduces it goes along: a line that ends in a colon, a heading, labels, fences and tags around it.
    """

    name: Final = "positional.context"
    rewording: Final = Rewording(CATEGORY, phrase="moved context", order=10)
    version: Final = 3
    graded: Final = False
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with its context elsewhere, as `Perturbation.apply`.

        Not applicable: "no_context"; "nowhere_to_move" where its message holds nothing else; "bound" where
        every move would break a reference.
        """
        del severity
        known = layouts(view)
        found = [(layout, *run) for layout in known if (run := _context(layout)) is not None]
        if not found:
            return NotApplicable("no_context", "no part of the prompt is known to be a task's context")
        layout, start, end = max(found, key=lambda run: (bool(_places(*run)), _length(*run)))
        moves = [
            _Move(layout, *run, layout, place)
            for run in _with_section(layout, start, end)
            for place in _places(layout, *run)
        ]
        return _first_sound(view, known, rng.sample(moves, len(moves)))


def _context(layout: Layout) -> tuple[int, int] | None:
    """Return the longest run of context passages; without any, the longest run of input beside a template."""
    parts = layout.parts
    runs = [match.span() for match in _CONTEXT.finditer(parts)]
    if not runs and any(part in "tue" for part in parts) and layout.has_template:
        runs = [match.span() for match in _ANY_INPUT.finditer(parts)]
        # A question is what the rest of the prompt is about.
        runs = [run for run in runs if not layout.passages[run[1] - 1].text.endswith(("?", "\uff1f"))]
    return max(runs, key=lambda run: _length(layout, *run), default=None)


def _length(layout: Layout, start: int, end: int) -> int:
    return sum(len(passage.text) for passage in layout.passages[start:end])


class OutputInstructions:
    """Moves the output instructions to another place of their message, or to the other message.

    From the end of a message they go to its beginning or the other way round, from the system message
    to the end of the last user message or back. Their heading, the skeleton they show and examples
    behind them go along.
    """

    name: Final = "positional.output_instructions"
    rewording: Final = Rewording(CATEGORY, phrase="moved output instructions", order=20)
    version: Final = 3
    graded: Final = False
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with its output instructions elsewhere, as `Perturbation.apply`.

        Not applicable: "no_output_instructions"; "nowhere_to_move" where they are the whole prompt; "bound"
        where every move would break a reference.
        """
        del severity
        known = layouts(view)
        found = [layout for layout in known if "u" in layout.parts]
        if not found:
            return NotApplicable(
                "no_output_instructions", "no part of the prompt is known to say how to answer"
            )
        roles = {(slot.message, slot.part): slot.role for slot in view.slots}
        system = next((layout for layout in known if roles[layout.slot] in _SYSTEM), None)
        user = next((layout for layout in reversed(known) if roles[layout.slot] == "user"), None)
        moves = [
            move
            for layout in found[:_MOST_PLACES]
            for match in islice(_OUTPUT.finditer(layout.parts), _MOST_PLACES)
            for run in _with_section(layout, *match.span())
            for move in _moves(layout, *run, user if layout is system else system)
        ]
        return _first_sound(view, known, rng.sample(moves, len(moves)))


def _moves(layout: Layout, start: int, end: int, other: Layout | None) -> Iterator[_Move]:
    rest = len(layout.passages) - (end - start)
    if not rest:
        return
    for place in (0, rest):
        if place != start:
            yield _Move(layout, start, end, layout, place)
    if other is not None and other is not layout:
        yield _Move(layout, start, end, other, len(other.passages))


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
    version: Final = 3
    graded: Final = False
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE
    parts: Final = _KINDS

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with several changes of position, as `Perturbation.apply`.

        Not applicable: "too_few_changes" where fewer than two kinds have anything to act on.
        """
        wanted = rng.randint(_FEWEST, len(self.parts))
        changed, done = view, 0
        for kind in rng.sample(self.parts, len(self.parts)):
            if done == wanted:
                break
            outcome = kind.apply(changed, severity, rng)
            # Two moves may undo each other, such as context to the end and what followed it as well.
            if isinstance(outcome, NotApplicable) or outcome.text == view.text:
                continue
            changed, done = outcome, done + 1
        if done < _FEWEST:
            return NotApplicable("too_few_changes", "fewer than two kinds of positional change apply")
        return changed
