"""Degradations of texts: prose by its sentences, lists by their items.

Each changes what stands in the places of a divided text: nothing, the unit, another one, or several.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.degrade.engine import (
    Degradation,
    NotDegradableError,
    changed_units,
    out_of_order,
    touched_with,
)
from evenkeel.lab.calibrate.degrade.phrases import SENTENCES
from evenkeel.lab.calibrate.degrade.sentences import NOUNS, TextForm, is_code, own_text, read_units
from evenkeel.lab.calibrate.degrade.wording import (
    drawn,
    is_english,
    reworded,
    shortened,
    uncapitalised,
    without_ending,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from evenkeel.core.pair import Answer

    Slots = Sequence[Sequence[str]]
    """Units in each place of a text."""
    Change = Callable[[Sequence[str], int, random.Random], Slots]
    """A change of the units of a text: how many of them to touch, and chance."""

_WIDE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]$")


def text_degradations(form: TextForm) -> tuple[Degradation[Answer], ...]:
    """The degradations of a form, one for each failure mode."""
    noun = NOUNS[form]

    def degradation(name: str, mode: FailureMode, change: Change, *, left: int = 0) -> Degradation[Answer]:
        def apply(given: Answer, severity: float, rng: random.Random) -> Answer:
            text = read_units(given.text, form)
            touched = touched_with(len(text.units), severity, left=left)
            return replace(given, text=text.written(change(text.units, touched, rng)))

        return Degradation(f"{name}_{noun}", mode, apply)

    return (
        degradation("missing", FailureMode.MISSING, _missing, left=1),
        degradation("compressed", FailureMode.COMPRESSED, _compressed(form), left=1),
        degradation("reworded", FailureMode.REWORDED, _reworded(form)),
        degradation("reordered", FailureMode.REORDERED, _reordered, left=1),
        degradation("duplicated", FailureMode.DUPLICATED, _duplicated),
        degradation("added", FailureMode.ADDED, _added),
    )


def _missing(units: Sequence[str], touched: int, rng: random.Random) -> Slots:
    """Leaves units out.

    All that is left keeps its place; a bullet or line without any sentence goes too, and numbered items are
    numbered anew.
    """
    gone = set(rng.sample(range(len(units)), touched))
    return [[] if index in gone else [unit] for index, unit in enumerate(units)]


def _compressed(form: TextForm) -> Change:
    """Merges units with those that follow them, and cuts detail from what is merged in.

    Each merged unit is the first one, then those behind it without brackets, side clauses or last phrases
    (see `shortened`). Fenced blocks and rows of tables are merged with nothing.
    """

    def change(units: Sequence[str], touched: int, rng: random.Random) -> Slots:
        coded = [is_code(unit) for unit in units]
        free = [index for index in range(1, len(units)) if not coded[index] and not coded[index - 1]]
        if len(free) < touched:
            detail = f"{len(free)} units can be merged with those before, not {touched}"
            raise NotDegradableError("too_few_units", detail)
        return merged_slots(units, set(rng.sample(free, touched)), form)

    return change


def merged_slots(units: Sequence[str], joints: set[int], form: TextForm) -> list[list[str]]:
    """Return what stands in each place when the units at `joints` are merged with those before."""
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


def _reworded(form: TextForm) -> Change:
    """Says units in other words, by tables of English phrases (see `wording.reworded`); nothing is lost.

    Of an item only the first line is reworded. Code, quotations, addresses and numbers stay as they are.
    """

    def change(units: Sequence[str], touched: int, rng: random.Random) -> Slots:
        def other(index: int) -> str | None:
            own, nested = own_text(units[index]) if form == "list" else (units[index], "")
            said = None if is_code(own) else reworded(own, rng, orders=form == "list")
            return None if said is None else said + nested

        said = changed_units(len(units), touched, rng, other)
        if len(said) < touched:
            detail = f"{len(said)} units can be reworded by rule, not {touched}"
            raise NotDegradableError("not_reworded", detail)
        return [[said.get(index, unit)] for index, unit in enumerate(units)]

    return change


def _reordered(units: Sequence[str], touched: int, rng: random.Random) -> Slots:
    """Moves units to other places; paragraphs, bullets and numbers stay where they are."""
    slots = [[units[index]] for index in out_of_order(len(units), touched, rng)]
    if all(slot == [unit] for slot, unit in zip(slots, units, strict=True)):
        raise NotDegradableError("no_order", "what was moved is the same as what stood there")
    return slots


def _duplicated(units: Sequence[str], touched: int, rng: random.Random) -> Slots:
    """Says units twice in a row."""
    again = set(rng.sample(range(len(units)), touched))
    return [[unit] * (2 if index in again else 1) for index, unit in enumerate(units)]


def _added(units: Sequence[str], touched: int, rng: random.Random) -> Slots:
    """Puts units that have nothing to do with the question behind others."""
    behind: defaultdict[int, list[str]] = defaultdict(list)
    for foreign in drawn(SENTENCES, set(units), touched, rng):
        behind[rng.randrange(len(units))].append(foreign)
    return [[unit, *behind[index]] for index, unit in enumerate(units)]
