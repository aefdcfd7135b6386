"""Missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.data.document import read_document
from evenkeel.experiments.calibrate.degrade.data.tree import leaf_paths
from evenkeel.experiments.calibrate.degrade.severity import touched_with
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.degrade.protocol import Form


class Missing:
    """Leaves values out with their keys, at any depth."""

    name: ClassVar[str] = "missing_values"
    version: ClassVar[int] = 1
    form: ClassVar[Form] = "data"
    mode: ClassVar[FailureMode] = FailureMode.MISSING

    def expected(self, severity: float) -> float:
        """1 − severity: the share of the values that remains."""
        return 1 - severity

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer without max(1, ⌈n · severity⌉) of its n values; at least one stays.

        An object or array of which nothing is left goes too.
        """
        document = read_document(given.text)
        paths = list(leaf_paths(document.root))
        gone = rng.sample(paths, touched_with(len(paths), severity, left=1))
        return document.edited(given, {path: [] for path in gone})
