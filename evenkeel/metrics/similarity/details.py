"""Details: the specific pieces of information of a text, and which of them another text keeps.

Values of every kind, identifiers, URLs, e-mail addresses, quoted strings, names and chosen options are
what a reader would act on. They are found by spelling alone, without a model, so names are found
where capital letters mean something and are missed in texts all in capitals or none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

from evenkeel.core.verdict import Failure
from evenkeel.metrics.identity import is_empty
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.normalised import normalise, parse_json
from evenkeel.metrics.similarity.values import read_values, told_language
from evenkeel.metrics.similarity.words import (
    GLUE,
    content_words,
    few,
    misspellable,
    nearest,
    same_word,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.core.pair import Pair

Kind = Literal["url", "email", "date", "time", "identifier", "number", "choice", "value", "quoted", "name"]


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
    places: Mapping[str, list[int]]
    """Where each of its words stands in `vocabulary`."""

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
    version: ClassVar[int] = 3
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
        found = frozenset(_in_prose(text, told_language(text)))
    else:
        scalars = list(leaves(value))
        text = "\n".join(scalars)
        language = told_language(text)
        found = frozenset(detail for leaf in scalars for detail in _in_leaf(leaf, language))
    vocabulary = tuple(words(text))
    distinct = dict.fromkeys(vocabulary)
    places: dict[str, list[int]] = {}
    for place, word in enumerate(vocabulary):
        places.setdefault(word, []).append(place)
    return Reading(
        found,
        vocabulary,
        frozenset(distinct),
        content_words(text),
        tuple(few(misspellable(distinct))),
        places,
    )


_URL = re.compile(r"\b(?:https?|ftp)://[^\s<>\"'`)\]}]+|\bwww\.[^\s<>\"'`)\]}]+", re.IGNORECASE)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
_IDENTIFIER = re.compile(
    # Dotted digits (10.0.0.1), letters and digits in one token (INC00469, v2.3.1,
    # 0x8007), snake_case, or a path.
    r"(?<![\w.:/-])(?:"
    r"\d+(?:\.\d+){2,}"
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
_COUNTED = "two three four five six seven eight nine ten eleven twelve"
_WORD_OF = {str(value): word for value, word in enumerate(_COUNTED.split(), start=2)}
"""Words that a number may be mistyped as."""
_DIGIT = re.compile(r"\d")
_CHOICE_HINT = re.compile(r"\([A-Z]\)|boxed\{")
_CHOICE = re.compile(r"\(([A-Z])\)|\bboxed\{\s*(?:\\text\{)?\(?([A-Z])\b")
_QUOTED = re.compile(r'"([^"\n]{2,60})"|“([^”\n]{2,60})”|`([^`\n]{2,60})`|\'(?<!\w\')([^\'\n]{2,60})\'(?!\w)')
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


def _in_leaf(leaf: str, language: str | None) -> Iterator[Detail]:
    found = list(_in_prose(leaf, language))
    if found:
        yield from found
    elif leaf.strip() and len(words(leaf)) <= _VALUE_MAX_WORDS:
        yield Detail("value", normalise(leaf))


def _in_prose(text: str, language: str | None) -> Iterator[Detail]:
    """Details of a text. What one kind has claimed is blanked, so that no piece counts twice."""
    found: list[Detail] = []
    text = _without(text, _KINDS, found)
    text = _without_values(text, language, found)
    text = _without(text, _NAMED, found)
    yield from found
    yield from _names(text)


def _without(text: str, kinds: _Claims, found: list[Detail]) -> str:
    for read, pattern, may_hold in kinds:
        if not may_hold(text):
            continue

        def claim(match: re.Match[str], read: _Read = read) -> str:
            detail = read(match)
            if detail is None:
                return match[0]
            found.append(detail)
            return _CLAIMED

        text = pattern.sub(claim, text)
    return text


def _without_values(text: str, language: str | None, found: list[Detail]) -> str:
    pieces: list[str] = []
    place = 0
    # A value in code is a detail like any other.
    for value in read_values(text.replace("`", " "), language).values:
        likeliest = value.readings[0]
        if likeliest.kind == "time" and not _DIGIT.search(value.text):
            # "noon" stays a word, which may be mistyped.
            continue
        pieces += (text[place : value.start], _CLAIMED)
        place = value.end
        if not value.is_weak:
            kind: Kind = likeliest.kind if likeliest.kind in ("date", "time") else "number"
            found.append(Detail(kind, likeliest.text.rstrip(".")))
    return "".join((*pieces, text[place:]))


_CLAIMED = " | "
"""Stands for a piece that was claimed: a mark that no kind begins with or goes on behind."""


_Read = Callable[[re.Match[str]], Detail | None]
"""What a match stands for; None leaves the text to the kinds that follow."""


def _choice(match: re.Match[str]) -> Detail:
    return Detail("choice", (match[1] or match[2]).lower())


def _quoted(match: re.Match[str]) -> Detail | None:
    inner = next(group for group in match.groups() if group)
    # Where quotes hold an identifier or a number, that piece is the detail, quoted or not.
    if (
        _DIGIT.search(inner)
        or any(pattern.search(inner) for pattern in (_URL, _EMAIL, _IDENTIFIER))
        or not words(inner)
    ):
        return None
    return Detail("quoted", " ".join(words(inner)))


def _url(match: re.Match[str]) -> Detail:
    return Detail("url", match[0].rstrip(".,;:!?").rstrip("/").lower())


def _email(match: re.Match[str]) -> Detail:
    return Detail("email", match[0].lower())


def _identifier(match: re.Match[str]) -> Detail:
    return Detail("identifier", match[0].rstrip(".:-").lower())


def _may_hold_url(text: str) -> bool:
    return "://" in text or "www." in text.lower()


def _may_hold_email(text: str) -> bool:
    return "@" in text


_Claims: TypeAlias = tuple[tuple[_Read, re.Pattern[str], Callable[[str], object]], ...]
_KINDS: _Claims = (
    (_choice, _CHOICE, _CHOICE_HINT.search),
    (_quoted, _QUOTED, bool),
    (_url, _URL, _may_hold_url),
    (_email, _EMAIL, _may_hold_email),
)
"""In the order in which they may claim a piece of text. The last tells quickly that a text holds none."""
_NAMED: _Claims = ((_identifier, _IDENTIFIER, _IDENTIFIER_HINT.search),)
"""What is left once values have been read: "3 pm" and "5kg" are none."""


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


_MOST_PLACES = 200
"""Places of a phrase's words, the rarest word first, at which the phrase is looked for."""


def _contains(reading: Reading, phrase: tuple[str, ...]) -> bool:
    """Whether the words of a phrase follow each other in the text, typos aside."""
    if not phrase or not all(map(reading.has, phrase)):
        return False
    if len(phrase) == 1:
        return True
    text, last = reading.vocabulary, len(reading.vocabulary) - len(phrase)
    known = [word if word in reading.places else nearest(word, reading.misspellable) or "" for word in phrase]
    by_rarity = sorted(range(len(phrase)), key=lambda offset: len(reading.places[known[offset]]))
    starts = (at - offset for offset in by_rarity for at in reading.places[known[offset]])
    return any(
        0 <= start <= last and all(same_word(word, text[start + i]) for i, word in enumerate(phrase))
        for start in islice(starts, _MOST_PLACES)
    )
