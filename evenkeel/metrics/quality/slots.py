"""Slots of an extraction, as far as a rule can tell: alike to the letter, or with another fixed choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import QualityScore
from evenkeel.metrics.entity import read_schema, read_slots, slot_key
from evenkeel.metrics.identity import plain
from evenkeel.metrics.quality.measurement import RuleQuality
from evenkeel.metrics.structured.tree import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.pair import Format, Pair


class SameSlots(RuleQuality):
    """Quality of an extraction that needs no judge. Values that are worded otherwise are left to one."""

    name: ClassVar[str] = "slot_match"
    version: ClassVar[int] = 3

    def measure_now(self, pair: Pair) -> QualityScore | None:
        """Return the agreement of the slots, on the scale "agreement".

        Returns: 1 = both answers fill the same slots with the same values, by the rule of identity; below 1
            = a slot whose choices the prompt's schema fixes has another one: the share of the slots that are
            alike. None if neither is so: free values may say the same in other words.
        """
        asked = pair.wanted.format
        spelled = _as_written if asked is None else slot_key
        left, right = (
            _filled(pair.reference.text, None, spelled),
            _filled(pair.candidate.text, asked, spelled),
        )
        if not left or not right:
            return None
        names = left.keys() | right.keys()
        alike = []
        for name in names:
            if left.get(name) == right.get(name):
                alike.append(name)
        if len(alike) == len(names):
            return QualityScore(self.name, self.version, 1.0, 1.0, "agreement")
        schema = {spelled(name): choices for name, choices in read_schema(pair.context).items()}
        for name in left.keys() & right.keys():
            choices = schema.get(name, frozenset())
            chosen = {*left[name], *right[name]}
            # A value that is no choice may be one in other words.
            if name not in alike and chosen <= choices:
                return QualityScore(self.name, self.version, 1.0, len(alike) / len(names), "agreement")
        return None


def _as_written(name: str) -> str:
    return name


def _filled(text: str, wanted: Format | None, spelled: Callable[[str], str]) -> dict[str, list[str]]:
    slots = read_slots(text, wanted)
    values: dict[str, list[str]] = {}
    if slots is None or isinstance(slots, UnreadableError):
        return values
    for slot in slots:
        values.setdefault(spelled(slot.key), []).append(plain(slot.value))
    return values
