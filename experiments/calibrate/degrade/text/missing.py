"""Missing sentences and items."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from evenkeel.experiments.calibrate.degrade.severity import touched_with
from evenkeel.experiments.calibrate.degrade.text.units import NOUNS, TextForm, read_units, with_text
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random

    from evenkeel.core.pair import Answer

Where = Literal["last", "random", "inner"]

_LEFT: dict[Where, int] = {"last": 1, "random": 1, "inner": 2}


class Missing:
    """Leaves units out: any, the last ones, or any but the first and the last."""

    version: ClassVar[int] = 1
    mode: ClassVar[FailureMode] = FailureMode.MISSING

    def __init__(self, form: TextForm, where: Where = "random") -> None:
        """Choose the form and which units go."""
        self.form: TextForm = form
        self._where = where

    @property
    def name(self) -> str:
        """E.g. "missing_sentences", "missing_last_items"."""
        where = "" if self._where == "random" else f"{self._where}_"
        return f"missing_{where}{NOUNS[self.form]}"

    def expected(self, severity: float) -> float:
        """1 − severity: the share of the answer that remains."""
        return 1 - severity

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer without max(1, ⌈n · severity⌉) of its n units; at least one stays ("inner": two).

        All that is left keeps its place; a bullet or line without any sentence goes too, and numbered items
        are numbered anew.
        """
        text = read_units(given.text, self.form)
        size = len(text.units)
        touched = touched_with(size, severity, left=_LEFT[self._where])
        match self._where:
            case "last":
                gone = set(range(size - touched, size))
            case "random":
                gone = set(rng.sample(range(size), touched))
            case "inner":
                gone = set(rng.sample(range(1, size - 1), touched))
        slots = [[] if index in gone else [unit] for index, unit in enumerate(text.units)]
        return with_text(given, text.written(slots))
