"""Compressed sentences and items: neighbours merged into one that says less."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError
from evenkeel.experiments.calibrate.degrade.severity import touched_with
from evenkeel.experiments.calibrate.degrade.shortening import shortened, without_ending
from evenkeel.experiments.calibrate.degrade.text.items import own_text
from evenkeel.experiments.calibrate.degrade.text.sentences import is_code
from evenkeel.experiments.calibrate.degrade.text.units import NOUNS, TextForm, read_units, with_text
from evenkeel.experiments.calibrate.degrade.wording import is_english, uncapitalised
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.core.pair import Answer

_WIDE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]$")


class Compressed:
    """Merges units with those that follow them, and cuts detail from what is merged in."""

    version: ClassVar[int] = 1
    mode: ClassVar[FailureMode] = FailureMode.COMPRESSED

    def __init__(self, form: TextForm) -> None:
        """Choose the form."""
        self.form: TextForm = form

    @property
    def name(self) -> str:
        """E.g. "compressed_sentences"."""
        return f"compressed_{NOUNS[self.form]}"

    def expected(self, severity: float) -> float:
        """1 − severity: the share of the units that remains; most is still said, in less detail."""
        return 1 - severity

    def apply(self, given: Answer, severity: float, rng: random.Random) -> Answer:
        """The answer with max(1, ⌈n · severity⌉) units fewer; at least one stays.

        Each merged unit is the first one, then those behind it without brackets, side clauses or last
        phrases (see `shortened`). Fenced blocks and rows of tables are merged with nothing.

        Raises:
            NotDegradableError: "too_few_units" also if so few units can be merged.
        """
        text = read_units(given.text, self.form)
        units = text.units
        touched = touched_with(len(units), severity, left=1)
        coded = [is_code(unit) for unit in units]
        free = [index for index in range(1, len(units)) if not coded[index] and not coded[index - 1]]
        if len(free) < touched:
            detail = f"{len(free)} units can be merged with those before, not {touched}"
            raise NotDegradableError("too_few_units", detail)
        joints = set(rng.sample(free, touched))
        return with_text(given, text.written(merged_slots(units, joints, self.form)))


def merged_slots(units: Sequence[str], joints: set[int], form: TextForm) -> list[list[str]]:
    """What stands in each place when the units at `joints` are merged with those before."""
    slots: list[list[str]] = [[] for _ in units]
    first = 0
    for index in range(1, len(units) + 1):
        if index not in joints:
            group = units[first:index]
            slots[first] = [merged(group, form) if len(group) > 1 else group[0]]
            first = index
    return slots


def merged(units: Sequence[str], form: TextForm) -> str:
    """Several sentences, or items with what is nested in them, as one."""
    if form == "prose":
        return _joined([" ".join(unit.split()) for unit in units])
    split = [own_text(unit) for unit in units]
    return _joined([own for own, _ in split]) + "".join(nested for _, nested in split)


def _joined(sentences: Sequence[str]) -> str:
    parts = [without_ending(sentence)[0] for sentence in (sentences[0], *map(shortened, sentences[1:]))]
    ending = without_ending(sentences[-1])[1]
    said = parts[0]
    for part in parts[1:]:
        if _WIDE.search(said):
            said += "\uff0c" + part
        elif is_english(said) and not (plain := uncapitalised(part))[:1].isupper():
            said += " and " + plain
        else:
            said += "; " + part
    return said + ending
