"""The task's context at another place of the prompt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.shadow.perturbations.positional.layout import laid_out, layouts
from evenkeel.shadow.perturbations.protocol import NOTHING, NotApplicable

if TYPE_CHECKING:
    import random

    from evenkeel.shadow.perturbations.positional.layout import Layout
    from evenkeel.shadow.prompt import PromptView

# With delimiters around all of it, and what introduces it.
_CONTEXT: Final = re.compile(r"[lo]*c(?:[loz]*c)*z*")
_ANY_INPUT: Final = re.compile(r"[lo]*[ci](?:[loz]*[ci])*z*")
_OUTPUT: Final = re.compile(r"l?u+")


class Context:
    """Moves what the task is about, such as documents or a case, to another place of its message.

    It goes to the beginning, to the end, or before the output instructions. What introduces it goes
    along: a line that ends in a colon, a heading, labels, fences and tags around it.
    """

    name: Final = "positional.context"
    version: Final = 1
    graded: Final = False
    requires: Final = NOTHING
    wanted: Final = AS_BEFORE

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant with its context elsewhere, as `Perturbation.apply`.

        Not applicable: "no_context"; "nowhere_to_move" where nothing else stands beside it.
        """
        del severity
        found = [(layout, span) for layout in layouts(view) if (span := _context(layout)) is not None]
        if not found:
            return NotApplicable("no_context", "no part of the prompt is known to be a task's context")
        movable = [(layout, span, places) for layout, span in found if (places := _places(layout, span))]
        if not movable:
            return NotApplicable("nowhere_to_move", "nothing stands beside the context in its message")
        layout, (start, end), places = max(movable, key=lambda one: _length(one[0], one[1]))
        others = [*layout.passages[:start], *layout.passages[end:]]
        for place in rng.sample(places, len(places)):
            moved = [*others[:place], *layout.passages[start:end], *others[place:]]
            changed = laid_out(view, [layout.arranged(moved)])
            # Where neighbours are alike, a place may be no other one
            if changed.text != view.text:
                return changed
        return NotApplicable("nowhere_to_move", "what stands beside the context is the same text")


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
    output = _OUTPUT.search(others)
    wanted = {0, len(others), *([output.start()] if output else [])}
    return sorted(wanted - {span[0]})
