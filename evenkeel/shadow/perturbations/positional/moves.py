"""Parts of a prompt at another place: its context, its output instructions, or several parts at once."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.positional.bonds import Bonds, is_tied, level_of
from evenkeel.shadow.perturbations.positional.passages import CATEGORY, laid_out, layouts
from evenkeel.shadow.perturbations.positional.reordering import Reordering
from evenkeel.shadow.perturbations.protocol import NOTHING, NotApplicable

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from evenkeel.shadow.perturbations.positional.passages import Layout, Passage
    from evenkeel.shadow.prompt import PromptView


# With delimiters around all of it, and what introduces it.
_CONTEXT: Final = re.compile(r"(?<![lo])[lo]*c(?:[loz]*c)*z*")
_ANY_INPUT: Final = re.compile(r"(?<![lo])[lo]*[ci](?:[loz]*[ci])*z*")
_CONTEXT_OUTPUT: Final = re.compile(r"l?u+")
# With a heading or lead-in, and examples of what is asked for
_INSTRUCTIONS_OUTPUT: Final = re.compile(r"l?u+e*")
_SYSTEM: Final = ("system", "developer")
_MOST_PLACES: Final = 8
"""Beginnings of sections that are tried, so that the time stays linear."""


class Span(NamedTuple):
    """A run of passages of one layout."""

    start: int
    end: int


class _Move(NamedTuple):
    """A run of passages, and where among the other passages of a slot it could go."""

    source: Layout
    span: Span
    target: Layout
    place: int

    def done(self) -> Sequence[Layout]:
        """The layouts it changes, as they are then."""
        passages = self.source.passages
        moved = passages[self.span.start : self.span.end]
        others = [*passages[: self.span.start], *passages[self.span.end :]]
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
    """The variant of the first move that breaks nothing, or why there is none."""
    if not moves:
        return NotApplicable("nowhere_to_move", "the message holds nothing else, or it stands there already")
    bonds = Bonds(known)
    fault = ""
    for move in moves:
        done = {layout.slot: layout for layout in move.done()}
        changed = laid_out(view, done.values())
        # Where neighbours are alike, a place may be no other one
        if changed.text == view.text:
            continue
        broken = bonds.fault([done.get(layout.slot, layout) for layout in known])
        if not broken:
            return changed
        fault = fault or broken
    if not fault:
        return NotApplicable("nowhere_to_move", "the rest of the message is the same text")
    return NotApplicable("bound", fault)


def _grown(layout: Layout, span: Span) -> Iterator[Span]:
    """The run with what is tied to it, and the whole section that it is in."""
    passages = layout.passages
    start, end = span
    while start > 0 and _goes_with(passages[start - 1], passages[start]):
        start -= 1
    while end < len(passages) and _goes_with(passages[end - 1], passages[end]):
        end += 1
    yield Span(start, end)
    first = start
    while first > 0 and level_of(passages[first]) is None:
        first -= 1
    level = level_of(passages[first])
    if level is None:
        return
    while end < len(passages) and (level_of(passages[end]) or level + 1) > level:
        end += 1
    if (first, end) != (start, span.end):
        yield Span(first, end)


def _goes_with(passage: Passage, following: Passage) -> bool:
    return is_tied(passage, following) or (passage.is_document and following.is_document)


def _places(layout: Layout, span: Span) -> list[int]:
    """Where among the other passages a run could stand, its present place apart."""
    others = [*layout.passages[: span.start], *layout.passages[span.end :]]
    parts = "".join(one.part for one in others)
    # A delimiter that is not part of the run would be left around nothing.
    if not parts.strip("loz"):
        return []
    output = _CONTEXT_OUTPUT.search(parts)
    sections = [place for place, one in enumerate(others) if level_of(one) is not None]
    wanted = {0, len(others), *sections[:_MOST_PLACES], *([output.start()] if output else [])}
    return sorted(wanted - {span.start})


class Context:
    """Moves what the task is about, such as documents or a case, to another place of its message.

    It goes to the beginning, to the end, before another section or before the output instructions. What
    introduces it goes along: a line that ends in a colon, a heading, labels, fences and tags around it.
    """

    name: Final = "positional.context"
    rewording: Final = Rewording(CATEGORY, phrase="moved context", order=10)
    version: Final = 2
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
        found = [(layout, span) for layout in known if (span := _context(layout)) is not None]
        if not found:
            return NotApplicable("no_context", "no part of the prompt is known to be a task's context")
        layout, span = max(found, key=lambda one: (bool(_places(*one)), _length(*one)))
        spans = dict.fromkeys(_grown(layout, span))
        moves = [_Move(layout, one, layout, place) for one in spans for place in _places(layout, one)]
        return _first_sound(view, known, rng.sample(moves, len(moves)))


def _context(layout: Layout) -> Span | None:
    """The longest run of passages that is context; where none is, of any input beside a template."""
    parts = layout.parts
    spans = [Span(*match.span()) for match in _CONTEXT.finditer(parts)]
    if not spans and any(part in "tue" for part in parts) and layout.has_template:
        spans = [Span(*match.span()) for match in _ANY_INPUT.finditer(parts)]
        # A question is what the rest of the prompt is about.
        spans = [span for span in spans if not layout.passages[span.end - 1].text.endswith(("?", "\uff1f"))]
    return max(spans, key=lambda span: _length(layout, span), default=None)


def _length(layout: Layout, span: Span) -> int:
    return sum(len(passage.text) for passage in layout.passages[span.start : span.end])


class OutputInstructions:
    """Moves the output instructions to another place of their message, or to the other message.

    From the end of a message they go to its beginning or the other way round, from the system message
    to the end of the last user message or back. Their heading, the skeleton they show and examples
    behind them go along.
    """

    name: Final = "positional.output_instructions"
    rewording: Final = Rewording(CATEGORY, phrase="moved output instructions", order=20)
    version: Final = 2
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
        system = next((one for one in known if roles[one.slot] in _SYSTEM), None)
        user = next((one for one in reversed(known) if roles[one.slot] == "user"), None)
        moves = [
            move
            for layout in found[:_MOST_PLACES]
            for match in islice(_INSTRUCTIONS_OUTPUT.finditer(layout.parts), _MOST_PLACES)
            for span in dict.fromkeys(_grown(layout, Span(*match.span())))
            for move in _moves(layout, span, user if layout is system else system)
        ]
        return _first_sound(view, known, rng.sample(moves, len(moves)))


def _moves(layout: Layout, span: Span, other: Layout | None) -> Iterator[_Move]:
    rest = len(layout.passages) - (span.end - span.start)
    if not rest:
        return
    for place in (0, rest):
        if place != span.start:
            yield _Move(layout, span, layout, place)
    if other is not None and other is not layout:
        yield _Move(layout, span, other, len(other.passages))


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
    version: Final = 2
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
            if isinstance(outcome, NotApplicable) or _same(outcome, view):
                continue
            changed, done = outcome, done + 1
        if done < _FEWEST:
            return NotApplicable("too_few_changes", "fewer than two kinds of positional change apply")
        return changed


def _same(view: PromptView, other: PromptView) -> bool:
    return view.text == other.text
