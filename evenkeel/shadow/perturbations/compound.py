"""Several changes at once, one after another: compounds that people choose, and groups to save requests.

A group of rewordings of one category is split only if its answer changes (`shadow.groups`).
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.rewordings import Category, Rewording
from evenkeel.core.together import TOGETHER, together_name
from evenkeel.shadow.perturbations.casing import Casing
from evenkeel.shadow.perturbations.paraphrase import Paraphrase
from evenkeel.shadow.perturbations.protocol import NOTHING, Draft, NotApplicable, attempt, seed_for
from evenkeel.shadow.perturbations.punctuation import Punctuation
from evenkeel.shadow.perturbations.spelling import Spelling
from evenkeel.shadow.perturbations.tone import Tone
from evenkeel.shadow.perturbations.translation import Multilingual
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

MOST: Final = 3
"""Most rewordings in a group. The effect of one has to stand out from the effects of the others: in groups
of five that took twice as many requests (`benchmarks/cost`)."""
_FEWEST: Final = 2


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
