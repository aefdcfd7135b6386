"""Reworded sentences and items, by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError
from evenkeel.experiments.calibrate.degrade.severity import touched_with
from evenkeel.experiments.calibrate.degrade.text.items import own_text
from evenkeel.experiments.calibrate.degrade.text.sentences import is_code
from evenkeel.experiments.calibrate.degrade.text.units import NOUNS, TextForm, read_units, with_text
from evenkeel.experiments.calibrate.degrade.wording import reworded
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random

    from evenkeel.core.pair import Answer


class Reworded:
    """Says units in other words, by tables of English phrases. No degradation: nothing is lost."""

    version: ClassVar[int] = 1
    mode: ClassVar[FailureMode] = FailureMode.REWORDED

    def __init__(self, form: TextForm) -> None:
        """Choose the form."""
        self.form: TextForm = form

    @property
    def name(self) -> str:
        """E.g. "reworded_sentences"."""
        return f"reworded_{NOUNS[self.form]}"

    def expected(self, severity: float) -> float:  # noqa: ARG002 - the same for all
        """1, whatever the severity: the meaning stays."""
        return 1.0

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer with exactly max(1, ⌈n · severity⌉) units reworded; see `wording.reworded`.

        Of an item only the first line is. Code, quotations, addresses and numbers stay as they are.

        Raises:
            NotDegradableError: "not_reworded" also if too few units are in English.
        """
        text = read_units(given.text, self.form)
        size = len(text.units)
        touched = touched_with(size, severity, left=0)
        slots = [[unit] for unit in text.units]
        done = 0
        for index in rng.sample(range(size), size):
            if done == touched:
                break
            own, nested = own_text(text.units[index]) if self.form == "list" else (text.units[index], "")
            said = None if is_code(own) else reworded(own, rng, orders=self.form == "list")
            if said is not None:
                slots[index] = [said + nested]
                done += 1
        if done < touched:
            detail = f"{done} units can be reworded by rule, not {touched}"
            raise NotDegradableError("not_reworded", detail)
        return with_text(given, text.written(slots))
