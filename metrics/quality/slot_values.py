"""The slots that each answer of a pair fills, and whether the input supports what is in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.metrics.entity.schema import read_schema
from evenkeel.metrics.entity.slots import Slot, read_slots, slot_key
from evenkeel.metrics.quality.statements import hard
from evenkeel.metrics.similarity.details import read_details
from evenkeel.metrics.structured.tree import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.metrics.entity.schema import Schema
    from evenkeel.metrics.similarity.details import Detail, Reading

_PLACEHOLDERS = frozenset(
    ("unknown", "n/a", "na", "none", "null", "-", "\u2014", "not specified", "not mentioned", "not given")
)
"""What models write into a slot that they leave empty."""


@dataclass(frozen=True, slots=True)
class SlotValues:
    """The filled slots of both answers."""

    reference: Sequence[Slot]
    candidate: Sequence[Slot]
    schema: Schema
    """Of the prompt; empty if it shows none."""
    source: Reading
    text: str
    """The prompt in lower case with single spaces."""

    def supported(self, slot: Slot) -> bool | None:
        """Whether the prompt holds the value of a slot.

        Only values with something hard in them are looked for: numbers, dates, identifiers, addresses.
        Dates may be spelled in any way. Words may be translated, and choices may be inferred.

        Returns: None if the value can't be checked by spelling.
        """
        if self.schema.get(slot.key):
            return None
        details = hard(read_details(slot.value))
        if not details:
            return None
        if " ".join(slot.value.lower().split()) in self.text:
            return True
        return all(self._mentions(detail) for detail in details)

    def _mentions(self, detail: Detail) -> bool:
        if self.source.mentions(detail):
            return True
        if detail.kind != "date":
            return False
        parts = _date_parts(detail.text)
        return any(
            parts <= known or known <= parts
            for other in self.source.details
            if other.kind == "date" and (known := _date_parts(other.text))
        )


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
    return SlotValues(reference, candidate, schema, read_details(pair.context), text)


def _date_parts(text: str) -> frozenset[str]:
    return frozenset(part for part in text.split("-") if part)
