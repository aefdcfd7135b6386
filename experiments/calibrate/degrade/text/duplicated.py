"""Duplicated sentences and items."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.severity import touched_with
from evenkeel.experiments.calibrate.degrade.text.units import NOUNS, TextForm, read_units, with_text
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random

    from evenkeel.core.pair import Answer


class Duplicated:
    """Says units twice in a row."""

    version: ClassVar[int] = 1
    mode: ClassVar[FailureMode] = FailureMode.DUPLICATED

    def __init__(self, form: TextForm) -> None:
        """Choose the form."""
        self.form: TextForm = form

    @property
    def name(self) -> str:
        """E.g. "duplicated_sentences"."""
        return f"duplicated_{NOUNS[self.form]}"

    def expected(self, severity: float) -> float:
        """1 − severity, by convention: as much is said too often as would otherwise be missing."""
        return 1 - severity

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer with max(1, ⌈n · severity⌉) different units repeated right behind themselves."""
        text = read_units(given.text, self.form)
        size = len(text.units)
        again = set(rng.sample(range(size), touched_with(size, severity, left=0)))
        slots = [[unit] * (2 if index in again else 1) for index, unit in enumerate(text.units)]
        return with_text(given, text.written(slots))
