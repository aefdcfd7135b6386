"""Added sentences and items that have nothing to do with the question."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.foreign import SENTENCES, drawn
from evenkeel.experiments.calibrate.degrade.severity import touched_with
from evenkeel.experiments.calibrate.degrade.text.units import NOUNS, TextForm, read_units, with_text
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.core.pair import Answer


class Added:
    """Puts foreign units behind others."""

    version: ClassVar[int] = 1
    mode: ClassVar[FailureMode] = FailureMode.ADDED

    def __init__(self, form: TextForm, foreign: Sequence[str] = SENTENCES) -> None:
        """Choose the form, and where the units come from; what the answer has itself is not taken."""
        self.form: TextForm = form
        self._foreign = tuple(foreign)

    @property
    def name(self) -> str:
        """E.g. "added_sentences"."""
        return f"added_{NOUNS[self.form]}"

    def expected(self, severity: float) -> float:
        """1 − severity, by convention: as much is there that should not be as would otherwise be missing."""
        return 1 - severity

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer with max(1, ⌈n · severity⌉) foreign units, each behind one of its own.

        Raises:
            NotDegradableError: "nothing_foreign" also if the answer holds all that could be added.
        """
        text = read_units(given.text, self.form)
        size = len(text.units)
        touched = touched_with(size, severity, left=0)
        behind: defaultdict[int, list[str]] = defaultdict(list)
        for foreign in drawn(self._foreign, set(text.units), touched, rng):
            behind[rng.randrange(size)].append(foreign)
        slots = [[unit, *behind[index]] for index, unit in enumerate(text.units)]
        return with_text(given, text.written(slots))
