"""Words and signs of values, by language: what CLDR knows (through Babel) and what `lexicon.toml` adds."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from babel import Locale
from text_to_num import text2num

from evenkeel.core.languages import base_tag, language_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LANGUAGES: Final = ("en", "de", "es", "fr", "it", "ja", "nl", "pt", "zh")
"""Languages whose words are known. In any other, digits, signs and codes are read."""

_TABLES: Final[dict[str, Any]] = tomllib.loads(files(__package__).joinpath("lexicon.toml").read_text("utf-8"))
LONGEST_PHRASE: Final = 5
"""Words of the longest name of a unit that is looked up."""
_SPELLED_NUMBERS: Final = frozenset(("en", "de", "es", "fr", "it", "nl", "pt"))


class Unit(NamedTuple):
    """A unit, currency or rate: what one of it is in its base unit."""

    name: str
    base: str
    """"s", "m", "EUR", "%": values of one base can be compared."""
    factor: Fraction
    offset: Fraction
    """Added before the factor: degrees Celsius and Fahrenheit."""
    is_money: bool

    def in_base(self, amount: Fraction) -> Fraction:
        """The amount in the base unit."""
        return (amount + self.offset) * self.factor


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What one language calls values."""

    language: str
    """"" if only digits, signs and codes are known."""
    decimal: str
    """The mark before decimals; "" if unknown."""
    is_spelled: bool
    """Whether numbers can be written as words that text2num reads."""
    names: Mapping[str, tuple[Unit, ...]]
    """Units by their names in lower case, words separated by one space; more than one if ambiguous."""
    signs: Mapping[str, tuple[Unit, ...]]
    """Units by sign or code, as they are written."""
    glued: Mapping[str, tuple[Unit, ...]]
    """Signs that count only directly behind the digits."""
    prefixes: Mapping[str, tuple[Unit, ...]]
    """Currency signs and codes before an amount."""
    magnitudes: Mapping[str, Fraction]
    scales: Mapping[str, Fraction]
    months: Mapping[str, int]
    short_months: frozenset[str]
    """Abbreviations and names that are other words as well: months only beside a day or a year."""
    weekdays: Mapping[str, int]
    """Monday is 0."""
    short_weekdays: frozenset[str]
    ones: frozenset[str]
    weak: frozenset[str]
    ordinals: Mapping[str, int]
    halves: Mapping[str, Fraction]
    half_words: frozenset[str]
    """First words of `halves`."""
    plus_half: tuple[str, ...]
    joins: frozenset[str]
    of: frozenset[str]
    before: frozenset[str]
    before_weekday: frozenset[str]
    """Those of them that do not make a weekday every such day."""
    joint: frozenset[str]
    mornings: frozenset[str]
    evenings: frozenset[str]
    oclock: frozenset[str]
    clock: frozenset[str]
    """Words before the hour."""
    times: Mapping[str, str]
    minus: frozenset[str]
    counters: frozenset[str]

    def knows(self, word: str) -> bool:
        """Whether a word, in lower case, belongs to values here."""
        return (
            word in self.names
            or word in self.months
            or word in self.weekdays
            or any(
                word in known for known in (self.joins, self.ones, self.before, self.mornings, self.evenings)
            )
            or word in self.ordinals
            or (self.is_spelled and numeral(word, self.language) is not None)
        )


@lru_cache(maxsize=16_384)
def numeral(words: str, language: str) -> int | None:
    """The number that words in lower case spell, None if they spell none."""
    if not 1 < len(words) <= _LONGEST_NUMERAL:
        return None
    try:
        return int(text2num(words, language))
    except ValueError:
        return None


_LONGEST_NUMERAL: Final = 120
"""Letters of one number."""


def lexicon(language: str | None) -> Lexicon:
    """The lexicon of a language by its tag; that of signs and codes alone for one that is not known."""
    base = base_tag(language) if language else ""
    return _lexicon(base if base in LANGUAGES else "")


@cache
def _lexicon(language: str) -> Lexicon:
    own: dict[str, Any] = _TABLES.get(language, {})
    locale = Locale.parse(language) if language else None
    units = dict(_units())
    signs = _merged((sign, found) for found, sign in _signs(units))
    prefixes = {sign: found for sign, found in signs.items() if all(unit.is_money for unit in found)}
    if language in ("ja", "zh"):
        signs["¥"] = prefixes["¥"] = units["JPY" if language == "ja" else "CNY"]
    months = _months(locale)
    weekdays = _weekdays(locale)
    halves = {phrase: Fraction(value) for phrase, value in own.get("half", {}).items()}
    return Lexicon(
        language=language,
        decimal=own.get("decimal", ""),
        is_spelled=language in _SPELLED_NUMBERS,
        names=_merged(_names(own, units, locale)),
        signs=signs,
        glued={sign: units[name] for sign, name in _TABLES["glued"].items()},
        prefixes=prefixes,
        magnitudes={sign: Fraction(value) for sign, value in _TABLES["magnitudes"].items()},
        scales={word: Fraction(value) for word, value in own.get("scales", {}).items()},
        months={name: number for name, (number, _) in months.items()},
        short_months=frozenset(name for name, (_, short) in months.items() if short),
        weekdays={name: number for name, (number, _) in weekdays.items()},
        short_weekdays=frozenset(name for name, (_, short) in weekdays.items() if short),
        ones=frozenset(own.get("one", ())),
        weak=frozenset(own.get("weak", ())),
        ordinals={
            name: number for number, names in enumerate(own.get("ordinals", ())) for name in names.split("|")
        },
        halves=halves,
        half_words=frozenset(phrase.split()[0] for phrase in halves),
        plus_half=tuple(own.get("plus_half", ())),
        joins=frozenset(own.get("and", ())),
        of=frozenset(own.get("of", ())),
        before=frozenset(own.get("before", ())),
        before_weekday=frozenset(own.get("before_weekday", ())),
        joint=frozenset(own.get("joint", ())),
        mornings=frozenset(own.get("am", ())),
        evenings=frozenset(own.get("pm", ())),
        oclock=frozenset(own.get("oclock", ())),
        clock=frozenset(own.get("clock", ())),
        times=own.get("times", {}),
        minus=frozenset(own.get("minus", ())),
        counters=frozenset(own.get("counters", "")),
    )


def _units() -> Iterator[tuple[str, tuple[Unit, ...]]]:
    for name, (base, factors, offset, *_) in _TABLES["units"].items():
        yield (
            name,
            tuple(
                Unit(name, base, Fraction(factor), Fraction(offset), is_money=False)
                for factor in factors.split("|")
            ),
        )
    for code in _TABLES["currencies"]["codes"].split():
        yield code, (Unit(code, code, Fraction(1), Fraction(0), is_money=True),)
    yield "cent", (Unit("cent", "cent", Fraction(1), Fraction(0), is_money=True),)


def _signs(units: Mapping[str, tuple[Unit, ...]]) -> Iterator[tuple[tuple[Unit, ...], str]]:
    for name, (*_, _cldr) in _TABLES["units"].items():
        for sign in _TABLES["units"][name][4:]:
            yield units[name], sign
    for code in _TABLES["currencies"]["codes"].split():
        yield units[code], code
    for sign, codes in _TABLES["currencies"]["signs"].items():
        for code in codes.split("|"):
            yield units[code], sign


def _names(
    own: Mapping[str, Any], units: Mapping[str, tuple[Unit, ...]], locale: Locale | None
) -> Iterator[tuple[str, tuple[Unit, ...]]]:
    if locale is None:
        return
    # Babel has no public list of the names of a unit: `format_unit` gives one for one number.
    patterns: Any = locale._data["unit_patterns"]  # noqa: SLF001
    is_cjk = locale.language in ("ja", "zh")
    for name, (_, _, _, cldr, *_) in _TABLES["units"].items():
        if is_cjk and name in _RANKED:
            continue
        forms = patterns.get(cldr) or {}
        spelled = forms.get("long") or {}
        short = forms.get("short") or {}
        # Japanese and Chinese have only one form of the names.
        for form in (*spelled.values(), *(short.values() if is_cjk else ())):
            if isinstance(form, str) and form.startswith("{0}") and not (is_cjk and form.isascii()):
                yield _phrase(form.removeprefix("{0}")), units[name]
    for code in _TABLES["currencies"]["codes"].split():
        plural: Any = locale._data["currency_names_plural"].get(code) or {}  # noqa: SLF001
        for form in (locale.currencies.get(code, code), *plural.values()):
            yield _phrase(form), units[code]
    for name, forms in own.get("units", {}).items():
        for form in forms:
            yield _phrase(form), units[name]


_RANKED: Final = frozenset(("d", "century"))
"""Units whose names count up in Japanese and Chinese: "3日" is the third of the month."""


def _phrase(form: str) -> str:
    return " ".join(form.replace("’", "'").casefold().split())


def _merged(found: Iterable[tuple[str, tuple[Unit, ...]]]) -> dict[str, tuple[Unit, ...]]:
    merged: dict[str, tuple[Unit, ...]] = {}
    for name, units in found:
        if name:
            merged[name] = tuple(dict.fromkeys((*merged.get(name, ()), *units)))
    return merged


OTHER_WORDS: Final = frozenset(("may", "march", "mar", "mars", "mei", "mai", "set", "dez", "ago"))
"""Names of months that are more often something else."""


def _months(locale: Locale | None) -> dict[str, tuple[int, bool]]:
    found: dict[str, tuple[int, bool]] = {}
    if locale is None or locale.language in ("ja", "zh"):
        return found
    for width in ("abbreviated", "wide"):
        for context in ("format", "stand-alone"):
            for number, name in locale.months[context][width].items():
                plain = name.casefold()
                short = width == "abbreviated" or plain in OTHER_WORDS
                found[plain.rstrip(".")] = (number, short)
    if locale.language == "en":
        found["sept"] = (9, True)
    return found


def _weekdays(locale: Locale | None) -> dict[str, tuple[int, bool]]:
    found: dict[str, tuple[int, bool]] = {}
    if locale is None:
        return found
    for width in ("abbreviated", "wide"):
        for number, name in locale.days["format"][width].items():
            found[name.casefold().rstrip(".")] = (number, width == "abbreviated")
    if locale.language == "en":
        found |= {"tues": (1, True), "thur": (3, True), "thurs": (3, True)}
    return found


_KANA: Final = re.compile(r"[\u3040-\u30ff]")
_HAN: Final = re.compile(r"[\u3400-\u9fff]")


def told_language(text: str) -> str | None:
    """The tag of the language that values are to be read in; None if nothing tells.

    Texts that are too short to be identified are in the language in which most of their words belong to
    values, English first.
    """
    begin = text[:_TELLING]
    if _KANA.search(begin):
        return "ja"
    if _HAN.search(begin):
        return "zh"
    return language_of(begin) or _language_of_values(begin)


@lru_cache(maxsize=256)
def _language_of_values(text: str) -> str | None:
    found = [word.casefold() for word in _WORD.findall(text)[:_TELLING_WORDS]]
    best, most = None, 0
    for language in LANGUAGES:
        count = sum(map(lexicon(language).knows, found))
        if count > most:
            best, most = language, count
    return best


_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_TELLING: Final = 2000
_TELLING_WORDS: Final = 40
