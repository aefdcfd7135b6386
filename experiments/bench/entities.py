"""Filled slots against the entities that a message is known to hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.entity.slots import SAME_TEXT, Slot, read_slots, slot_f1, slot_key
from evenkeel.metrics.similarity.rouge_l import rouge_l
from evenkeel.metrics.structured.tree import UnreadableError

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, Format, Pair
    from evenkeel.experiments.bench.items import Item

NAME: Final = "entity_match"
VERSION: Final = 1
_EMPTY: Final = frozenset(("", "null", "none", "unknown", "n/a", "-"))


def entity_match(item: Item, answer: Answer, wanted: Format | None = None) -> float | Failure:
    """F1 of the slots that an answer fills, against those that the message does.

    Values of choices and numbers must be equal, other ones reach a ROUGE-L F1 of 0.7.

    Args:
        item: Holds the schema and the expected entities.
        answer: Filled slots in any structured format; without any structure it fills none.
        wanted: The format that the answer should have, where the prompt names one.

    Returns: ratio in [0, 1]; 1 = exactly the expected ones. A `Failure` "too_large" or "too_deep".
    Source: Entity Match, section 4.2 of the enterprise perturbation paper.
    """
    read = read_slots(answer.text, wanted)
    if isinstance(read, UnreadableError):
        return Failure(NAME, VERSION, read.reason, str(read))
    exact = {slot.name for slot in item.slots if slot.type != "string"}
    expected = [Slot(name, _text(value)) for name, value in item.entities.items()]
    filled = [
        Slot(slot_key(slot.key), slot.value)
        for slot in read or ()
        if slot.value.strip().lower() not in _EMPTY
    ]

    def alike(left: Slot, right: Slot) -> float:
        if left.key in exact:
            return float(left.value.strip() == right.value.strip())
        return float(rouge_l(left.value, right.value) >= SAME_TEXT)

    return slot_f1(expected, filled, alike)


def entity_quality(item: Item, pair: Pair, reference_format: Format | None = None) -> QualityScore | Failure:
    """How well both answers of a pair fill the slots, as a quality of the second stage.

    Args:
        item: What was asked about.
        pair: Two answers.
        reference_format: Format that the reference was asked for.
    """
    reference = entity_match(item, pair.reference, reference_format)
    candidate = entity_match(item, pair.candidate, pair.wanted.format)
    if isinstance(reference, Failure):
        return reference
    if isinstance(candidate, Failure):
        return candidate
    return QualityScore(NAME, VERSION, reference, candidate, "ratio", 1e-9)


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)
