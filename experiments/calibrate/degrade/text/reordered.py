"""Reordered sentences and items."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.order import out_of_order
from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError
from evenkeel.experiments.calibrate.degrade.severity import touched_with
from evenkeel.experiments.calibrate.degrade.text.units import NOUNS, TextForm, read_units, with_text
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random

    from evenkeel.core.pair import Answer


class Reordered:
    """Moves units to other places."""

    version: ClassVar[int] = 1
    mode: ClassVar[FailureMode] = FailureMode.REORDERED

    def __init__(self, form: TextForm) -> None:
        """Choose the form."""
        self.form: TextForm = form

    @property
    def name(self) -> str:
        """E.g. "reordered_sentences"."""
        return f"reordered_{NOUNS[self.form]}"

    def expected(self, severity: float) -> float:
        """1 − severity: the share of the units that is still in order."""
        return 1 - severity

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer with exactly max(1, ⌈n · severity⌉) units out of order; at least one stays.

        Paragraphs, bullets and numbers stay where they are, the units change places between them.

        Raises:
            NotDegradableError: "no_order" also if those that moved are all alike.
        """
        text = read_units(given.text, self.form)
        size = len(text.units)
        touched = touched_with(size, severity, left=1)
        slots = [[text.units[index]] for index in out_of_order(size, touched, rng)]
        if all(slot == [unit] for slot, unit in zip(slots, text.units, strict=True)):
            raise NotDegradableError("no_order", "what was moved is the same as what stood there")
        return with_text(given, text.written(slots))
