"""Details: the specific pieces of information of a text, and which of them another text keeps.

Numbers, identifiers, URLs, e-mail addresses, dates, quoted strings, names and chosen options are
what a reader would act on. They are found by spelling alone, without a model, so names are found
where capital letters mean something and are missed in texts all in capitals or none.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from evenkeel.core.verdict import Failure
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.normalised import is_empty, normalise, parse_json
from evenkeel.metrics.similarity.words import (
    GLUE,
    content_words,
    misspellable,
    nearest,
    same_word,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.pair import Pair

Kind = Literal["url", "email", "date", "identifier", "number", "choice", "value", "quoted", "name"]


class Detail(NamedTuple):
    """One piece of information, spelled one way."""

    kind: Kind
    text: str
    """Normalised: 1,000 → "1000", "5 March 2024" → "2024-03-05", names and quotes in lower case."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text read for its details."""

    details: frozenset[Detail]
    vocabulary: tuple[str, ...]
    """Its words in order: a name or a quote also counts as kept if it is there without capitals or marks."""
    distinct: frozenset[str]
    content: frozenset[str]
    """Those of its words that carry content."""
    misspellable: tuple[str, ...]
    """Those of its words that may be mistyped, in order."""

    def has(self, word: str) -> bool:
        """Whether a word occurs here, a typo aside."""
        return word in self.distinct or nearest(word, self.misspellable) is not None

    def keeps(self, detail: Detail) -> bool:
        """Whether this text holds a detail of another.

        Names, quotes and values also without their marks and mistyped, numbers also as a mistyped
        word ("foru").
        """
        if detail in self.details:
            return True
        if detail.kind == "number" and detail.text in _WORD_OF:
            return self.has(_WORD_OF[detail.text])
        if detail.kind not in ("quoted", "name", "value"):
            return False
        return _contains(self, tuple(words(detail.text)))

    def mentions(self, detail: Detail) -> bool:
        """Whether the detail occurs here at all: as a detail of any kind, or as words in a row."""
        return detail in self.details or _contains(self, tuple(words(detail.text)))


class Details:
    """Details kept or lost between two answers."""

    name: ClassVar[str] = "details"
    version: ClassVar[int] = 2
    about: ClassVar[About] = About(
        "lexical", akin="entity", languages=("en",), telling={"prose": 60, "list": 60, "data": 60}
    )

    def score(self, pair: Pair) -> float | Failure:
        """F1 over the distinct details of the two texts.

        A detail of the reference that the candidate does not hold lowers it (lost), and so does one
        of the candidate that the reference does not hold (added).

        Returns: ratio in [0, 1]; 1 = the same details, also if neither side has any; 0 = none in
            common. A `Failure` "no_text" if neither side has text or a tool call.
        Source: Dice coefficient; the entity comparison of the similarity rubric, by spelling.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return detail_overlap(read_details(pair.reference.text), read_details(pair.candidate.text))


def detail_overlap(reference: Reading, candidate: Reading) -> float:
    """Details held by both texts over the details of both, in [0, 1]; 1 if neither has any."""
    total = len(reference.details) + len(candidate.details)
    if not total:
        return 1.0
    kept = sum(candidate.keeps(detail) for detail in reference.details)
    return (kept + sum(reference.keeps(detail) for detail in candidate.details)) / total


@lru_cache(maxsize=64)
def read_details(text: str) -> Reading:
    """Find the details of a text. Cached: an answer is read once for every metric and trial."""
    value = parse_json(text)
    if value is None:
        found = frozenset(_in_prose(text))
    else:
        scalars = list(leaves(value))
        found = frozenset(detail for leaf in scalars for detail in _in_leaf(leaf))
        text = "\n".join(scalars)
    vocabulary = tuple(words(text))
    distinct = dict.fromkeys(vocabulary)
    return Reading(found, vocabulary, frozenset(distinct), content_words(text), tuple(misspellable(distinct)))


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_NAME = r"(?P<month{0}>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{{0,6}}\.?"
_ORDINAL = r"(?P<day{0}>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year{0}>(?:19|20)\d\d)\b)?"
_DATE = re.compile(
    r"\b(?P<iso>\d{4}[-/]\d{1,2}[-/]\d{1,2})(?!\d)"
    r"|\b(?P<digits>\d{1,2}/\d{1,2}/(?:\d{4}|\d\d)|\d{1,2}\.\d{1,2}\.\d{4})\b"
    rf"|\b{_MONTH_NAME.format(1)}\s+{_ORDINAL.format(1)}\b{_YEAR.format(1)}"
    rf"|\b{_ORDINAL.format(2)}\s+(?:of\s+)?{_MONTH_NAME.format(2)}(?!\w){_YEAR.format(2)}",
    re.IGNORECASE,
)
_MARKED_DIGITS = re.compile(r"\d[-/.]\d")
_NUMBER_ALONE = re.compile(r"[\s\d](?:(?<=\s)\d|(?<=\d)(?i:st|nd|rd|th)?\s)")
_URL = re.compile(r"\b(?:https?|ftp)://[^\s<>\"'`)\]}]+|\bwww\.[^\s<>\"'`)\]}]+", re.IGNORECASE)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_IDENTIFIER = re.compile(
    # Dotted digits (10.0.0.1), a time of day, letters and digits in one token (INC00469, v2.3.1,
    # 0x8007), snake_case, or a path.
    r"(?<![\w.:/-])(?:"
    r"\d+(?:\.\d+){2,}|\d{1,2}:\d\d(?::\d\d)?"
    r"|(?=[\w.:-]*\d)(?=[\w.:-]*[A-Za-z])[A-Za-z0-9][\w.:-]*\w"
    r"|[A-Za-z]+(?:_[A-Za-z]+)+"
    r"|(?:[A-Za-z]:\\|~?/)[\w.-]+(?:[\\/][\w.-]+)*"
    r")(?![\w-])"
)
_IDENTIFIER_HINT = re.compile(
    # A letter between letters and "_", the begin of a path, or of the digits one that has a letter beside it,
    # marks aside, or another number behind a mark.
    r"[\d_/\\](?:(?<=[A-Za-z]_)(?=[A-Za-z])|(?<=/)(?<![\w.:/-]/)|(?<=:\\)"
    r"|(?<=\d)(?:(?<=[^\W\d]\d)|(?<=[^\W\d][.:-]\d)|(?<=[.:-]{2}\d)|(?=[.:-]*[^\W\d])|(?=:\d\d|\.\d+\.\d)))"
)
_ORDINAL_NUMBER = re.compile(r"\A(\d+)(?:st|nd|rd|th)\Z", re.IGNORECASE)
# Here and below what may not stand before a match is looked for behind its first mark: from a first mark
# the search jumps to the next, from a look behind it tries every place.
_NUMBER = re.compile(r"[-\d](?<![\w.][-\d])(?:(?<=\d)|\d)[\d,']*(?:\.\d+)?(?![\d])")
_COUNTED = "two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = {word: str(value) for value, word in enumerate(_COUNTED.split(), start=2)}
_WORD_OF = {number: word for word, number in _NUMBER_WORDS.items()}
_CHOICE_HINT = re.compile(r"\([A-Z]\)|boxed\{")
_CHOICE = re.compile(r"\(([A-Z])\)|\bboxed\{\s*(?:\\text\{)?\(?([A-Z])\b")
_QUOTED = re.compile(r'"([^"\n]{2,60})"|“([^”\n]{2,60})”|`([^`\n]{2,60})`|\'(?<!\w\')([^\'\n]{2,60})\'(?!\w)')
_LIST_NUMBER = re.compile(r"^[ \t]*(?:[-*+•][ \t]+)?(?:\*\*)?\d{1,2}[.)]\s", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t].*$|^[ \t]*\*\*[^*\n]{1,60}\*\*:?[ \t]*$", re.MULTILINE)
_LABEL = re.compile(r"^[ \t]*(?:[-*+•][ \t]+)?\**[A-Za-z][\w /-]{0,40}:\**(?=\s|$)", re.MULTILINE)
_SENTENCE = re.compile(r"\s(?:(?<=[.!?:;]\s)\s*|(?<=\n)\n*)")
_NAME = re.compile(r"[A-Z][\w'-]*(?:[ \t]+(?:(?:of|de|van|von|du|la)[ \t]+)?[A-Z][\w'-]*)*")
_LETTERS = re.compile(r"[A-Za-z][\w'-]*")
_CAPITALISED_SHARE = 0.6
"""Above this share of capitalised words, capitals are style (a title, a casing change) and name nothing."""
_STYLED_MIN_WORDS = 3
_VALUE_MAX_WORDS = 4
"""A JSON value of up to so many words is a slot to fill, and a detail as a whole; longer ones are prose."""


def leaves(value: Any) -> Iterator[str]:
    """Scalar values of a JSON tree as text, in order. Keys are the form's words, not the answer's."""
    match value:
        case dict():
            for item in value.values():
                yield from leaves(item)
        case list():
            for item in value:
                yield from leaves(item)
        case None:
            pass
        case bool():
            yield str(value).lower()
        case _:
            yield str(value)


def _in_leaf(leaf: str) -> Iterator[Detail]:
    found = list(_in_prose(leaf))
    if found:
        yield from found
    elif leaf.strip() and len(words(leaf)) <= _VALUE_MAX_WORDS:
        yield Detail("value", normalise(leaf))


def _in_prose(text: str) -> Iterator[Detail]:
    """Details of a text. What one kind has claimed is blanked, so that no piece counts twice."""
    found: list[Detail] = []
    text = _LIST_NUMBER.sub("\n", text)
    for read, pattern, may_hold in _KINDS:
        if not may_hold(text):
            continue

        def claim(match: re.Match[str], read: _Read = read) -> str:
            detail = read(match)
            if detail is None:
                return match[0]
            found.append(detail)
            return _CLAIMED

        text = pattern.sub(claim, text)
    yield from found
    for word in words(text):
        if word in _NUMBER_WORDS:
            yield Detail("number", _NUMBER_WORDS[word])
    yield from _names(text)


_CLAIMED = " | "
"""Stands for a piece that was claimed: a mark that no kind begins with or goes on behind."""


_Read = Callable[[re.Match[str]], Detail | None]
"""What a match stands for; None leaves the text to the kinds that follow."""


def _choice(match: re.Match[str]) -> Detail:
    return Detail("choice", (match[1] or match[2]).lower())


def _quoted(match: re.Match[str]) -> Detail | None:
    inner = next(group for group in match.groups() if group)
    # Where quotes hold an identifier or a number, that piece is the detail, quoted or not.
    if any(pattern.search(inner) for pattern in (_URL, _EMAIL, _IDENTIFIER, _NUMBER)) or not words(inner):
        return None
    return Detail("quoted", " ".join(words(inner)))


def _url(match: re.Match[str]) -> Detail:
    return Detail("url", match[0].rstrip(".,;:!?").rstrip("/").lower())


def _email(match: re.Match[str]) -> Detail:
    return Detail("email", match[0].lower())


def _date(match: re.Match[str]) -> Detail:
    return Detail("date", _plain_date(match))


def _identifier(match: re.Match[str]) -> Detail:
    if ordinal := _ORDINAL_NUMBER.match(match[0]):
        return Detail("number", ordinal[1])
    return Detail("identifier", match[0].rstrip(".:-").lower())


def _number(match: re.Match[str]) -> Detail:
    return Detail("number", _plain_number(match[0]))


def _may_hold_url(text: str) -> bool:
    return "://" in text or "www." in text.lower()


def _may_hold_email(text: str) -> bool:
    return "@" in text


def _may_hold_date(text: str) -> bool:
    if _MARKED_DIGITS.search(text):
        return True
    folded = text.casefold()
    return any(month in folded for month in _MONTHS) and _NUMBER_ALONE.search(text) is not None


_KINDS: tuple[tuple[_Read, re.Pattern[str], Callable[[str], object]], ...] = (
    (_choice, _CHOICE, _CHOICE_HINT.search),
    (_quoted, _QUOTED, bool),
    (_url, _URL, _may_hold_url),
    (_email, _EMAIL, _may_hold_email),
    (_date, _DATE, _may_hold_date),
    (_identifier, _IDENTIFIER, _IDENTIFIER_HINT.search),
    (_number, _NUMBER, bool),
)
"""In the order in which they may claim a piece of text. The last tells quickly that a text holds none."""


def _plain_number(text: str) -> str:
    """1,000 and 1000.0 are 1000; trailing zeros after the point say nothing."""
    plain = text.replace(",", "").replace("'", "")
    if "." in plain:
        plain = plain.rstrip("0").rstrip(".")
    sign, digits = ("-", plain[1:]) if plain.startswith("-") else ("", plain)
    return sign + (digits.lstrip("0") or "0")


def _plain_date(match: re.Match[str]) -> str:
    """ISO where the month is certain (`2024-03-05`, `--03-05` without a year), else the digits in order."""
    if match["iso"] or match["digits"]:
        return "-".join(part.zfill(2) for part in re.split(r"[-./]", match[0]))
    month = match["month1"] or match["month2"]
    day = match["day1"] or match["day2"]
    number = _MONTHS.index(month.casefold()) + 1
    return f"{match['year1'] or match['year2'] or '-'}-{number:02}-{int(day):02}"


def _names(text: str) -> Iterator[Detail]:
    if "#" in text or "**" in text:
        text = _HEADING.sub("\n", text)
    if ":" in text:
        text = _LABEL.sub("\n", text)
    for sentence in _SENTENCE.split(text):
        found = list(_names_of_sentence(sentence))
        if found and not _is_styled(sentence):
            yield from found


def _names_of_sentence(sentence: str) -> Iterator[Detail]:
    for index, match in enumerate(_NAME.finditer(sentence)):
        parts = words(match[0])
        if not index and not any(map(str.isalnum, sentence[: match.start()])):
            # The first word is capitalised for being first, unless it is an acronym.
            first = match[0].split()[0]
            if not (first.isupper() and len(first) > 1):
                parts = parts[1:]
        if len("".join(parts)) > 1 and not all(part in GLUE for part in parts):
            yield Detail("name", " ".join(parts))


def _is_styled(sentence: str) -> bool:
    lettered = _LETTERS.findall(sentence)
    capitals = sum(word[0].isupper() for word in lettered)
    return len(lettered) >= _STYLED_MIN_WORDS and capitals > _CAPITALISED_SHARE * len(lettered)


def _contains(reading: Reading, phrase: tuple[str, ...]) -> bool:
    """Whether the words of a phrase follow each other in the text, typos aside."""
    if not phrase or not all(map(reading.has, phrase)):
        return False
    if len(phrase) == 1:
        return True
    text = reading.vocabulary
    return any(
        all(same_word(word, text[start + i]) for i, word in enumerate(phrase))
        for start in range(len(text) - len(phrase) + 1)
    )
