"""What digits, kanji numerals, dates and times amount to, and how amounts, dates and times are written."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from typing import Final

KANJI: Final = "〇零一二三四五六七八九十百千万萬億亿兆两兩壱弐参"
"""Characters of numbers in kanji."""
NOON: Final = 12
GROUP: Final = 3
"""Digits between the marks that group thousands."""
_HOURS: Final = 24
_MINUTES: Final = 60
_LAST_CENTURY: Final = 70


def in_decimals(amount: Fraction) -> str:
    """The amount in decimals if it has an end, else as a fraction."""
    denominator, twos, fives = amount.denominator, 0, 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    if denominator != 1:
        return f"{amount.numerator}/{amount.denominator}"
    places = max(twos, fives)
    if not places:
        return str(amount.numerator)
    digits = str(abs(amount.numerator) * 10**places // amount.denominator).rjust(places + 1, "0")
    return f"{'-' if amount < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def amounts_of(figures: str, decimal: str) -> tuple[tuple[Fraction, ...], int]:
    """What digits with marks can mean, and how many decimals they show; nothing if they are no number."""
    figures = figures.replace("'", "") if is_grouped(figures, "'") or "'" not in figures else figures
    marks = [mark for mark in figures if mark in ".,"]
    if not marks:
        return ((Fraction(figures),) if figures.isdigit() else ()), 0
    last = marks[-1]
    whole, _, decimals = figures.rpartition(last)
    if len(set(marks)) > 1:
        other = "," if last == "." else "."
        if marks.count(last) != 1 or not is_grouped(whole, other):
            return (), 0
        return (Fraction(f"{whole.replace(other, '')}.{decimals}"),), len(decimals)
    if len(marks) > 1:
        return ((Fraction(figures.replace(last, "")),), 0) if is_grouped(figures, last) else ((), 0)
    return _with_one_mark(whole, decimals, last, decimal)


def _with_one_mark(whole: str, decimals: str, mark: str, decimal: str) -> tuple[tuple[Fraction, ...], int]:
    fraction, grouped = Fraction(f"{whole}.{decimals}"), Fraction(whole + decimals)
    if len(decimals) != GROUP and mark == "," and decimal == ".":
        # "1,2" is a list where the comma is no decimal mark.
        return (), 0
    if len(decimals) != GROUP or len(whole) > GROUP or whole.startswith("0"):
        return (fraction,), len(decimals)
    if not decimal:
        # The likelier first.
        return ((fraction, grouped) if mark == "." else (grouped, fraction)), GROUP
    if mark != decimal:
        return (grouped,), 0
    return ((fraction,) if mark == "." else (fraction, grouped)), GROUP


def is_grouped(figures: str, mark: str) -> bool:
    """Whether a mark groups digits by thousands, or by lakhs and crores."""
    first, *groups = figures.split(mark)
    if not groups:
        return first.isdigit()
    return (
        first.isdigit()
        and len(first) <= GROUP
        and len(groups[-1]) == GROUP
        and all(len(group) in (GROUP - 1, GROUP) and group.isdigit() for group in groups)
    )


_KANJI_DIGITS: Final = dict(
    zip("〇零一二三四五六七八九两兩壱弐参", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 2, 1, 2, 3), strict=True)
)
_KANJI_SMALL: Final = {"十": 10, "百": 100, "千": 1000}
_KANJI_LARGE: Final = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
_KANJI_PIECE: Final = re.compile(r"\d+(?:[.,]\d+)*|.")


def kanji_amount(written: str) -> Fraction | None:
    """What kanji numerals, with digits among them or without, amount to; None if they make no number."""
    if all(mark in _KANJI_DIGITS for mark in written):
        return Fraction(int("".join(str(_KANJI_DIGITS[mark]) for mark in written)))
    total = section = Fraction(0)
    digit: Fraction | None = None
    for piece in _KANJI_PIECE.findall(written):
        if piece[0].isdigit() and piece[0] not in _KANJI_DIGITS:
            amounts, _ = amounts_of(piece, ".")
            if not amounts or digit:
                return None
            digit = amounts[0]
        elif piece in _KANJI_DIGITS:
            digit = (digit or 0) * 10 + Fraction(_KANJI_DIGITS[piece])
        elif piece in _KANJI_SMALL:
            section += (1 if digit is None or digit == 0 else digit) * _KANJI_SMALL[piece]
            digit = None
        else:
            total += (section + (digit or 0) or 1) * _KANJI_LARGE[piece]
            section, digit = Fraction(0), None
    return total + section + (digit or 0)


def kanji_step(written: str) -> Fraction:
    """The precision that such a number shows."""
    scale = {**_KANJI_SMALL, **_KANJI_LARGE}.get(written[-1], 1)
    _, mark, decimals = written.rstrip(KANJI).rpartition(".")
    return Fraction(scale, 10 ** len(decimals) if mark else 1)


def iso_date(year: int | None, month: int, day: int | None) -> str | None:
    """The date, `--03-05` without a year, `2024-03` without a day; None if there is no such day."""
    try:
        date(year or 2000, month, day or 1)
    except ValueError:
        return None
    head = f"{year:04}" if year else "-"
    return f"{head}-{month:02}" + (f"-{day:02}" if day else "")


def full_year(digits: str) -> int:
    """The year of two digits or four: 69 is 2069, 70 is 1970."""
    if len(digits) > 2:  # noqa: PLR2004
        return int(digits)
    return int(digits) + (2000 if int(digits) < _LAST_CENTURY else 1900)


def is_time(hour: int, minute: int) -> bool:
    """Whether there is such a time of the day; the day may end at 24:00."""
    return 0 <= hour <= _HOURS and 0 <= minute < _MINUTES


def iso_time(hour: int, minute: int, second: int = 0) -> str:
    """The time of the day, without seconds where there are none: `15:00`."""
    return f"{hour % _HOURS:02}:{minute:02}" + (f":{second:02}" if second else "")


def whole_numbers(*numbers: int) -> frozenset[Fraction]:
    """The figures of a date or time."""
    return frozenset(map(Fraction, numbers))
