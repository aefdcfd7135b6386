"""What digits, kanji numerals, dates and times amount to, and how amounts, dates and times are written."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Final

KANJI: Final = "〇零一二三四五六七八九十百千万萬億亿兆两兩壱弐参"
"""Characters of numbers in kanji."""
NOON: Final = 12
GROUP: Final = 3
"""Digits between the marks that group thousands."""
_HOURS: Final = 24
_MINUTES: Final = 60
_SHORT_YEAR_DIGITS: Final = 2
_LAST_CENTURY: Final = 70
"""The first year of two digits that is one of the 1900s."""


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
    if "'" in figures:
        return _with_apostrophes(figures)
    marks = [mark for mark in figures if mark in ".,"]
    if not marks:
        return ((Fraction(figures),) if figures.isdecimal() else ()), 0
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


def _with_apostrophes(figures: str) -> tuple[tuple[Fraction, ...], int]:
    """As in Switzerland: "1'234.50". Feet and inches, "5'11.5", are none."""
    whole, _, decimals = figures.replace(",", ".").partition(".")
    if not is_grouped(whole, "'") or (decimals and not decimals.isdecimal()):
        return (), 0
    return (Fraction(f"{whole}.{decimals or 0}".replace("'", "")),), len(decimals)


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
        return first.isdecimal()
    return (
        first.isdecimal()
        and len(first) <= GROUP
        and len(groups[-1]) == GROUP
        and all(len(group) in (GROUP - 1, GROUP) and group.isdecimal() for group in groups)
    )


_KANJI_DIGITS: Final = dict(
    zip("〇零一二三四五六七八九两兩壱弐参", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 2, 1, 2, 3), strict=True)
)
_KANJI_SMALL: Final = {"十": 10, "百": 100, "千": 1000}
_KANJI_LARGE: Final = {"万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8, "兆": 10**12}
_KANJI_GROUP: Final = re.compile(r"([^万萬億亿兆]*)([万萬億亿兆]*)")
_PART: Final = re.compile(r"([〇零]?)(\d+(?:[.,]\d+)*|[一二三四五六七八九壱弐参两兩])?([千百十]|\Z)")
_WITH_DECIMALS: Final = re.compile(r"[\d.,]+[十百千]?[万萬億亿兆]*")
_ZEROS: Final = frozenset("〇零")
_TWOS: Final = frozenset("两兩")
"""Two of something: never a digit among digits, nor the last one."""
_PAIR: Final = 2
_TEN: Final = 10
_HUNDRED: Final = 100
_THOUSAND: Final = 1000


def kanji_amount(written: str, *, is_chinese: bool) -> Fraction | None:
    """What kanji numerals, digits among them or not, amount to; None if they make no certain number.

    Two digits before one unit count roughly: 一二千 is one or two thousand. 一百五 is 150 in Chinese and 105
    in Japanese. 兆 is a million in mainland China and a million millions in Taiwan and Japan.

    Args:
        written: Characters of `KANJI`, and digits with their marks.
        is_chinese: Whether the text is Chinese rather than Japanese.
    """
    if all(mark in _KANJI_DIGITS for mark in written):
        return _digit_by_digit(written, is_chinese=is_chinese)
    if (
        written[-1] in _TWOS
        or (is_chinese and "兆" in written)
        or ("." in written and not _WITH_DECIMALS.fullmatch(written))
    ):
        return None
    total, last = Fraction(0), 0
    for section, larges in _KANJI_GROUP.findall(written):
        if not section and not larges:
            break
        # 万亿 is the only large unit of two.
        if len(larges) > 1 and larges not in ("万亿", "万億", "萬億"):
            return None
        unit = prod(_KANJI_LARGE[large] for large in larges)
        amount = _section_amount(section, last, is_chinese=is_chinese)
        if amount is None or (larges and not amount) or 0 < last <= amount * unit:
            return None
        total, last = total + amount * unit, unit
    return total


def _digit_by_digit(written: str, *, is_chinese: bool) -> Fraction | None:
    """Digits side by side, as in 二〇二四; None if they count roughly, as in 二三, or begin with zeros."""
    figures = [_KANJI_DIGITS[mark] for mark in written]
    if len(figures) > 1:
        is_rough = figures[0] > 0 and all(right - left == 1 for left, right in pairwise(figures))
        is_pair = len(figures) == _PAIR
        is_certain = 0 in figures if is_chinese and is_pair else figures[0] > 0 or is_pair
        if is_rough or not is_certain or not _TWOS.isdisjoint(written):
            return None
    return Fraction(int("".join(map(str, figures))))


def _section_amount(written: str, above: int, *, is_chinese: bool) -> Fraction | None:
    """What stands before a large unit, or behind all of them; None if it is no certain number.

    Args:
        written: A number whose units go down from 千, or digits with zeros among them, as in 一二〇万.
        above: The large unit before it, 0 if there is none.
        is_chinese: Whether a last digit without a unit counts the unit below that of the one before.
    """
    if len(written) > 1 and not above and all(mark in _KANJI_DIGITS for mark in written):
        has_zero = _KANJI_DIGITS[written[0]] > 0 and not _ZEROS.isdisjoint(written)
        return _digit_by_digit(written, is_chinese=is_chinese) if has_zero else None
    total, last, place = Fraction(0), above, 0
    while place < len(written):
        match = _PART.match(written, place)
        amount = match and _part_amount(match, last, is_chinese=is_chinese)
        if not match or not amount:
            return None
        total, last, place = total + amount, _KANJI_SMALL.get(match[3], 1), match.end()
    return total


def _part_amount(match: re.Match[str], above: int, *, is_chinese: bool) -> Fraction | None:
    """What a digit and its unit amount to behind a larger unit `above`; None if they cannot stand there."""
    zero, count, mark = match.groups()
    unit = _KANJI_SMALL.get(mark, 1)
    amount = Fraction(1)
    if count:
        amount = (
            next(iter(amounts_of(count, ".")[0]), Fraction(0))
            if count[0].isdecimal()
            else Fraction(_KANJI_DIGITS[count])
        )
    is_single = amount < _TEN
    if zero:
        # A zero stands for units that are left out.
        is_possible = above > _THOUSAND or unit * _TEN < above
    else:
        is_possible = not (is_chinese and not mark and is_single and above >= _HUNDRED)
    if above:
        is_possible = is_possible and amount * unit < above and (is_single or not mark)
    return (
        amount * unit if is_possible and (count or mark) and not (count in _TWOS and mark == "十") else None
    )


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
    if len(digits) > _SHORT_YEAR_DIGITS:
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
