"""Slots of an extraction: the share that is filled, and the share with values from the prompt."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.entity import Slot, read_schema, read_slots, slot_key
from evenkeel.metrics.quality.measurement import Measured
from evenkeel.metrics.similarity.details import read_details
from evenkeel.metrics.similarity.statements import hard
from evenkeel.metrics.structured.tree import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.metrics.entity import Schema
    from evenkeel.metrics.similarity.details import Detail, Reading


_PLACEHOLDERS = frozenset(
    ("unknown", "n/a", "na", "none", "null", "-", "\u2014", "not specified", "not mentioned", "not given")
)
"""Placeholders that models write into a slot that they leave empty."""


_MOST_LOOKED_FOR: Final = 1_000
"""Most slots whose values are looked for in the prompt as they are written."""


@dataclass(frozen=True, slots=True)
class SlotValues:
    """Filled slots of both answers."""

    reference: Sequence[Slot]
    candidate: Sequence[Slot]
    schema: Schema
    """Schema of the prompt; empty if it shows none."""
    source: Reading
    text: str
    """Prompt in lower case with single spaces."""
    dates: frozenset[frozenset[str]]
    """Year, month and day of each date in the prompt, as far as it names them."""
    parts_of_dates: frozenset[frozenset[str]]
    """Subsets of these dates, the whole dates included."""

    def supported(self, slot: Slot) -> bool | None:
        """Return whether the prompt holds the value of a slot.

        Only values with something hard in them are looked for: numbers, dates, identifiers, addresses.
        Dates may be spelled in any way. Words may be translated, and choices may be inferred.

        Returns: None if the value can't be checked by spelling.
        """
        if self.schema.get(slot.key):
            return None
        details = hard(read_details(slot.value))
        if not details:
            return None
        few = len(self.reference) + len(self.candidate) <= _MOST_LOOKED_FOR
        if few and " ".join(slot.value.lower().split()) in self.text:
            return True
        return all(self._mentions(detail) for detail in details)

    def _mentions(self, detail: Detail) -> bool:
        if self.source.mentions(detail):
            return True
        if detail.kind != "date":
            return False
        parts = _date_parts(detail.text)
        return parts in self.parts_of_dates or any(one in self.dates for one in _subsets(parts))


def slot_values(pair: Pair, metric: str, version: int) -> SlotValues | Failure | None:
    """Read the slots of both answers.

    Returns: the slots, without placeholders such as "unknown"; a candidate without any structure fills
        none. A `Failure` in the metric's name: "no_slots" if none can be read from the reference,
        "too_large" or "too_deep". None if the reference has no text: it may have called a tool instead.
    """
    if not pair.reference.text.strip():
        return None
    sides: list[list[Slot]] = []
    for read in (read_slots(pair.reference.text), read_slots(pair.candidate.text, pair.wanted.format)):
        if isinstance(read, UnreadableError):
            return Failure(metric, version, read.reason, str(read))
        if read is None and not sides:
            return Failure(metric, version, "no_slots", "The reference has no slots that can be read.")
        filled = [slot for slot in read or () if slot.value.strip().lower() not in _PLACEHOLDERS]
        sides.append([Slot(slot_key(slot.key), slot.value) for slot in filled])
    reference, candidate = sides
    text = " ".join(pair.context.lower().split())
    schema = {slot_key(key): choices for key, choices in read_schema(pair.context).items()}
    source = read_details(pair.context)
    dates = frozenset(_date_parts(detail.text) for detail in source.details if detail.kind == "date")
    parts = frozenset(some for date in dates for some in _subsets(date))
    return SlotValues(reference, candidate, schema, source, text, dates - {frozenset()}, parts)


def _date_parts(text: str) -> frozenset[str]:
    return frozenset(part for part in text.split("-") if part)


def _subsets(parts: frozenset[str]) -> Iterator[frozenset[str]]:
    some = (combinations(parts, count) for count in range(len(parts) + 1))
    return map(frozenset, chain.from_iterable(some))


class SlotCoverage:
    """Share of the slots that each answer fills with a value that the input does not contradict."""

    name: ClassVar[str] = "slot_coverage"
    version: ClassVar[int] = 1

    async def measure(self, pair: Pair) -> Measured:
        """Return `measure_now`, computed in a thread."""
        return Measured(await asyncio.to_thread(self.measure_now, pair))

    def measure_now(self, pair: Pair) -> QualityScore | Failure | None:
        """Return the share of filled slots on each side, on the scale "ratio".

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


class SlotGrounding:
    """Share of the checkable values of each answer that the input holds: precision without a gold answer."""

    name: ClassVar[str] = "slot_grounding"
    version: ClassVar[int] = 1

    async def measure(self, pair: Pair) -> Measured:
        """Return `measure_now`, computed in a thread."""
        return Measured(await asyncio.to_thread(self.measure_now, pair))

    def measure_now(self, pair: Pair) -> QualityScore | Failure | None:
        """Return the share of supported values on each side, on the scale "ratio".

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
