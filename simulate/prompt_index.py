"""Which of many known prompts a request asks, also where it is worded a little differently.

Equal texts are found first: as they stand, then without regard to case, white space and roles, then by the
users' words alone. Otherwise the nearest prompt by shared words, rare ones counting more. A word counts half
where only its beginning or its end is shared, so that slips of the pen do little. Order does not count,
so parts may be moved, and sentences may be added. Among candidates that share about equally much, the one
whose text is most alike wins.

Two prompts that differ in a number are two prompts: every number of the known one must occur in the request,
and a number that the request has beyond those may only stand in a sentence that was added.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from rapidfuzz import fuzz

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenkeel.simulate.model import Message

How = Literal["exact", "near", "nearest"]

_LEAST_LIKENESS: Final = 0.55
"""Of the weight of a known prompt's words, the share that a request must have."""
_CANDIDATES: Final = 24
"""Prompts that are looked at closely."""
_TIE: Final = 0.1
"""Likeness by words within which the characters decide."""
_COMMON: Final = 0.1
"""Words in more than this share of the prompts tell little and nominate none, ..."""
_FEW: Final = 200
"""... unless they are in fewer prompts than this."""
_LONG_WORD: Final = 5
_END: Final = 3
_COPIED: Final = 85.0
"""Likeness, of 100, from which on a sentence is one of the known prompt, not an added one."""

_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Scripts without spaces between words."""
_WORD: Final = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
_IS_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")
_SPACE: Final = re.compile(r"\s+")
_NUMBER: Final = re.compile(r"\d+")
_LIST_MARK: Final = re.compile(r"^\s*\(?\d{1,2}[.)]\s", re.MULTILINE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")  # noqa: RUF001 - other scripts' stops


class Found(NamedTuple):
    """A known prompt that answers a request."""

    place: int
    """Where it stands among the known prompts."""
    how: How
    """`exact`: equal but for case, white space and roles; `near`: worded differently; `nearest`: the
    best there is, on demand."""
    likeness: float
    """Share of the weight of its words that the request has, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class _Known:
    words: frozenset[str]
    weight: float
    text: str
    full_text: str
    numbers: Counter[str]


class PromptIndex:
    """Known prompts, found by their words in about a millisecond."""

    def __init__(self, prompts: Sequence[Sequence[Message]]) -> None:
        """Read `prompts`; a prompt is found by its place among them."""
        self._exact: list[dict[str, int]] = []
        for key in _KEYS:
            places: defaultdict[str, list[int]] = defaultdict(list)
            for place, messages in enumerate(prompts):
                places[key(messages)].append(place)
            # Words that several prompts share decide nothing; of equal texts the first one stands for all.
            alike = key is not _user_key
            self._exact.append({text: found[0] for text, found in places.items() if alike or len(found) == 1})
        postings: defaultdict[str, list[int]] = defaultdict(list)
        words = [_features(_user_text(messages)) for messages in prompts]
        for place, features in enumerate(words):
            for feature in features:
                postings[feature].append(place)
        self._weights = {name: _weight(name, len(places), len(prompts)) for name, places in postings.items()}
        self._unheard = _weight("", 1, len(prompts))
        self._postings = {
            name: np.array(places, dtype=np.int32)
            for name, places in postings.items()
            if len(places) <= max(_FEW, _COMMON * len(prompts))
        }
        self._known = [
            _Known(
                words=features,
                weight=sum(map(self._weight, features)) or 1.0,
                text=_plain(_user_text(messages)),
                full_text=_plain(_text(messages)),
                numbers=_numbers(_user_text(messages)),
            )
            for messages, features in zip(prompts, words, strict=True)
        ]
        self._norms: NDArray[np.float64] = np.sqrt(np.array([known.weight for known in self._known]))

    def find(self, messages: Sequence[Message], *, nearest: bool = False) -> Found | None:
        """The known prompt that a request asks.

        Args:
            messages: the request's.
            nearest: take the nearest one where none is near enough or the numbers differ.

        Returns: None if there is none.
        """
        for key, places in zip(_KEYS, self._exact, strict=True):
            place = places.get(key(messages))
            if place is not None:
                return Found(place, "exact", 1.0)
        raw = _user_text(messages)
        ranked = self._ranked(_features(raw), _plain(raw), _plain(_text(messages)))
        numbers = _numbers(raw)
        for place, likeness in ranked:
            if likeness >= _LEAST_LIKENESS and _numbers_agree(self._known[place], numbers, raw):
                return Found(place, "near", likeness)
        return Found(ranked[0][0], "nearest", ranked[0][1]) if nearest and ranked else None

    def _weight(self, feature: str) -> float:
        return self._weights.get(feature, self._unheard)

    def _ranked(self, features: frozenset[str], text: str, full_text: str) -> list[tuple[int, float]]:
        """Candidates, the best first, with the share of their words' weight that the request has."""
        scores = np.zeros(len(self._known))
        for feature in features:
            places = self._postings.get(feature)
            if places is not None:
                scores[places] += self._weights[feature]
        if not scores.any():
            scores[:] = [len(features & known.words) for known in self._known]
        scores /= self._norms
        count = min(_CANDIDATES, len(scores))
        best = np.argpartition(-scores, count - 1)[:count]
        asked = sum(map(self._weight, features)) or 1.0
        likenesses = []
        for place in map(int, best):
            known = self._known[place]
            shared = sum(map(self._weight, features & known.words))
            likenesses.append((place, shared / known.weight, shared / asked))
        top = max((both for _, one, other in likenesses if (both := one + other)), default=0.0)

        def rank(found: tuple[int, float, float]) -> tuple[float, float]:
            place, one, other = found
            if one + other < top - 2 * _TIE:
                return one + other - 2, 0.0
            known = self._known[place]
            return fuzz.ratio(text, known.text), fuzz.ratio(full_text, known.full_text)

        return [(place, one) for place, one, _ in sorted(likenesses, key=rank, reverse=True)]


def _text(messages: Iterable[Message]) -> str:
    return "\n".join(message.text for message in messages)


def _user_text(messages: Sequence[Message]) -> str:
    """The users' words; everything if no message is a user's."""
    return _text([message for message in messages if message.role == "user"] or messages)


def _plain(text: str) -> str:
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def _raw_key(messages: Sequence[Message]) -> str:
    return _text(messages)


def _plain_key(messages: Sequence[Message]) -> str:
    return _plain(_text(messages))


def _user_key(messages: Sequence[Message]) -> str:
    return _plain(_user_text(messages))


_KEYS: Final = (_raw_key, _plain_key, _user_key)


def _features(text: str) -> frozenset[str]:
    """Words, and the beginnings and ends of long ones; pairs of characters where a script has no spaces."""
    found: set[str] = set()
    for word in _WORD.findall(_plain(text)):
        if _IS_UNSPACED.match(word):
            found.update(word[place : place + 2] for place in range(max(1, len(word) - 1)))
            continue
        found.add(word)
        if len(word) >= _LONG_WORD and not word.isdecimal():
            found.add(f"{word[:_END]}-")
            found.add(f"-{word[-_END:]}")
    return frozenset(found)


def _weight(feature: str, prompts: int, of: int) -> float:
    """What a shared feature counts: the logarithm of its rarity; the ends of a word count a half."""
    rarity = math.log1p(of / prompts)
    return rarity / 4 if feature.startswith("-") or feature.endswith("-") else rarity / 2


def _numbers(text: str) -> Counter[str]:
    """How often each run of digits occurs; marks of lists, which come and go with the layout, left out."""
    return Counter(_NUMBER.findall(_LIST_MARK.sub(" ", unicodedata.normalize("NFKC", text))))


def _numbers_agree(known: _Known, numbers: Counter[str], raw: str) -> bool:
    if known.numbers - numbers:
        return False
    added = numbers - known.numbers
    if not added:
        return True
    masked = _NUMBER.sub("0", known.text)
    return not any(
        fuzz.partial_ratio(_NUMBER.sub("0", sentence), masked) >= _COPIED
        for sentence in map(_plain, _SENTENCE_END.split(raw))
        if set(_NUMBER.findall(sentence)) & set(added)
    )
