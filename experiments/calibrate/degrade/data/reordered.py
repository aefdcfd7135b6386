"""Reordered items of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.experiments.calibrate.degrade.data.choosing import chosen_items
from evenkeel.experiments.calibrate.degrade.data.document import read_document
from evenkeel.experiments.calibrate.degrade.data.tree import Branch, arranged, at
from evenkeel.experiments.calibrate.degrade.order import out_of_order
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random

    from evenkeel.core.pair import Answer
    from evenkeel.experiments.calibrate.degrade.protocol import Form


class Reordered:
    """Moves items of arrays to other places; the order of keys says nothing and stays."""

    name: ClassVar[str] = "reordered_values"
    version: ClassVar[int] = 1
    form: ClassVar[Form] = "data"
    mode: ClassVar[FailureMode] = FailureMode.REORDERED

    def expected(self, severity: float) -> float:
        """1 − severity: the share of the values that is still in order."""
        return 1 - severity

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer with items out of order that hold max(1, ⌈n · severity⌉) of its n values.

        So many to the nearest item, see `chosen_items`; of each array at least one item stays.

        Raises:
            NotDegradableError: "unchanged" also if what moved is the same as what stood there.
        """
        document = read_document(given.text)
        orders = {}
        for path, moved in chosen_items(document.root, severity, rng, apart=False, left=1).items():
            array = at(document.root, path).node
            assert isinstance(array, Branch)
            orders[path] = out_of_order(len(array.entries), len(moved), rng)
        return document.degraded(given, arranged(document.root, orders))
