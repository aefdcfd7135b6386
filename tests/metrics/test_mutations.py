"""Texts of the corpus with one detail changed: none is proven equal to the text that it was made from."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from evenkeel.core.languages import language_of
from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics.heuristic import HeuristicRater

if TYPE_CHECKING:
    from collections.abc import Callable

    Mutation = Callable[[str, random.Random], str | None]

CORPUS: Final = Path(__file__).parents[1] / "corpus" / "pairs.jsonl"
LONGEST: Final = 400
"""Characters of a text: longer ones are proven the same way and take longer."""
DIGITS: Final = "0123456789"
KANJI_DIGITS: Final = "二三四五六七八九"
WEEKDAYS: Final = {
    "de": ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "es": ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado"),
    "fr": ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"),
    "it": ("lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato"),
    "nl": ("maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag"),
}
DAYS: Final = [day for days in WEEKDAYS.values() for day in days]
NEGATION: Final = re.compile(
    r"\b(?:not|never|without|nicht|keine?[nmrs]?|niemals|ohne|nunca|sin|pas|jamais|sans|senza|nessun[ao]?|niet|geen"
    r"|nooit|zonder|não|sem) |[不没無无未]"
)
NUMBER: Final = re.compile(r"(?<![\w.,:/-])\d+(?:[.,]\d+)*(?![\w.,:/-]*\d)")
"""A number that is no part of a date, time or version."""


def _changed(text: str, chooser: random.Random, known: str) -> str | None:
    places = [place for place, mark in enumerate(text) if mark in known]
    if not places:
        return None
    place = chooser.choice(places)
    other = chooser.choice([mark for mark in known if mark != text[place]])
    return text[:place] + other + text[place + 1 :]


def another_digit(text: str, chooser: random.Random) -> str | None:
    """One digit changed."""
    return _changed(text, chooser, DIGITS)


def another_kanji_digit(text: str, chooser: random.Random) -> str | None:
    """One digit in kanji changed."""
    return _changed(text, chooser, KANJI_DIGITS)


def numbers_exchanged(text: str, chooser: random.Random) -> str | None:
    """Two numbers of different digits in each other's place."""
    numbers = list(NUMBER.finditer(text))
    pairs = [
        (one, other)
        for place, one in enumerate(numbers)
        for other in numbers[place + 1 :]
        if one[0].strip("0.,") != other[0].strip("0.,")
    ]
    if not pairs:
        return None
    one, other = chooser.choice(pairs)
    between = text[one.end() : other.start()]
    return text[: one.start()] + other[0] + between + one[0] + text[other.end() :]


def kanji_exchanged(text: str, chooser: random.Random) -> str | None:
    """Two neighbours of a numeral in kanji in each other's place: 二十 becomes 十二."""
    pairs = [
        match.start()
        for match in re.finditer(r"(?=[二三四五六七八九十百千万]{2})", text)
        if text[match.start()] != text[match.start() + 1]
    ]
    if not pairs:
        return None
    place = chooser.choice(pairs)
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def without_negation(text: str, chooser: random.Random) -> str | None:
    """One negation dropped."""
    found = list(NEGATION.finditer(text))
    if not found:
        return None
    dropped = chooser.choice(found)
    return text[: dropped.start()] + text[dropped.end() :]


def another_weekday(text: str, chooser: random.Random) -> str | None:
    """One weekday replaced by another one of the language."""
    found = [match for day in DAYS for match in re.finditer(rf"\b{day}\b", text)]
    if not found:
        return None
    day = chooser.choice(found)
    days = next(days for days in WEEKDAYS.values() if day[0] in days)
    return (
        text[: day.start()] + chooser.choice([other for other in days if other != day[0]]) + text[day.end() :]
    )


MUTATIONS: Final[list[tuple[Mutation, int]]] = [
    (another_digit, 300),
    (another_kanji_digit, 25),
    (numbers_exchanged, 60),
    (kanji_exchanged, 10),
    (without_negation, 25),
    (another_weekday, 20),
]
"""Each with the fewest texts of the corpus that it changes."""


@pytest.mark.parametrize(
    ("mutation", "fewest"), [pytest.param(*each, id=each[0].__name__) for each in MUTATIONS]
)
def test_a_text_with_one_detail_changed_is_not_proven_equal(mutation: Mutation, fewest: int) -> None:
    """No such text is rated 3 against the one that it was made from."""
    rater = HeuristicRater(language_of=language_of)
    chooser = random.Random(1)
    rows = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
    texts = {
        row[side]: row for row in rows for side in ("reference", "candidate") if len(row[side]) <= LONGEST
    }
    changed = [
        (text, mutated, row)
        for text, row in texts.items()
        if (mutated := mutation(text, chooser)) is not None
    ]
    assert len(changed) >= fewest
    proven = [
        (row["id"], text, mutated)
        for text, mutated, row in changed
        if rater.rate_now(Pair(Answer(text), Answer(mutated), row.get("prompt", ""), row.get("task"))).outcome
        == 3
    ]
    assert not proven
