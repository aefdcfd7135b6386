"""Slots of an extraction: the share that is filled, and the share with values from the prompt."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.entity import AnswerSlot, read_schema, read_slots, slot_key
from evenkeel.metrics.quality.measurement import QualityMeasurement
from evenkeel.metrics.structured.tree import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.metrics.entity import Schema


_PLACEHOLDERS = frozenset(
    ("unknown", "n/a", "na", "none", "null", "-", "\u2014", "not specified", "not mentioned", "not given")
)
"""Placeholders that models write into a slot that they leave empty."""


_MOST_LOOKED_FOR: Final = 1_000
"""Most slots whose values are looked for in the prompt as they are written."""


_HARD: Final = re.compile(r"\S*\d\S*|\S+@\S+|\w+://\S+")
"""Words with a digit, and addresses: parts of a value that must be spelled as in the prompt."""
_AROUND: Final = ".,;:!?()[]{}<>\"'*_`"
_DATE: Final = re.compile(
    r"(?:19|20)\d\d|\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?|\d{1,2}(?:st|nd|rd|th)|\d{1,2}:\d{2}\S*"
)
"""Dates, years and times, which may be spelled in many ways."""


@dataclass(frozen=True, slots=True)
class SlotValues:
    """Filled slots of both answers."""

    reference: Sequence[AnswerSlot]
    candidate: Sequence[AnswerSlot]
    schema: Schema
    """Schema of the prompt; empty if it shows none."""
    text: str
    """Prompt in lower case with single spaces."""
    hard: frozenset[str]
    """Words of the prompt that have a digit or are an address, in lower case."""
    date_parts: frozenset[str]
    """Numbers in the dates and times of the prompt: "14" of "2025-06-14", which may be written "14 June"."""

    def supported(self, slot: AnswerSlot) -> bool | None:
        """Return whether the prompt holds the value of a slot.

        Only values with something hard in them are looked for: numbers, identifiers and addresses. Words
        may be translated, choices may be inferred, and dates may be spelled in any way.

        Returns: None if the value can't be checked by spelling.
        """
        if self.schema.get(slot.key):
            return None
        value = " ".join(unicodedata.normalize("NFC", slot.value).lower().split())
        hard = _hard_words(value)
        if not hard:
            return None
        if len(self.reference) + len(self.candidate) <= _MOST_LOOKED_FOR and value in self.text:
            return True
        missing = hard - self.hard
        if any(_DATE.fullmatch(word) or word in self.date_parts for word in missing):
            return None
        return not missing


def _hard_words(text: str) -> frozenset[str]:
    return frozenset(match[0].strip(_AROUND) for match in _HARD.finditer(text))


def slot_values(pair: Pair, metric: str, version: int) -> SlotValues | Failure | None:
    """Read the slots of both answers.

    Returns: the slots, without placeholders such as "unknown"; a candidate without any structure fills
        none. A `Failure` in the metric's name: "no_slots" if none can be read from the reference,
        "too_large" or "too_deep". None if the reference has no text: it may have called a tool instead.
    """
    if not pair.reference.text.strip():
        return None
    sides: list[list[AnswerSlot]] = []
    for read in (read_slots(pair.reference.text), read_slots(pair.candidate.text, pair.wanted.format)):
        if isinstance(read, UnreadableError):
            return Failure(metric, version, read.reason, str(read))
        if read is None and not sides:
            return Failure(metric, version, "no_slots", "The reference has no slots that can be read.")
        filled = [slot for slot in read or () if slot.value.strip().lower() not in _PLACEHOLDERS]
        sides.append([AnswerSlot(slot_key(slot.key), slot.value) for slot in filled])
    reference, candidate = sides
    text = " ".join(unicodedata.normalize("NFC", pair.context).lower().split())
    schema = {slot_key(key): choices for key, choices in read_schema(pair.context).items()}
    hard = _hard_words(text)
    dates = " ".join(word for word in hard if _DATE.fullmatch(word))
    parts = frozenset(number.lstrip("0") for number in re.findall(r"\d+", dates))
    return SlotValues(reference, candidate, schema, text, hard, parts)


class SlotCoverage:
    """Share of the slots that each answer fills with a value that the input does not contradict."""

    name: ClassVar[str] = "slot_coverage"
    version: ClassVar[int] = 1

    async def measure(self, pair: Pair) -> QualityMeasurement:
        """Return `measure_now`, computed in a thread."""
        return QualityMeasurement(await asyncio.to_thread(self.measure_now, pair))

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

    async def measure(self, pair: Pair) -> QualityMeasurement:
        """Return `measure_now`, computed in a thread."""
        return QualityMeasurement(await asyncio.to_thread(self.measure_now, pair))

    def measure_now(self, pair: Pair) -> QualityScore | Failure | None:
        """Return the share of supported values on each side, on the scale "ratio".

        Checkable are numbers, identifiers and addresses in slots without a fixed choice (see
        `SlotValues.supported`), so languages and wording do not count.

        Returns: 1 = every such value is in the prompt, also if there is none to check; 0 = none is.
            None or a `Failure` as of `slot_values`.
        """
        values = slot_values(pair, self.name, self.version)
        if values is None or isinstance(values, Failure):
            return values
        before, after = (_share(values, side) for side in (values.reference, values.candidate))
        return QualityScore(self.name, self.version, before, after, "ratio")


def _share(values: SlotValues, slots: Sequence[AnswerSlot]) -> float:
    checked = [supported for slot in slots if (supported := values.supported(slot)) is not None]
    return sum(checked) / len(checked) if checked else 1.0
