"""Reads the values of a text: numbers, dates, times, durations, quantities, currency amounts, percentages.

Atoms that stand side by side and belong together become one value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.metrics.similarity.values.atoms import (
    Name,
    Number,
    Reading,
    Scan,
    Whole,
    phrases,
    plain,
    word_before,
)
from evenkeel.metrics.similarity.values.lexicon import lexicon, told_language
from evenkeel.metrics.similarity.values.numerals import NOON, is_time, iso_date, iso_time, whole_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evenkeel.metrics.similarity.values.atoms import Atom, Kind
    from evenkeel.metrics.similarity.values.lexicon import Lexicon, Unit


@dataclass(frozen=True, slots=True)
class Value:
    """A value where it stands in the text."""

    start: int
    end: int
    text: str
    """As it is written."""
    readings: tuple[Reading, ...]
    """What it can mean, at least one; more than one if it is ambiguous ("03/04/2024")."""
    step: Fraction = Fraction(0)
    """Precision shown, in the base unit: a hundredth for "1.25"."""
    unit: str = ""
    """The unit as written: values in one unit are compared exactly."""
    shown: frozenset[Fraction] = frozenset()
    """Its figures without the unit: a number alone, as in a table, may stand for them."""
    loose: tuple[Reading, ...] = ()
    """Further meanings that are unlikely but cannot be ruled out: "3:00" for 15:00."""
    is_weak: bool = False
    """Whether it may be no value at all ("one can", the number of a list item): it proves no difference."""

    @property
    def canonical(self) -> str:
        """The value in one spelling; with all its meanings where it is ambiguous."""
        if len(self.readings) == 1:
            return self.readings[0].text
        return "{" + "|".join(sorted({reading.text for reading in self.readings})) + "}"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class ReadValues:
    """What was found in a text."""

    language: str
    """The language it was read in; "" if none that is known."""
    values: tuple[Value, ...]
    """In the order of the text; they do not overlap."""
    opaque: tuple[Span, ...]
    """Code, identifiers, URLs, e-mail addresses, version and phone numbers: compared as they are written."""


def read_values(text: str, language: str | None = None) -> ReadValues:
    """Find every value of a text.

    Args:
        text: Prose or data. What is fenced or quoted as code is opaque.
        language: Tag of the language it is in; told from the text if it is not given.
    """
    return _kept(text, language) if len(text) <= _LONGEST_KEPT else _read_values(text, language)


def forget() -> None:
    """Forget the texts that were read, for measurements of what reading costs."""
    _kept.cache_clear()


def _read_values(text: str, language: str | None) -> ReadValues:
    unified = plain(text)
    words = lexicon(language or told_language(unified))
    atoms, opaque = Scan(unified, words).atoms()
    found = _Combination(unified, words, atoms).values()
    return ReadValues(
        words.language,
        tuple(replace(value, text=text[value.start : value.end]) for value in found),
        tuple(Span(start, end, text[start:end]) for start, end in opaque),
    )


_LONGEST_KEPT: Final = 20_000
_kept = lru_cache(maxsize=128)(_read_values)


class _Found(NamedTuple):
    """A value, and what a neighbour in a range needs to know of it."""

    value: Value
    units: tuple[Unit, ...] = ()
    amounts: tuple[Fraction, ...] = ()
    after: int = 0
    """The first atom behind it."""


_OF_DATE: Final = re.compile(r"[.,]?[ \u00a0]?(?:(?:the|den|dem|der|le|el|il|o|em|dia|de) ?)?\Z")
_RANGE: Final = re.compile(r" ?(?:-|–|—|~|〜|\uff5e|to|bis|à|a|al|tot|até|至|到|から) ?\Z")
_MONEY_BEFORE: Final = re.compile(
    r"((?:[A-Z]{1,3}|R|Rs)?[€$£¥₹₩₽₺₫₴₿]|\$US|[A-Z]{3}|Rs|RMB)[ \u00a0\u202f]?\Z"
)
_DECIMAL_CLOCK: Final = re.compile(r"(\d{1,2})[.](\d\d)\Z")
_GLUED_MAGNITUDE: Final = re.compile(r"(bn|mn|mio|mrd|[kKMBm])(?![^\W\d_])")
_SEPARATOR: Final = " \u00a0\u202f-"
_LONGEST_CJK_NAME: Final = 7
_FIRST_YEAR, _LAST_YEAR, _YEAR_DIGITS = 1000, 2999, 4
_MONTHS, _DAYS, _DAY_DIGITS, _MINUTE_DIGITS = 12, 31, 2, 2
_GAP: Final = 10
"""Characters between two parts of one value."""
_CLOSE: Final = 3
_OPEN: Final = frozenset("([{")
_CLOSED: Final = frozenset(")]}")
_LONGEST_FORMULA: Final = 200


class _Combination:
    """Makes values of atoms that belong together."""

    def __init__(self, text: str, words: Lexicon, atoms: Sequence[Atom]) -> None:
        self._text = text
        self._words = words
        self._atoms = atoms
        self._is_cjk = words.language in ("ja", "zh")
        self._floor = 0
        """Where the last value ends: nothing before it belongs to another one."""

    def values(self) -> Iterator[Value]:
        """The values in order, without their text."""
        place = 0
        found: list[_Found] = []
        while place < len(self._atoms):
            self._floor = found[-1].value.end if found else 0
            is_inside = self._atoms[place].start < self._floor
            made = None if is_inside else self._made(place)
            if made is not None:
                found.append(made)
            place = place + 1 if made is None else made.after
        return self._ranges(found)

    def _ranges(self, found: Sequence[_Found]) -> Iterator[Value]:
        """Gives both ends of a range the unit that is written once: "5 to 10 km", "$5-10"."""
        for place, one in enumerate(found):
            for other in (*found[place + 1 : place + 2], *found[max(0, place - 1) : place]):
                left, right = sorted((one.value, other.value), key=lambda value: value.start)
                gap = self._text[left.end : right.start]
                if (
                    one.value.readings[0].kind == "number"
                    and other.units
                    and len(gap) < _GAP
                    and _RANGE.match(gap)
                ):
                    yield self._value(one.value.start, one.value.end, one.amounts, other.units, one.value)
                    break
            else:
                yield one.value

    def _made(self, place: int) -> _Found | None:
        atom = self._atoms[place]
        if isinstance(atom, Name):
            return self._weekday(place, atom) if atom.kind == "weekday" else self._month(place, atom)
        if isinstance(atom, Whole):
            return self._whole(place, atom)
        assert isinstance(atom, Number)
        return (
            self._day_first(place, atom)
            or self._cjk_date(place, atom)
            or self._time(place, atom)
            or self._amount(place, atom)
        )

    # dates

    def _number_at(self, place: int) -> Number | None:
        atom = self._atoms[place] if place < len(self._atoms) else None
        return atom if isinstance(atom, Number) else None

    def _weekday(self, place: int, atom: Name) -> _Found | None:
        following = self._atoms[place + 1] if place + 1 < len(self._atoms) else None
        is_weekday = isinstance(following, Name) and following.kind == "weekday"
        after = None if following is None or is_weekday else self._made(place + 1)
        if after and after.value.readings[0].kind == "date":
            gap = self._text[atom.end : after.value.start]
            iso = after.value.readings[0].unit
            is_full = len(after.value.readings) == 1 and len(iso) == len("2024-03-05")
            if (
                len(gap) < _GAP
                and _OF_DATE.match(gap.casefold())
                and is_full
                and date.fromisoformat(iso).weekday() == atom.number
            ):
                return after._replace(value=replace(after.value, start=atom.start))
        if atom.is_short:
            return None
        return self._dated(atom.start, atom.end, f"W-{atom.number + 1}", frozenset(), place + 1)

    def _dated(self, start: int, end: int, iso: str, shown: frozenset[Fraction], after: int) -> _Found:
        return _Found(Value(start, end, "", (Reading("date", iso),), shown=shown), after=after)

    def _month(self, place: int, atom: Name) -> _Found | None:
        """A month, its day behind it if there is one, and the year."""
        end = atom.end + (self._text[atom.end : atom.end + 1] == "." and atom.is_short)
        day = self._number_at(place + 1)
        if day and self._text[end : day.start].strip(" \u00a0") == "" and 0 < day.start - atom.end <= _CLOSE:
            number = _day(day)
            if number and (iso := iso_date(None, atom.number, number)):
                return self._with_year(atom.start, day.end, atom.number, number, place + 2) or self._dated(
                    atom.start, day.end, iso, whole_numbers(atom.number, number), place + 2
                )
        dated = self._with_year(atom.start, end, atom.number, None, place + 1)
        if dated or atom.is_short:
            return dated
        return self._dated(atom.start, atom.end, f"--{atom.number:02}", whole_numbers(atom.number), place + 1)

    def _with_year(self, start: int, end: int, month: int, day: int | None, place: int) -> _Found | None:
        year = self._number_at(place)
        if year is None or len(year.digits) != _YEAR_DIGITS:
            return None
        gap = self._text[end : year.start].casefold()
        if len(gap) > _GAP or gap.strip(" \u00a0,.") not in {"", *self._words.of} or "\n" in gap:
            return None
        iso = iso_date(int(year.digits), month, day)
        if iso is None or not _FIRST_YEAR <= int(year.digits) <= _LAST_YEAR:
            return None
        return self._dated(
            start, year.end, iso, whole_numbers(int(year.digits), month, *([day] if day else [])), place + 1
        )

    def _day_first(self, place: int, atom: Number) -> _Found | None:
        month = self._atoms[place + 1] if place + 1 < len(self._atoms) else None
        number = _day(atom)
        if not (isinstance(month, Name) and month.kind == "month" and number):
            return None
        gap = self._text[atom.end : month.start].casefold()
        if len(gap) > _GAP or not gap or "\n" in gap or gap.strip(" \u00a0.º") not in {"", *self._words.of}:
            return None
        end = month.end + (self._text[month.end : month.end + 1] == "." and month.is_short)
        dated = self._with_year(atom.start, end, month.number, number, place + 2)
        if dated:
            return dated
        iso = iso_date(None, month.number, number)
        return (
            iso and self._dated(atom.start, month.end, iso, whole_numbers(month.number, number), place + 2)
        ) or None

    def _mark(self, place: int) -> tuple[str, int]:
        """The sign behind a number, one space aside, and where it ends."""
        start = place + (self._text[place : place + 1] == " ")
        return self._text[start : start + 1], start + 1

    def _cjk_date(self, place: int, atom: Number) -> _Found | None:
        if not self._is_cjk or atom.amounts[0].denominator != 1:
            return None
        year: int | None = None
        month, index = atom, place
        mark, end = self._mark(atom.end)
        if mark == "年":
            following = self._number_at(place + 1)
            if (
                following is None
                or not _FIRST_YEAR <= atom.amounts[0] <= _LAST_YEAR
                or not 0 <= following.start - end <= 1
            ):
                return None
            year, month, index = int(atom.amounts[0]), following, place + 1
            mark, end = self._mark(month.end)
        if mark != "月" or len(month.amounts) != 1 or not 1 <= month.amounts[0] <= _MONTHS:
            return None
        number = int(month.amounts[0])
        day = self._number_at(index + 1)
        if day and 0 <= day.start - end <= 1:
            mark, stop = self._mark(day.end)
            if mark in ("日", "号", "號") and (iso := iso_date(year, number, int(day.amounts[0]))):
                figures = whole_numbers(*filter(None, (year, number, int(day.amounts[0]))))
                return self._dated(atom.start, stop, iso, figures, index + 2)
        iso = iso_date(year, number, None) if year else f"--{number:02}"
        return (
            self._dated(atom.start, end, iso, whole_numbers(*filter(None, (year, number))), index + 1)
            if iso
            else None
        )

    # times

    def _whole(self, place: int, atom: Whole) -> _Found:
        start, end, readings, loose = atom.start, atom.end, atom.readings, atom.loose
        if readings[0].kind == "time" and ":" in self._text[start:end]:
            hour, _, minutes = readings[0].unit.partition(":")
            part, stop = self._part_of_day(start, end)
            if part is not None:
                readings, loose, end = (
                    (Reading("time", f"{_hour(int(hour), is_evening=part):02}:{minutes}"),),
                    (),
                    stop,
                )
            else:
                stop = self._oclock(end)
                if stop != end:
                    end, loose = stop, ()
        return _Found(
            Value(start, end, "", readings, shown=atom.shown | _hours(readings), loose=loose), after=place + 1
        )

    def _oclock(self, end: int) -> int:
        start = end + (self._text[end : end + 1] in _SEPARATOR and end < len(self._text))
        for phrase, stop in phrases(self._text, start):
            if phrase in self._words.oclock:
                return stop
        return end

    def _part_of_day(self, start: int, end: int) -> tuple[bool | None, int]:
        """Whether the evening half of the day is meant, None if nothing says; where the words end."""
        words, text = self._words, self._text
        if self._is_cjk:
            before = text[max(self._floor, start - 4) : start].rstrip()
            for parts, is_evening in ((words.mornings, False), (words.evenings, True)):
                if any(before.endswith(part) for part in parts):
                    return is_evening, end
        if text[end : end + 1] and (text[end] in _SEPARATOR[:-1] or text[end].isalpha()):
            begin = end + (text[end] in _SEPARATOR)
            for phrase, stop in phrases(text, begin):
                if phrase in words.mornings or phrase in words.evenings:
                    return phrase in words.evenings, stop + (
                        phrase[-1] != "." and phrase.count(".") > 0 and text[stop : stop + 1] == "."
                    )
        return None, end

    def _time(self, place: int, atom: Number) -> _Found | None:
        if atom.is_ordinal or atom.needs_unit or len(atom.amounts) != 1 or atom.step > 1:
            return None
        hour, minute = atom.amounts[0], 0
        if match := _DECIMAL_CLOCK.match(self._text[atom.start : atom.end]):
            hour, minute = Fraction(match[1]), int(match[2])
        if hour.denominator != 1 or not is_time(int(hour), minute):
            return None
        if self._is_cjk:
            return self._cjk_time(place, atom, int(hour))
        part, end = self._part_of_day(atom.start, atom.end)
        after = place + 1
        if part is None:
            end = self._oclock(atom.end)
            if not self._is_hour(atom, end):
                return None
            minutes = self._number_at(place + 1)
            if (
                minutes
                and minutes.digits
                and len(minutes.digits) == _MINUTE_DIGITS
                and self._text[end : minutes.start] in ("", " ")
                and is_time(0, int(minutes.digits))
            ):
                minute, end, after = int(minutes.digits), minutes.end, place + 2
            part, end = self._part_of_day(atom.start, end)
        elif not 1 <= hour <= NOON:
            return None
        clock = iso_time(_hour(int(hour), is_evening=part) if part is not None else int(hour), minute)
        return self._timed(self._start_of_time(atom.start), end, clock, after, int(hour), minute)

    def _timed(self, start: int, end: int, clock: str, after: int, hour: int, minute: int) -> _Found:
        readings = (Reading("time", clock),)
        return _Found(
            Value(start, end, "", readings, shown=whole_numbers(hour, minute) | _hours(readings)), after=after
        )

    def _start_of_time(self, start: int) -> int:
        """Where a part of the day in front of the hour begins."""
        if self._is_cjk:
            before = self._text[max(self._floor, start - 4) : start]
            for part in (*self._words.mornings, *self._words.evenings):
                if before.rstrip().endswith(part):
                    return start - len(before) + before.rindex(part)
        return start

    def _is_hour(self, atom: Number, end: int) -> bool:
        """Whether a number is the hour of a time, by the word for o'clock behind it or the word before it."""
        before = word_before(self._text, atom.start)
        if end == atom.end:
            return before in self._words.clock
        # The word for o'clock may be that for hours.
        word = self._text[atom.end : end].strip(_SEPARATOR).casefold()
        is_length = word in self._words.names or word in self._words.signs
        return not is_length or before in self._words.before or before in self._words.clock

    def _cjk_time(self, place: int, atom: Number, hour: int) -> _Found | None:
        mark, end = self._mark(atom.end)
        part, _ = self._part_of_day(atom.start, atom.end)
        behind = self._text[end : end + 1]
        if (
            mark not in ("時", "时", "点", "點")
            or behind == "間"
            or (mark == "時" and behind in ("点", "代", "期"))
        ):
            return None
        minutes = self._number_at(place + 1)
        minute, after = 0, place + 1
        if behind == "半":
            minute, end = 30, end + 1
        elif (
            minutes
            and self._text[end : minutes.start] in ("", " ")
            and self._mark(minutes.end)[0] in ("分", "")
        ):
            minute, end, after = int(minutes.amounts[0]), self._mark(minutes.end)[1], place + 2
        elif mark in ("点", "點") and behind not in ("钟", "整", "鐘") and part is None:
            return None
        elif behind in ("钟", "整", "鐘"):
            end += 1
        if not is_time(hour, minute):
            return None
        clock = iso_time(_hour(hour, is_evening=part) if part is not None else hour, minute)
        return self._timed(self._start_of_time(atom.start), end, clock, after, hour, minute)

    # amounts

    def _amount(self, place: int, atom: Number) -> _Found | None:
        start, is_negative = atom.start, False
        money, start = self._money_before(start)
        start, is_negative = self._sign(start)
        amounts, step, end = atom.amounts, atom.step, atom.end
        end, extra = self._plus_half(end)
        amounts = tuple(amount + extra for amount in amounts)
        scale, end = self._scale(end, is_money=bool(money))
        is_scaled = scale != 1
        if self._text.endswith("百分之", self._floor, start):
            money, start = lexicon("zh").signs["%"], start - len("百分之")
        units, stop = self._unit(end) if not money else (money, end)
        if money and (own := self._unit(end))[0] and own[0][0].is_money:
            stop = own[1]
        is_year = self._is_cjk and self._text[stop - 1 : stop] == "年" and amounts[0] >= _FIRST_YEAR
        if atom.is_ordinal or is_year:
            units, stop = (), end
        if atom.needs_unit and not units and not is_scaled:
            return None
        if units and units[0].is_money and len(amounts) > 1:
            # No currency has three decimals here: "$10,000" is ten thousand wherever it is written.
            amounts, step = (max(amounts),), Fraction(1)
        if units:
            is_length = units[0].base in ("s", "month") and not extra
            stop, more = self._plus_half(stop) if is_length else (stop, Fraction(0))
            amounts = tuple(amount + more for amount in amounts)
        amounts = tuple((-amount if is_negative else amount) * scale for amount in amounts)
        like = Value(start, stop, "", (), step * scale, is_weak=atom.is_weak and not is_scaled)
        if atom.is_ordinal and not units:
            readings = tuple(Reading("ordinal", "", amount) for amount in amounts)
            return _Found(
                replace(like, readings=readings, shown=frozenset(amounts), is_weak=atom.is_weak),
                after=place + 1,
            )
        value = self._value(start, stop, amounts, units, like)
        if self._is_pair(atom):
            pair = map(Fraction, self._text[atom.start : atom.end].split(","))
            value = replace(value, shown=value.shown.union(pair))
        found = _Found(value, units, amounts, place + 1)
        return self._longer(found) if units and value.readings[0].kind == "duration" else found

    def _is_pair(self, atom: Number) -> bool:
        """Whether a decimal number may be two: "(3,4)"."""
        written, before = self._text[atom.start : atom.end], self._text[atom.start - 1 : atom.start]
        behind = self._text[atom.end : atom.end + 1]
        return written.count(",") == 1 and "." not in written and before in _OPEN and behind in _CLOSED

    def _value(
        self, start: int, end: int, amounts: Iterable[Fraction], units: tuple[Unit, ...], like: Value
    ) -> Value:
        amounts = tuple(amounts)
        if not units:
            readings = tuple(Reading("number", "", amount) for amount in amounts)
            return replace(like, start=start, end=end, readings=readings, shown=frozenset(amounts))
        readings = tuple(
            dict.fromkeys(
                Reading(_kind(unit), unit.base, unit.in_base(amount)) for unit in units for amount in amounts
            )
        )
        return replace(
            like,
            start=start,
            end=end,
            readings=readings,
            step=like.step * units[0].factor,
            unit=units[0].name,
            shown=frozenset(amounts),
        )

    def _longer(self, found: _Found) -> _Found:
        """A duration and the smaller units that follow: "1 h 30 min"."""
        while True:
            value, after = found.value, self._number_at(found.after)
            if after is None or after.is_ordinal or len(value.readings) != 1:
                return found
            gap = self._text[value.end : after.start].casefold().strip(" \u00a0")
            if after.start - value.end > _GAP or gap not in {"", *self._words.joins}:
                return found
            next_one = self._amount_of_part(found.after, after)
            if next_one is None:
                return found
            one, other = value.readings[0], next_one.value.readings[0]
            if other.unit != one.unit or one.amount is None or other.amount is None:
                return found
            # "1 h 90 min" are two durations.
            if other.amount >= found.units[0].factor or one.amount % found.units[0].factor:
                return found
            total = Reading("duration", one.unit, one.amount + other.amount)
            joined = replace(
                value,
                end=next_one.value.end,
                readings=(total,),
                step=next_one.value.step,
                unit=f"{value.unit} {next_one.value.unit}",
                shown=value.shown | next_one.value.shown,
                is_weak=value.is_weak and next_one.value.is_weak,
            )
            found = _Found(joined, next_one.units, (), next_one.after)

    def _amount_of_part(self, place: int, atom: Number) -> _Found | None:
        end, extra = self._plus_half(atom.end)
        units, stop = self._unit(end)
        if not units or units[0].base not in ("s", "month"):
            return None
        amounts = tuple(amount + extra for amount in atom.amounts)
        like = Value(atom.start, stop, "", (), atom.step, is_weak=atom.is_weak)
        return _Found(self._value(atom.start, stop, amounts, units, like), units, amounts, place + 1)

    def _money_before(self, start: int) -> tuple[tuple[Unit, ...], int]:
        match = _MONEY_BEFORE.search(self._text[max(self._floor, start - 6) : start])
        if match is None:
            if self._words.language == "zh" and self._text[max(self._floor, start - 3) : start] == "人民币":
                return self._words.prefixes["CNY"], start - 3
            return (), start
        sign = match[1]
        begin = start - (match.end() - match.start())
        if begin and self._text[begin - 1].isalnum() and sign[0].isalpha():
            return (), start
        if sign == "$" and self._is_formula(begin):
            return (), start
        if begin > self._floor and self._text[begin - 1] == "\\":
            begin -= 1
        return (self._words.prefixes[sign], begin) if sign in self._words.prefixes else ((), start)

    def _is_formula(self, sign: int) -> bool:
        r"""Whether a dollar sign begins or ends a formula: "$5 + x$", "\$" aside."""
        text = self._text
        if text[max(0, sign - 1) : sign] == "$":
            return True
        line_end = text.find("\n", sign, sign + _LONGEST_FORMULA)
        close = text.find("$", sign + 1, line_end if line_end > 0 else sign + _LONGEST_FORMULA)
        return close > 0 and text[close - 1] not in " (" and not text[close + 1 : close + 2].isdecimal()

    def _ends_formula(self, sign: int) -> bool:
        begin = self._text.rfind("$", max(0, sign - _LONGEST_FORMULA), sign)
        return begin >= 0 and self._text[begin + 1] not in " \n" and "\n" not in self._text[begin:sign]

    def _sign(self, start: int) -> tuple[int, bool]:
        text = self._text
        if start > self._floor and text[start - 1] == "-":
            before = text[start - 2 : start - 1] if start > 1 else ""
            return (
                (start, False)
                if before.isalnum() or (before in (")", "-", "%", ".", "°") and before)
                else (start - 1, True)
            )
        if self._is_cjk:
            for word in self._words.minus:
                if text.endswith(word, max(self._floor, start - len(word)), start):
                    return start - len(word), True
            return start, False
        word = word_before(text, start)
        if word in self._words.minus and start - len(word) > self._floor:
            begin = start - len(word) - 1
            earlier = text[max(0, begin - 2) : begin].strip()
            if not earlier or not (earlier[-1].isalnum() or earlier[-1] in ")%"):
                return begin, True
        return start, False

    def _plus_half(self, end: int) -> tuple[int, Fraction]:
        if self._is_cjk:
            infix = next((infix for infix in ("个半", "半") if self._text.startswith(infix, end)), "")
            return end + len(infix), Fraction(1, 2) if infix else Fraction(0)
        if self._words.plus_half and self._text[end : end + 1] == " ":
            after = self._text[end + 1 : end + 16].casefold()
            for phrase in self._words.plus_half:
                if after.startswith(phrase) and not after[len(phrase) : len(phrase) + 1].isalnum():
                    return end + 1 + len(phrase), Fraction(1, 2)
        return end, Fraction(0)

    def _scale(self, end: int, *, is_money: bool) -> tuple[Fraction, int]:
        text, words = self._text, self._words
        scale = Fraction(1)
        if match := _GLUED_MAGNITUDE.match(text, end):
            if match[1] == "m" and is_money:
                return Fraction(10**6), match.end()
            if match[1] in words.magnitudes and match[1] not in words.signs:
                return words.magnitudes[match[1]], match.end()
        for _ in range(2):
            start = end + (text[end : end + 1] in _SEPARATOR and end < len(text))
            for phrase, stop in phrases(text, start):
                found = words.scales.get(phrase) or (
                    words.magnitudes.get(phrase) if len(phrase) > 1 else None
                )
                if found:
                    is_short = text[stop : stop + 1] == "." and f"{phrase}." in words.scales
                    scale, end = scale * found, stop + is_short
                    break
            else:
                break
        return scale, end

    def _unit(self, end: int) -> tuple[tuple[Unit, ...], int]:
        """The unit behind a number, and where it ends."""
        text, words = self._text, self._words
        if end >= len(text):
            return (), end
        start = end + (text[end] in _SEPARATOR)
        for phrase, stop in phrases(text, start):
            written = text[start:stop]
            if written[:1] == "$" and self._ends_formula(start):
                return (), end
            glued = words.glued.get(written) if start == end else None
            if found := words.signs.get(written) or words.names.get(phrase) or glued:
                return found, stop
        if self._is_cjk:
            return self._cjk_unit(start, end)
        sign = text[start : start + 1]
        return (words.signs[sign], start + 1) if sign in words.signs and not sign.isalnum() else ((), end)

    def _cjk_unit(self, start: int, end: int) -> tuple[tuple[Unit, ...], int]:
        text, names = self._text, self._words.names
        if text[start : start + 1] == "年" and text[start + 1 : start + 2] in ("代", "度", "生", "级"):
            return (), end
        for size in range(_LONGEST_CJK_NAME, 0, -1):
            found = names.get(text[start : start + size])
            # "3年目" is the third year.
            if found and text[start + size : start + size + 1] != "目":
                return found, start + size
        sign = text[start : start + 1]
        return (self._words.signs[sign], start + 1) if sign in self._words.signs else ((), end)


def _day(atom: Number) -> int | None:
    amount = atom.amounts[0]
    is_day = len(atom.amounts) == 1 and amount.denominator == 1 and 1 <= amount <= _DAYS and atom.step == 1
    return int(amount) if is_day and len(atom.digits) <= _DAY_DIGITS and not atom.needs_unit else None


def _hour(hour: int, *, is_evening: bool) -> int:
    return hour % NOON + (NOON if is_evening else 0) if hour <= NOON else hour


def _hours(readings: Iterable[Reading]) -> frozenset[Fraction]:
    return frozenset(
        Fraction(int(part))
        for reading in readings
        if reading.kind == "time"
        for part in reading.unit.split(":")
    )


def _kind(unit: Unit) -> Kind:
    if unit.is_money:
        return "money"
    return "percent" if unit.base == "%" else "duration" if unit.base in ("s", "month") else "quantity"
