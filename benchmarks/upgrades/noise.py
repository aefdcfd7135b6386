"""How reruns of a request differ, measured on recorded reruns and planted where only one answer was recorded.

The difference of two reruns is kept as its edits: where in the answer they stand, how many words they take
out and how many they put in. Planted on another answer, the same edits put in words of other answers that the
same version gave to the same task, so that an answer with noise is still one of its version. Short answers,
which have no words to spare, flip to another answer as often as recorded short answers do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.upgrades import recordings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WORD: Final = re.compile(r"\s*\S+")
_SHORT: Final = 12
"""Words below which an answer flips as a whole."""
_MOST_WORDS: Final = 600
_PATTERNS: Final = 300
_HOT_FLIPS: Final = 0.2
"""Share of short answers that differ between two reruns at temperature 0.7: assumed, no recording says it."""


class Edit(NamedTuple):
    """One difference of two answers, in shares of the words of the first."""

    start: float
    end: float
    put: float
    """Words in its place."""


@dataclass(frozen=True, slots=True)
class Noise:
    """How reruns differ."""

    name: str
    patterns: tuple[tuple[Edit, ...], ...]
    """Of one pair of reruns each; () where they are equal."""
    flips: float
    """Share of short answers that are another answer when asked again."""

    def rerun(self, text: str, others: Sequence[str], chance: Random) -> str:
        """An answer as it may be when asked again.

        Args:
            text: The recorded answer.
            others: Recorded answers of the same version to prompts of the same task.
            chance: Decides which edits, and whose words.
        """
        words = _WORD.findall(text)
        other = chance.choice(others)
        if len(words) < _SHORT:
            return other if chance.random() < self.flips else text
        theirs = _WORD.findall(other)
        found: list[str] = []
        place = 0
        for edit in chance.choice(self.patterns):
            start, end = round(edit.start * len(words)), round(edit.end * len(words))
            found += words[place:start]
            begin = round(edit.start * len(theirs))
            found += theirs[begin : begin + round(edit.put * len(words))]
            place = max(place, end)
        return "".join(found + words[place:]) or text


def edits(first: str, second: str) -> tuple[Edit, ...]:
    """The differences of two answers, () if they are equal."""
    if first == second:
        return ()
    one, two = (_WORD.findall(text)[:_MOST_WORDS] for text in (first, second))
    matched = SequenceMatcher(None, [w.strip() for w in one], [w.strip() for w in two], autojunk=False)
    n = max(1, len(one))
    return tuple(
        Edit(i1 / n, i2 / n, (j2 - j1) / n) for tag, i1, i2, j1, j2 in matched.get_opcodes() if tag != "equal"
    )


@cache
def reruns() -> Noise:
    """As GPT-4o at temperature 0 differs from itself: long answers to mathematics, short ones as JSON."""
    asked = recordings.conditions()
    pairs = [pair for said in asked.answers["0"].values() for pair in pairwise(said)]
    return Noise("reruns", _patterns(pairs), _flips(recordings.strict_json()))


@cache
def hot() -> Noise:
    """As GPT-3.5's answers at temperature 1.3 differ from those at 0.2 to the same prompts."""
    found = [
        (by_temperature["0.2"], by_temperature["1.3"])
        for (model, _), by_temperature in recordings.pbss_by_temperature().items()
        if model == "gpt-3.5-turbo" and len(by_temperature) > 1
    ]
    return Noise("temperature 0.7", _patterns(found), _HOT_FLIPS)


def _patterns(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[Edit, ...], ...]:
    long = [pair for pair in pairs if all(len(_WORD.findall(text)) >= _SHORT for text in pair)]
    drawn = Random(1).sample(long, min(_PATTERNS, len(long)))
    return tuple(edits(*pair) for pair in drawn)


def _flips(collection: recordings.Collection) -> float:
    """Share of neighbouring reruns that differ."""
    said = (answers for version in collection.answers.values() for answers in version.values())
    return fmean(float(one != two) for answers in said for one, two in pairwise(answers))
