"""Whether the slots are filled with what the input says."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.quality.protocol import Measured
from evenkeel.metrics.quality.slot_values import slot_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.metrics.entity.slots import Slot
    from evenkeel.metrics.quality.slot_values import SlotValues


class SlotGrounding:
    """Share of the checkable values of each answer that the input holds: precision without a gold answer."""

    name: ClassVar[str] = "slot_grounding"
    version: ClassVar[int] = 1

    async def measure(self, pair: Pair) -> Measured:
        """`measure_now` in a thread."""
        return Measured(await asyncio.to_thread(self.measure_now, pair))

    def measure_now(self, pair: Pair) -> QualityScore | Failure | None:
        """The share of each side, on the scale "ratio".

        Checkable are numbers, dates, identifiers and addresses in slots without a fixed choice (see
        `SlotValues.supported`), so languages and wording do not count.

        Returns: 1 = every such value is in the prompt, also if there is none to check; 0 = none is.
            None or a `Failure` as of `slot_values`.
        """
        values = slot_values(pair, self.name, self.version)
        if values is None or isinstance(values, Failure):
            return values
        before, after = (_share(values, side) for side in (values.reference, values.candidate))
        return QualityScore(self.name, self.version, before, after, "ratio")


def _share(values: SlotValues, slots: Sequence[Slot]) -> float:
    checked = [supported for slot in slots if (supported := values.supported(slot)) is not None]
    return sum(checked) / len(checked) if checked else 1.0
