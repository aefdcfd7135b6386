"""Values of two answers: written in one spelling, and compared."""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from evenkeel.metrics.similarity.values.lexicon import lexicon
from evenkeel.metrics.similarity.values.reading import read_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkeel.metrics.similarity.values.atoms import Reading
    from evenkeel.metrics.similarity.values.lexicon import Lexicon
    from evenkeel.metrics.similarity.values.reading import ReadValues, Value

# --- one spelling ---


def canonical(text: str, language: str | None = None) -> str:
    """The text with every value in one spelling.

    Texts that differ only in the way they write values become equal: "5 March 2024 at 3 pm" and
    "2024-03-05 at 15:00", "EUR 4,000" and "€4000". An ambiguous value stays ambiguous: texts are equal
    only where the values certainly are.
    """
    read = read_values(text, language)
    words = lexicon(read.language)
    pieces: list[str] = []
    place = 0
    values = list(read.values)
    index = 0
    while index < len(values):
        value = values[index]
        spelled, end = value.canonical, value.end
        kind = value.readings[0].kind
        gap = text[place : value.start]
        if kind in ("date", "time"):
            other = values[index + 1] if index + 1 < len(values) else None
            gap = _without_last(gap, _neutral(value, other, text, words))
            if (
                other
                and len(value.readings) == 1
                and (moment := _moment(value, other, text[value.end : other.start], words))
            ):
                spelled, end = moment, other.end
                index += 1
        if gap.endswith(" ") and words.language in ("ja", "zh") and _CJK_END.search(gap):
            gap = gap.rstrip(" ")
        pieces += (gap, spelled)
        place = end
        if words.language in ("ja", "zh") and _CJK_BEGIN.match(text, place):
            place += 1
        index += 1
    pieces.append(text[place:])
    return "".join(pieces)


_CJK_END: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff] \Z")
_CJK_BEGIN: Final = re.compile(r" [\u3040-\u30ff\u3400-\u9fff]")
_LAST_WORDS: Final = re.compile(r"(?:\A|(?<=[^\w]))((?:[^\W\d_]+'? )?[^\W\d_]+'?) ?\Z")


def _without_last(gap: str, words: Iterable[str]) -> str:
    """The gap without a neutral word at its end: "on", "am", "le"."""
    tail = gap[-16:]
    for word in sorted(words, key=len, reverse=True):
        for ending in (f"{word} ", word) if word.endswith("'") else (f"{word} ",):
            if tail.casefold().endswith(ending):
                before = gap[: len(gap) - len(ending)]
                if not before or not before[-1].isalnum():
                    return before
    return gap


def _neutral(value: Value, following: Value | None, text: str, words: Lexicon) -> frozenset[str]:
    """The words that say nothing before a date or time.

    An article may make it recur: "le lundi" is every Monday, "le midi" is lunchtime.
    """
    reading = value.readings[0]
    if reading.unit.startswith("W-"):
        is_dated = (
            following is not None
            and following.readings[0].kind == "date"
            and text[value.end : following.start].strip(" ,.\u00a0") == ""
        )
        return words.before if is_dated else words.before_weekday
    if reading.kind == "time" and value.text.isalpha():
        return words.before & words.joint
    return words.before


def _moment(value: Value, other: Value, gap: str, words: Lexicon) -> str | None:
    """A date and a time side by side as one, None if they do not belong together."""
    kinds = value.readings[0].kind, other.readings[0].kind
    if len(gap) > _LONGEST_JOINT or len(other.readings) != 1 or "\n" in gap:
        return None
    between = gap.casefold().strip(" ,").strip()
    neutral = _neutral(other, None, "", words)
    if kinds == ("date", "time") and between in {"", "t", *words.joint, *neutral}:
        return f"{value.canonical}T{other.canonical}"
    if kinds == ("time", "date") and between in {"", *neutral, *words.of}:
        return f"{other.canonical}T{value.canonical}"
    return None


# --- differences ---


def differing_values(
    left: str, right: str, language: str | None = None
) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """The values that one text holds and the other certainly lacks.

    Certainly: no reading agrees with any reading there, no number alone could stand for it, no less specific
    date covers it, and no value in another unit is equal at the precision shown. How often a value occurs
    does not count.

    Returns: what only `left` holds (lost) and what only `right` holds (added), each value once.
    """
    one, other = read_values(left, language), read_values(right, language)
    return _lacking(one, _Index(other.values)), _lacking(other, _Index(one.values))


def _lacking(read: ReadValues, others: _Index) -> tuple[Value, ...]:
    found: dict[tuple[Reading, ...], Value] = {}
    for value in read.values:
        if not value.is_weak and not others.has(value):
            found.setdefault(value.readings, value)
    return tuple(found.values())


class _Index:
    """The values of a text, to be asked whether another value agrees with one of them."""

    def __init__(self, values: Iterable[Value]) -> None:
        self._readings: set[Reading] = set()
        self._bare: set[Fraction] = set()
        self._shown: set[Fraction] = set()
        self._dates: set[str] = set()
        self._implied: set[str] = set()
        self._amounts: dict[str, list[tuple[Fraction, str, Fraction]]] = {}
        for value in values:
            self._readings.update(value.readings, value.loose)
            self._shown.update(value.shown)
            for reading in value.readings:
                if reading.kind in ("number", "ordinal"):
                    self._bare.update(value.shown)
                elif reading.kind == "date":
                    self._dates.add(reading.unit)
                    self._implied.update(_less_specific(reading.unit))
                elif reading.amount is not None:
                    self._amounts.setdefault(reading.unit, []).append(
                        (reading.amount, value.unit, value.step)
                    )
        for amounts in self._amounts.values():
            amounts.sort()

    def has(self, value: Value) -> bool:
        """Whether a value of the text agrees in any reading."""
        if not self._readings.isdisjoint((*value.readings, *value.loose)) or not self._bare.isdisjoint(
            value.shown
        ):
            return True
        for reading in value.readings:
            if reading.kind in ("number", "ordinal") and not self._shown.isdisjoint(value.shown):
                return True
            if reading.kind == "date" and (
                reading.unit in self._implied or not self._dates.isdisjoint(_less_specific(reading.unit))
            ):
                return True
            if reading.amount is not None and self._is_near(reading, value):
                return True
        return False

    def _is_near(self, reading: Reading, value: Value) -> bool:
        """Whether a value in another unit is equal at the precision shown."""
        amounts = self._amounts.get(reading.unit, ())
        assert reading.amount is not None
        # A rounded value is off by half a step: no unit here is more than a thousand times a step apart.
        start = bisect_left(amounts, (reading.amount, "", Fraction(0)))
        near = (*amounts[max(0, start - _NEIGHBOURS) : start + _NEIGHBOURS],)
        return any(
            unit != value.unit and abs(amount - reading.amount) * 2 <= max(step, value.step)
            for amount, unit, step in near
        )


_NEIGHBOURS: Final = 8
_LONGEST_JOINT: Final = 16


def _less_specific(iso: str) -> Iterator[str]:
    """The date as it may be written with less: without its year, its day or both; its weekday."""
    if iso.startswith("W"):
        return
    is_yearless = iso.startswith("--")
    year, month, day = ("-", *iso[2:].split("-"), "")[:3] if is_yearless else (*iso.split("-"), "")[:3]
    if day:
        yield f"{year}-{month}"
        if not is_yearless:
            yield f"--{month}-{day}"
            yield f"W-{date.fromisoformat(iso).isoweekday()}"
    if day or not is_yearless:
        yield f"--{month}"
