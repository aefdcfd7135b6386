"""Several changes of position at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.shadow.perturbations.positional.context import Context
from evenkeel.shadow.perturbations.positional.output_instructions import OutputInstructions
from evenkeel.shadow.perturbations.positional.reordering import Reordering
from evenkeel.shadow.perturbations.protocol import NOTHING, NotApplicable

if TYPE_CHECKING:
    import random

    from evenkeel.shadow.prompt import PromptView

_KINDS: Final[tuple[Context | OutputInstructions | Reordering, ...]] = (
    Context(),
    OutputInstructions(),
    Reordering(),
)
_FEWEST = 2


class Mixed:
    """Does two or all three of the other positional changes, one after the other."""

    name: Final = "positional.mixed"
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
