"""Several changes at once, one after another."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.rewordings import Category, Rewording
from evenkeel.shadow.perturbations.casing import Casing
from evenkeel.shadow.perturbations.multilingual import Multilingual
from evenkeel.shadow.perturbations.paraphrase import Paraphrase
from evenkeel.shadow.perturbations.protocol import NOTHING, Draft, NotApplicable
from evenkeel.shadow.perturbations.punctuation import Punctuation
from evenkeel.shadow.perturbations.spelling import Spelling
from evenkeel.shadow.perturbations.tone import Tone
from evenkeel.shadow.perturbations.whitespace import Whitespace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.perturbations.protocol import Outcome, Perturbation, Requirement
    from evenkeel.shadow.prompt import PromptView

# Each part has a seed of its own, so that one that is left out changes no other.
_SEED_BITS: Final = 53


_CATEGORY: Final = Category(
    "compound",
    "Several perturbations, one after another, as they come together in life.",
    order=60,
    phrase="several rewordings at once ({kind})",
    graded=True,
)


class Compound:
    """Applies kinds one after another, each to what the one before has made.

    Applicable only if all its parts are. Each part draws from a generator of its own, so a part makes
    the same choices whatever the others need. Severity goes to the graded parts; the others are tried
    at 1.
    """

    rewording: Final = Rewording(_CATEGORY)

    def __init__(self, name: str, parts: Sequence[Perturbation]) -> None:
        """Combine the parts.

        Args:
            name: Without the category: "typos" gives "compound.typos".
            parts: At least two, in the order in which they are applied. At most one asks for a form of the
                answer.
        """
        self.name: Final = f"compound.{name}"
        self.parts: Final = tuple(parts)
        self.version: Final = sum(part.version for part in parts)
        """Version, which increases with that of each part."""
        self.graded: Final = any(part.graded for part in parts)
        self.requires: Final[frozenset[Requirement]] = NOTHING.union(*(part.requires for part in parts))
        self.wanted: Final = next((part.wanted for part in parts if part.wanted != AS_BEFORE), AS_BEFORE)

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """A variant with all parts applied, as `Perturbation.apply`.

        Not applicable: the reason of the first part that is not, after "part_": "part_no_input".
        """
        if not 0 <= severity <= 1:
            raise ValueError(f"severity {severity} is not between 0 and 1")
        seeds = [rng.getrandbits(_SEED_BITS) for _ in self.parts]
        return self._from(0, view, severity, seeds)

    def _from(self, index: int, view: PromptView, severity: float, seeds: list[int]) -> Outcome:
        """Return the outcome of the parts from `index` on, given the outcome of the earlier ones."""
        if index == len(self.parts):
            return view
        part = self.parts[index]
        strength = severity if part.graded else 1.0
        return self._after(index, part.apply(view, strength, random.Random(seeds[index])), severity, seeds)

    def _after(self, index: int, outcome: Outcome, severity: float, seeds: list[int]) -> Outcome:
        """Apply the remaining parts to a part's outcome, as soon as there is a prompt to apply them to."""
        match outcome:
            case NotApplicable(reason, detail):
                return NotApplicable(f"part_{reason}", f"{self.parts[index].name}: {detail or reason}")
            case Draft(tasks, finish):
                return Draft(tasks, lambda texts: self._after(index, finish(texts), severity, seeds))
            case _:
                return self._from(index + 1, outcome, severity, seeds)


COMPOUNDS: Final = (
    Compound("typos", (Whitespace(), Punctuation(), Casing(), Spelling())),
    Compound("hurried", (Tone(tones=("urgent",)), Punctuation(), Casing(), Spelling())),
    Compound("retold", (Paraphrase(), Tone())),
    Compound("foreign_typos", (Multilingual("es"), Punctuation(), Spelling())),
)
"""Compounds that need no configuration: careless typing of every sort; somebody in a rush; the same request
by another person; a request in Spanish by somebody who types carelessly."""
