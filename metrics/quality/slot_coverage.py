"""How many of the slots are filled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.quality.protocol import Measured
from evenkeel.metrics.quality.slot_values import slot_values

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair


class SlotCoverage:
    """Share of the slots that each answer fills with something the input does not gainsay."""

    name: ClassVar[str] = "slot_coverage"
    version: ClassVar[int] = 1

    async def measure(self, pair: Pair) -> Measured:
        """`measure_now` in a thread."""
        return Measured(await asyncio.to_thread(self.measure_now, pair))

    def measure_now(self, pair: Pair) -> QualityScore | Failure | None:
        """The share of each side, on the scale "ratio".

        The slots are those of the prompt's schema; without one, those that either answer fills. A value
        that can be checked and is not in the prompt fills nothing (see `SlotValues.supported`).

        Returns: 1 = all slots are filled, also if neither answer fills any and there is no schema;
            0 = none is. None or a `Failure` as of `slot_values`.
        """
        values = slot_values(pair, self.name, self.version)
        if values is None or isinstance(values, Failure):
            return values
        filled = [
            {slot.key for slot in side if values.supported(slot) is not False}
            for side in (values.reference, values.candidate)
        ]
        every = set(values.schema) or {
            slot.key for side in (values.reference, values.candidate) for slot in side
        }
        before, after = (len(side & every) / len(every) if every else 1.0 for side in filled)
        return QualityScore(self.name, self.version, before, after, "ratio")
