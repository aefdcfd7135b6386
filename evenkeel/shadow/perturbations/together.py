"""Groups of rewordings in one category, tried at once and split only if their answers change."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.rewordings import Rewording
from evenkeel.core.together import TOGETHER, together_name
from evenkeel.shadow.perturbations.protocol import NOTHING, Draft, NotApplicable, attempt, seed_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.perturbations.protocol import Outcome, Perturbation, Requirement
    from evenkeel.shadow.prompt import PromptView

MOST: Final = 3
"""Most rewordings in a group. The effect of one has to stand out from the effects of the others: in groups
of five that took twice as many requests (`benchmarks/cost`)."""
_FEWEST: Final = 2
_SEED_BITS: Final = 53


def combinable(kind: Perturbation) -> bool:
    """Return whether a rewording can be tried together with others of its category.

    It works by rule, asks nothing of the answer, and is no combination itself.
    """
    by_rule = not kind.requires and getattr(kind, "by", "rule") == "rule"
    return by_rule and kind.wanted == AS_BEFORE and not hasattr(kind, "parts")


class Together:
    """Applies the rewordings that apply to a prompt, one after another; two at least.

    Unlike a compound, which people choose for what it is like in life, it leaves out what does not apply.
    """

    wanted: Final = AS_BEFORE
    requires: Final[frozenset[Requirement]] = NOTHING

    def __init__(self, kinds: Sequence[Perturbation], part: str = "") -> None:
        """Combine the rewordings.

        Args:
            kinds: Two or three combinable ones of one category, in the order in which they are applied.
            part: Tells groups of one category apart.

        Raises: ValueError if they are fewer or more, or cannot be combined.
        """
        if not _FEWEST <= len(kinds) <= MOST or not all(map(combinable, kinds)):
            raise ValueError(f"{', '.join(kind.name for kind in kinds)} cannot be tried together")
        self.kinds: Final = tuple(kinds)
        self.part: Final = part
        self.name: Final = together_name(kinds[0].rewording.category.name, len(kinds), part)
        self.rewording: Final = Rewording(TOGETHER)
        self.version: Final = sum(kind.version for kind in kinds)
        """Version, which increases with that of each part."""
        self.graded: Final = any(kind.graded for kind in kinds)

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """A variant with every rewording that applies, as `Perturbation.apply`.

        Each makes the choices that it makes alone under its `seed_of`. Not applicable: "too_few" if fewer
        than two apply; "undone" if they undo each other.
        """
        changed, applied, seed = view, 0, rng.getrandbits(_SEED_BITS)
        for kind in self.kinds:
            chosen = random.Random(_part_seed(kind, seed))
            outcome = attempt(kind, changed, severity if kind.graded else 1.0, chosen)
            if not isinstance(outcome, (NotApplicable, Draft)):
                changed, applied = outcome, applied + 1
        if applied < _FEWEST:
            return NotApplicable("too_few")
        if changed.text == view.text:
            return NotApplicable("undone")
        return changed

    def seed_of(self, kind: Perturbation, seed: int) -> int:
        """Return the seed with which a rewording alone makes the choices that it makes here under `seed`."""
        return _part_seed(kind, random.Random(seed).getrandbits(_SEED_BITS))


def _part_seed(kind: Perturbation, seed: int) -> int:
    return seed_for(f"{seed:x}", kind.name, 0.0, kind.version)
