"""Reworded values, by rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.data.changing import changed_values
from evenkeel.experiments.calibrate.degrade.data.document import read_document
from evenkeel.experiments.calibrate.degrade.wording import reworded
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.degrade.protocol import Form


class Reworded:
    """Says texts among the values in other words. No degradation: nothing is lost."""

    name: ClassVar[str] = "reworded_values"
    version: ClassVar[int] = 1
    form: ClassVar[Form] = "data"
    mode: ClassVar[FailureMode] = FailureMode.REWORDED

    def expected(self, severity: float) -> float:  # noqa: ARG002 - the same for all
        """1, whatever the severity: the meaning stays."""
        return 1.0

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer with exactly max(1, ⌈n · severity⌉) of its n values reworded; see `wording.reworded`.

        Raises:
            NotDegradableError: "too_few_units" also if so few values are sentences or phrases in English:
                names, codes and numbers have no other words.
        """
        document = read_document(given.text)
        return changed_values(document, given, severity, rng, reworded)
