"""Duplicated items of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.data.choosing import chosen_items
from evenkeel.experiments.calibrate.degrade.data.document import read_document
from evenkeel.experiments.calibrate.degrade.data.tree import at
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.degrade.protocol import Form


class Duplicated:
    """Repeats items of arrays right behind themselves."""

    name: ClassVar[str] = "duplicated_values"
    version: ClassVar[int] = 1
    form: ClassVar[Form] = "data"
    mode: ClassVar[FailureMode] = FailureMode.DUPLICATED

    def expected(self, severity: float) -> float:
        """1 − severity, by convention: as much is said too often as would otherwise be missing."""
        return 1 - severity

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer with items repeated that hold max(1, ⌈n · severity⌉) of its n values.

        So many to the nearest item, see `chosen_items`.
        """
        document = read_document(given.text)
        edits = {}
        for path, again in chosen_items(document.root, severity, rng, apart=True, left=0).items():
            for index in again:
                entry = at(document.root, (*path, index))
                edits[*path, index] = [entry, entry]
        return document.edited(given, edits)
