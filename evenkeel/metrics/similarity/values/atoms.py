"""Cuts a text into atoms: numbers in digits or words, names of months and weekdays, whole dates and times.

No expression looks further than a bounded distance, or looks again at what another has passed, so the time is
linear in the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from evenkeel.metrics.similarity.values.lexicon import LONGEST_PHRASE, OTHER_WORDS, numeral
from evenkeel.metrics.similarity.values.numerals import (
    GROUP,
    KANJI,
    NOON,
    amounts_of,
    full_year,
    in_decimals,
    is_grouped,
    is_time,
    iso_date,
    iso_time,
    kanji_amount,
    kanji_step,
    whole_numbers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.metrics.similarity.values.lexicon import Lexicon

Kind: TypeAlias = Literal["number", "ordinal", "percent", "money", "quantity", "duration", "date", "time"]


class Reading(NamedTuple):
    """One meaning of a value."""

    kind: Kind
    unit: str
    """Base unit or currency code; "" for numbers; of dates and times the ISO form: `--03-05` has no year."""
    amount: Fraction | None = None
    """In the base unit, exact; None for dates and times."""

    @property
    def text(self) -> str:
        """The meaning in one spelling: "4000 EUR", "12%", "5400 s", "2024-03-05", "15:00"."""
        if self.amount is None:
            return self.unit
        if self.kind == "ordinal":
            return f"{self.amount}."
        plain = in_decimals(self.amount)
        return plain + self.unit if self.unit == "%" else f"{plain} {self.unit}".rstrip()


# Marks that Japanese and Chinese keyboards write.
_NARROW: Final = {
    **{code: code - 0xFEE0 for code in range(0xFF10, 0xFF1A)},
    **{code: code - 0xFEE0 for code in (*range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))},
    **{
        ord(wide): narrow
        for wide, narrow in zip(
            "\uff05\uff1a\uff0f\uff0d\uff0b\uff04\uffe5\uff0e’\u2018−\u2010\u2011",
            "%:/-+$¥.''---",
            strict=True,
        )
    },
    0x2009: "\u202f",
    0x2060: " ",
}
_WIDE_COMMA: Final = re.compile(r"(?<=\d)\uff0c(?=\d{3}(?!\d))")


def plain(text: str) -> str:
    """The text with full-width forms and marks unified, character by character."""
    if text.isascii():
        return text
    return _WIDE_COMMA.sub(",", text.translate(_NARROW))


@dataclass(slots=True)
class Atom:
    """A piece that is a value or part of one."""

    start: int
    end: int


@dataclass(slots=True)
class Number(Atom):
    """A number, in digits or words."""

    amounts: tuple[Fraction, ...]
    step: Fraction = Fraction(1)
    digits: str = ""
    """The digits if it is a whole number written in digits without marks."""
    is_weak: bool = False
    is_ordinal: bool = False
    needs_unit: bool = False
    """An article or "half": a number only if a unit follows."""


@dataclass(slots=True)
class Name(Atom):
    """A month (1 to 12) or a weekday (0 to 6)."""

    kind: Literal["month", "weekday"]
    number: int
    is_short: bool


@dataclass(slots=True)
class Whole(Atom):
    """A date or time that is one piece."""

    readings: tuple[Reading, ...]
    shown: frozenset[Fraction] = frozenset()
    loose: tuple[Reading, ...] = ()


_CJK: Final = r"\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER: Final = rf"[^\W{_CJK}½⅓⅔¼¾⅕⅛⅜⅝⅞]"
_ATOM: Final = re.compile(
    rf"""
    (?P<code>```.*?(?:```|\Z)|`[^`\n]+`)
    |(?P<url>(?:https?|ftp|file)://[^\s<>"'`)\]}}]+|\bwww\.[^\s<>"'`)\]}}]+)
    |(?P<phone>\+\d[\d ().-]{{6,18}}\d|\(\d{{3}}\)\ ?\d{{3}}-\d{{4}}(?!\d))
    |(?P<kanji>(?!百分之)(?:\d+(?:[.,]\d+)*)?[{KANJI}](?:\d+(?:[.,]\d+)*|[{KANJI}])*)
    |(?P<blob>{_LETTER}++(?:(?:[.@:/\\+-]++|(?<=\d),(?=\d)|'(?={_LETTER})){_LETTER}++)*+)
    |(?P<half>半(?=个?小时|个?钟头|天|年|个?月|時間|日間|[かカヶ]月))
    |(?P<vulgar>[½⅓⅔¼¾⅕⅛⅜⅝⅞])
    """,
    re.VERBOSE | re.DOTALL,
)
_VULGAR: Final = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅛": (1, 8), "⅜": (3, 8),
    "⅝": (5, 8), "⅞": (7, 8),
}  # fmt: skip
_DIGIT: Final = re.compile(r"\d")
_NUMBER: Final = re.compile(r"\d+(?:[.,']\d+)*")
_SCIENTIFIC: Final = re.compile(r"(\d+(?:\.\d+)?)[eE]([+-]?\d{1,3})")
_GROUPS: Final = re.compile(r"(?:[ \u00a0\u202f]\d{3})+(?:[.,]\d+)?(?![\d])")
_HARD_GROUPS: Final = re.compile(r"(?:[\u00a0\u202f]\d{3})+(?:[.,]\d+)?(?![\d])")
_POWER: Final = re.compile(r" ?[×x*·] ?10(?:\^\{?([+-]?\d{1,3})\}?|([⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))")
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_ISO_DATE: Final = re.compile(
    r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"
)
_DAY_FIRST: Final = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d\d)")
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?(?!\d)")
_CLOCK_H: Final = re.compile(r"(\d{1,2})[hH](\d\d)")
_COMPOUND: Final = re.compile(r"(?:\d+(?:\.\d+)?(?:h|hr|min|m|s|d|ms)){2,}")
_SECONDS: Final[dict[str, Fraction | int]] = {
    "d": 86400,
    "h": 3600,
    "hr": 3600,
    "min": 60,
    "m": 60,
    "s": 1,
    "ms": Fraction(1, 1000),
}
_COMPOUND_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([a-z]+)")
_SUFFIX: Final = re.compile(r"[^\W\d]+|°[CF]?")
_ORDINAL_SUFFIX: Final = frozenset(
    ("st", "nd", "rd", "th", "er", "ère", "ere", "e", "ème", "eme", "re", "º", "ª", "o", "a", "de", "ste")
)
_LIST_MARK: Final = re.compile(
    r"^[ \t]*(?:[-*+•>#]+[ \t]+)*(?:\*\*|__)?\d{1,3}(?=[.)、](?:[ \t*]|[^\d\s]))", re.MULTILINE
)
_EMAIL: Final = re.compile(r"[^@]+@[^@]+\.[^@]+")
_PHONE_DIGITS: Final = 9
_LONGEST_NUMBER: Final = 60
"""Digits; a longer run is an identifier."""


class Scan:
    """Cuts a text into atoms."""

    def __init__(self, text: str, words: Lexicon) -> None:
        self._text = text
        self._words = words
        self._found: list[Atom] = []
        self._opaque: list[tuple[int, int]] = []
        self._done = 0
        self._labels = frozenset(match.end() for match in _LIST_MARK.finditer(text))

    def atoms(self) -> tuple[list[Atom], list[tuple[int, int]]]:
        """The atoms and the opaque spans, in order."""
        read: dict[str, Callable[[re.Match[str]], None]] = {
            "code": self._hide,
            "url": self._url,
            "phone": self._phone,
            "kanji": self._kanji,
            "blob": self._blob,
            "half": self._half,
            "vulgar": self._vulgar,
        }
        for match in _ATOM.finditer(self._text):
            if match.start() >= self._done:
                read[match.lastgroup or ""](match)
        return self._found, self._opaque

    def _hide(self, match: re.Match[str]) -> None:
        self._opaque.append(match.span())

    def _url(self, match: re.Match[str]) -> None:
        self._opaque.append((match.start(), match.start() + len(match[0].rstrip(".,;:!?"))))

    def _phone(self, match: re.Match[str]) -> None:
        if sum(map(str.isdigit, match[0])) >= _PHONE_DIGITS:
            self._hide(match)
        else:
            # No phone number: read what stands behind the mark.
            self._done = match.start()
            for inner in _ATOM.finditer(self._text, match.start() + 1, match.end()):
                if inner.lastgroup == "blob" and inner.start() >= self._done:
                    self._blob(inner)
            self._done = max(self._done, match.end())

    def _half(self, match: re.Match[str]) -> None:
        self._found.append(Number(match.start(), match.end(), (Fraction(1, 2),), Fraction(1, 10)))

    def _vulgar(self, match: re.Match[str]) -> None:
        part = Fraction(*_VULGAR[match[0]])
        last = self._found[-1] if self._found else None
        if isinstance(last, Number) and last.digits and self._text[last.end : match.start()] in ("", " "):
            last.amounts = tuple(amount + part for amount in last.amounts)
            last.end, last.digits, last.step = match.end(), "", Fraction(1, 100)
        else:
            self._found.append(Number(match.start(), match.end(), (part,), Fraction(1, 100)))

    def _kanji(self, match: re.Match[str]) -> None:
        is_chinese = self._words.language != "ja"
        amount = kanji_amount(match[0], is_chinese=is_chinese) if len(match[0]) <= _LONGEST_NUMBER else None
        if amount is None:
            self._hide(match)
            return
        start, end = match.span()
        is_alone = match[0] in _KANJI_WORDS or (end - start == 1 and not match[0].isdecimal())
        if self._text[start - 1 : start] in _SEVERAL and start:
            return
        if is_alone and not self._counts(end):
            return
        self._found.append(Number(start, end, (amount,), kanji_step(match[0]), is_weak=is_alone))

    def _counts(self, end: int) -> bool:
        """Whether a counter, a unit or a part of a date or time follows."""
        after = self._text[end : end + 5]
        if after[:1] in ("分", "時", "时", "秒", "度") and after[:1]:
            # 三分木, 一時的: words of their own, unless a length is meant.
            if self._text.endswith(tuple(self._words.minus), 0, end - 1):
                return True
            return after[1:2] in ("間", "钟", "鐘", "半", "後", "前") or self._text.endswith(
                _HALVES_OF_DAY, 0, end - 1
            )
        return bool(after) and (
            after[0] in self._words.counters
            or after[0] in "年月日点點%倍"
            or any(after[:size] in self._words.names for size in range(1, 6))
        )

    def _blob(self, match: re.Match[str]) -> None:
        start, end = match.span()
        piece = match[0]
        if not _DIGIT.search(piece):
            self._wordlike(start, end)
        elif "@" in piece and _EMAIL.fullmatch(piece):
            self._opaque.append((start, end))
        elif piece[0].isdecimal():
            self._digits(start, end)
        else:
            self._lettered(start, end)

    # words

    def _wordlike(self, start: int, end: int) -> None:
        piece = self._text[start:end]
        if "@" in piece or "_" in piece or "\\" in piece:
            self._opaque.append((start, end))
            return
        if not self._words.language:
            return
        if piece.isalpha() or not ("-" in piece or "'" in piece):
            self._word(start, end)
            return
        whole = piece.casefold()
        if (
            whole in self._words.weekdays
            or whole in self._words.times
            or numeral(whole, self._words.language) is not None
        ):
            self._word(start, end)
            return
        for part in _WORD_PART.finditer(piece):
            self._word(start + part.start(), start + part.end())

    def _word(self, start: int, end: int) -> None:
        if start < self._done:
            return
        word = self._text[start:end].casefold()
        if not (
            self._named(start, end, word) or self._half_of(start, word) or self._ranked(start, end, word)
        ):
            self._counted(start, end, word)

    def _named(self, start: int, end: int, word: str) -> bool:
        """Whether a word is the name of a month, a weekday or a time."""
        words = self._words
        is_capital = self._text[start].isupper() or words.language not in ("en", "de")
        if (month := words.months.get(word)) is not None:
            if is_capital or word not in OTHER_WORDS:
                self._found.append(Name(start, end, "month", month, word in words.short_months))
            return True
        if (weekday := words.weekdays.get(word)) is not None:
            if is_capital:
                self._found.append(Name(start, end, "weekday", weekday, word in words.short_weekdays))
            return True
        if (clock := words.times.get(word)) is not None and self._text[start - 1 : start] != "-":
            hour = whole_numbers(int(clock.partition(":")[0]))
            self._found.append(Whole(start, end, (Reading("time", clock),), hour))
            return True
        return False

    def _half_of(self, start: int, word: str) -> bool:
        if word in self._words.half_words:
            for phrase, stop in phrases(self._text, start):
                if phrase in self._words.halves:
                    amount = self._words.halves[phrase]
                    self._found.append(Number(start, stop, (amount,), Fraction(1, 10), needs_unit=True))
                    self._done = stop
                    return True
        return False

    def _ranked(self, start: int, end: int, word: str) -> bool:
        words = self._words
        is_unit = word in words.names and self._found and self._found[-1].end == start - 1
        if word not in words.ordinals or is_unit:
            return False
        place = words.ordinals[word]
        # "Second, …" goes on in the text and counts nothing.
        is_weak = place <= 1 or word in words.weak or self._text[end : end + 1] == ","
        self._found.append(Number(start, end, (Fraction(place),), is_weak=is_weak, is_ordinal=True))
        return True

    def _counted(self, start: int, end: int, word: str) -> None:
        is_number = self._words.is_spelled and self._spelled(start, word)
        if not is_number and word in self._words.ones:
            self._found.append(Number(start, end, (Fraction(1),), is_weak=True, needs_unit=True))

    def _spelled(self, start: int, word: str) -> bool:
        """Whether a number in words begins here; it is taken as far as it goes."""
        words = self._words
        if numeral(word, words.language) is None or (word in words.scales and word in words.names):
            return False
        stops: list[int] = []
        place = start
        while len(stops) < _LONGEST_SPELLED and (match := _WORD_RUN.match(self._text, place)):
            part = match[1].casefold()
            if part not in words.joins and numeral(part, words.language) is None:
                break
            place = match.end()
            stops.append(place)
        for stop in reversed(stops):
            spelled = self._text[start:stop].casefold()
            if (amount := numeral(spelled, words.language)) is not None:
                alone = spelled in words.weak or spelled in words.ones
                self._found.append(
                    Number(
                        start,
                        stop,
                        (Fraction(amount),),
                        is_weak=alone,
                        needs_unit=spelled in words.ones and spelled != "one",
                    )
                )
                self._done = stop
                return True
        return False

    # digits

    def _lettered(self, start: int, end: int) -> None:
        """A piece of letters and digits that begins with a letter."""
        piece = self._text[start:end]
        head, _, rest = piece.partition("'")
        if rest[:1].isdecimal() and head.isalpha():
            # An article: "l'18 novembre".
            self._digits(start + len(head) + 1, end)
            return
        code = _CODE_BEFORE.match(piece)
        if code and code[0] in self._words.prefixes:
            self._digits(start + code.end(), end)
            return
        self._opaque.append((start, end))

    def _digits(self, start: int, end: int) -> None:
        piece = self._text[start:end]
        if len(piece) > _LONGEST_NUMBER or not (
            self._date(start, piece) or self._clock(start, piece) or self._plain_number(start, piece)
        ):
            self._opaque.append((start, end))

    def _date(self, start: int, piece: str) -> bool:
        if match := _ISO_DATE.fullmatch(piece):
            year, _, month, day, hour, minute, second, _ = match.groups()
            iso = iso_date(int(year), int(month), int(day))
            if iso is None:
                return False
            head = match.end(4)
            self._found.append(
                Whole(
                    start,
                    start + head,
                    (Reading("date", iso),),
                    whole_numbers(int(year), int(month), int(day)),
                )
            )
            if hour is not None:
                self._add_clock(
                    start + head + 1,
                    start + len(piece),
                    int(hour),
                    int(minute),
                    int(second or 0),
                    is_certain=True,
                )
            return True
        if match := _DAY_FIRST.fullmatch(piece):
            first, mark, second, year = match.groups()
            readings = tuple(
                dict.fromkeys(
                    Reading("date", iso)
                    for day, month in self._orders(int(first), int(second), mark)
                    if (iso := iso_date(full_year(year), month, day)) is not None
                )
            )
            if not readings or (len(year) != _YEAR_DIGITS and mark == "."):
                return False
            self._found.append(
                Whole(
                    start,
                    start + len(piece),
                    readings,
                    whole_numbers(int(first), int(second), full_year(year)),
                )
            )
            return True
        return False

    def _orders(self, first: int, second: int, mark: str) -> tuple[tuple[int, int], ...]:
        """Day and month, in every order that the language allows."""
        if mark == "." or self._words.language not in ("", "en"):
            return ((first, second),)
        return ((first, second), (second, first))

    def _clock(self, start: int, piece: str) -> bool:
        match = _CLOCK.match(piece)
        if match and is_time(int(match[1]), int(match[2])):
            rest = piece[match.end() :]
            if rest and not (
                rest.casefold() in self._words.mornings | self._words.evenings or rest[0] == "-"
            ):
                return False
            self._add_clock(
                start,
                start + match.end(),
                int(match[1]),
                int(match[2]),
                int(match[3] or 0),
                is_certain=match[1][0] == "0",
            )
            if rest[:1] == "-":
                self._again(start + match.end() + 1, start + len(piece))
            return True
        match = _CLOCK_H.fullmatch(piece)
        if match and is_time(int(match[1]), int(match[2])):
            hour, minute = int(match[1]), int(match[2])
            amount = Fraction(hour * 3600 + minute * 60)
            clock = Reading("time", f"{hour:02}:{minute:02}")
            span = Reading("duration", "s", amount)
            before = word_before(self._text, start) in self._words.before
            self._found.append(
                Whole(
                    start,
                    start + len(piece),
                    (clock,) if before else (clock, span),
                    whole_numbers(hour, minute),
                    (span,),
                )
            )
            return True
        if _COMPOUND.fullmatch(piece):
            total = sum(Fraction(part[1]) * _SECONDS[part[2]] for part in _COMPOUND_PART.finditer(piece))
            self._found.append(Whole(start, start + len(piece), (Reading("duration", "s", Fraction(total)),)))
            return True
        return False

    def _add_clock(
        self, start: int, end: int, hour: int, minute: int, second: int, *, is_certain: bool
    ) -> None:
        readings = (Reading("time", iso_time(hour, minute, second)),)
        loose = (
            ()
            if is_certain or hour > NOON
            else (Reading("time", iso_time((hour + 12) % 24, minute, second)),)
        )
        self._found.append(Whole(start, end, readings, whole_numbers(hour, minute), loose))

    def _again(self, start: int, end: int) -> None:
        if start < end:
            self._blob_at(start, end)

    def _blob_at(self, start: int, end: int) -> None:
        match = _ATOM.match(self._text, start, end)
        if match and match.lastgroup == "blob":
            self._blob(match)

    def _plain_number(self, start: int, piece: str) -> bool:
        if match := _SCIENTIFIC.fullmatch(piece):
            amount = Fraction(match[1]) * Fraction(10) ** int(match[2])
            self._found.append(Number(start, start + len(piece), (amount,), abs(amount) / 1000))
            return True
        match = _NUMBER.match(piece)
        assert match is not None
        figures, rest = match[0], piece[match.end() :]
        if figures.count(".") > 1 and not is_grouped(figures.partition(",")[0], "."):
            return False
        if not rest:
            return self._figures(start, figures)
        if rest[0] in ":@\\_":
            return False
        if rest[0] in "-/+":
            return self._joined(start, piece, match.end())
        return self._suffixed(start, figures, rest)

    def _suffixed(self, start: int, figures: str, rest: str) -> bool:
        """A number with letters directly behind it: "5kg", "3pm", "2nd"."""
        match = _SUFFIX.match(rest)
        if match is None or not self._is_suffix(match[0]):
            return False
        tail = rest[match.end() :]
        # "the 1990s" is no length.
        is_decade = match[0] == "s" and len(figures) == _YEAR_DIGITS
        if is_decade or (tail and tail[0] not in "-/.") or not self._figures(start, figures):
            return False
        last = self._found[-1]
        if isinstance(last, Number) and _ordinal_suffix(match[0], self._words.language):
            last.is_ordinal, last.end = True, last.end + len(match[0])
        if tail[:1] == "-":
            behind = start + len(figures) + match.end() + 1
            self._again(behind, behind + len(tail) - 1)
        return True

    def _is_suffix(self, suffix: str) -> bool:
        words, plain = self._words, suffix.casefold()
        return (
            suffix in words.signs
            or suffix in words.glued
            or suffix in words.magnitudes
            or plain in words.names
            or plain in words.scales
            or plain in words.mornings
            or plain in words.evenings
            or plain in words.oclock
            or suffix in ("h", "x", "m²", "er")
            or _ordinal_suffix(suffix, words.language)
            or (suffix[0] in "kKM" and suffix[1:] in words.prefixes)
        )

    def _joined(self, start: int, piece: str, cut: int) -> bool:
        """A number that is joined to more by "-", "/" or "+"."""
        rest = piece[cut:]
        parts = re.split(r"[-/+]+", rest)[1:]
        numeric = sum(part[:1].isdecimal() for part in parts)
        if numeric > 1 or (numeric and any(not part[:1].isdecimal() for part in parts)):
            return False
        if not self._figures(start, piece[:cut]):
            return False
        if numeric:
            place = start + cut + len(rest) - len(rest.lstrip("-/+"))
            self._digits(place, start + len(piece))
        return True

    def _figures(self, start: int, figures: str) -> bool:
        """A number in digits with marks; False if the marks make no number."""
        number = self._number(start, figures)
        if number.amounts:
            self._found.append(number)
            self._extend(number)
            return True
        parts = re.split(r"[.,']", figures)
        if "," in figures and "." not in figures:
            place = start
            for part in parts:
                self._found.append(self._number(place, part))
                place += len(part) + 1
            return True
        return False

    def _number(self, start: int, figures: str) -> Number:
        amounts, places = amounts_of(figures, self._words.decimal)
        return Number(
            start,
            start + len(figures),
            amounts,
            Fraction(1, 10**places),
            figures if figures.isdecimal() else "",
            is_weak=start + len(figures) in self._labels,
        )

    def _extend(self, number: Number) -> None:
        """Digits in groups behind spaces, and powers of ten."""
        text = self._text
        if number.digits and len(number.digits) <= GROUP:
            pattern = _HARD_GROUPS if self._words.language in ("", "en", "ja", "zh") else _GROUPS
            if match := pattern.match(text, number.end):
                written = text[number.start : match.end()]
                amounts, places = amounts_of(
                    re.sub(r"[ \u00a0\u202f]", "", written), self._words.decimal or "?"
                )
                if amounts:
                    number.amounts, number.step = amounts, Fraction(1, 10**places)
                    number.end, number.digits = match.end(), ""
        if match := _POWER.match(text, number.end):
            power = Fraction(10) ** int(match[1] or match[2].translate(_RAISED))
            number.amounts = tuple(amount * power for amount in number.amounts)
            number.step *= power
            number.end, number.digits = match.end(), ""
        self._done = number.end


_YEAR_DIGITS: Final = 4
_CODE_BEFORE: Final = re.compile(r"[A-Za-z]{1,3}\$?(?=\d)")
_WORD_PART: Final = re.compile(r"[^\W\d_]+'?")
_WORD_RUN: Final = re.compile(r"[ -]?([^\W\d_]+)")
_LONGEST_SPELLED: Final = 12
"""Words of one number."""
_SEVERAL: Final = ("数", "數", "几", "幾", "何")
_HALVES_OF_DAY: Final = ("午前", "午後", "上午", "下午", "早上", "晚上")
_KANJI_WORDS: Final = frozenset(("十分", "万一", "千万", "一二", "七八", "百万", "三三", "一一", "一千零一"))


def _ordinal_suffix(suffix: str, language: str) -> bool:
    plain = suffix.casefold()
    by_language = {
        "en": ("st", "nd", "rd", "th"),
        "": ("st", "nd", "rd", "th"),
        "fr": ("er", "ère", "re", "e", "ème", "eme", "nd", "nde"),
        "es": ("º", "ª", "o", "a", "er"),
        "pt": ("º", "ª", "o", "a"),
        "it": ("º", "ª", "o", "a"),
        "nl": ("e", "de", "ste"),
    }
    return plain in by_language.get(language, ("st", "nd", "rd", "th"))


_FOLLOWING: Final = re.compile(r"'?(?:[^\W\d_]|[%°$€£¥₹₩‰\u00b5\u03bcΩ])[^\W_²³]*[²³]?(?:[./^][^\W_]+)*[.']?")


@lru_cache(maxsize=1)
def phrases(text: str, start: int) -> tuple[tuple[str, int], ...]:
    """What begins here, the longest first: up to five words in lower case, and where they end."""
    ends: list[int] = []
    place = start
    while len(ends) < LONGEST_PHRASE and (match := _FOLLOWING.match(text, place, place + 40)):
        ends.append(match.end())
        place = match.end()
        if text[place : place + 1] in (" ", "\u00a0", "\u202f", "-"):
            place += 1
        elif text[place - 1] != "'":
            break
    found: list[tuple[str, int]] = []
    for end in reversed(ends):
        phrase = text[start:end].casefold().replace("\u00a0", " ").replace("\u202f", " ")
        found.append((phrase, end))
        if phrase[-1] in ".'":
            found.append((phrase[:-1], end - 1))
        if "-" in phrase:
            found.append((phrase.replace("-", " "), end))
    return tuple(found)


_BEFORE: Final = re.compile(r"([^\W\d_]+'?)[ \u00a0]?\Z")


def word_before(text: str, start: int) -> str:
    """The word in front of a place, in lower case; "" if there is none."""
    match = _BEFORE.search(text[max(0, start - 16) : start])
    return match[1].casefold() if match else ""
