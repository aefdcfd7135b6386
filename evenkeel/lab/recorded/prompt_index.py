"""Index of known prompts that finds the one a request asks, also where it is worded a little differently.

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
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np
from rapidfuzz import fuzz

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from evenkeel.simulate.model import PromptMessage

How = Literal["exact", "near"]

# Prompts nominated by their words.
_CANDIDATES: Final = 200
# Candidates with the right numbers that are looked at closely; as many are compared with these.
_LOOKS: Final = 8
# Share of the prompts from which on it is faster to add a word's weight to all, be it nothing.
_COMMON: Final = 1 / 16
# Share, of what tells a known prompt from others like it, the share that a request must have.
_LEAST_LIKENESS: Final = 0.6
# Share of a prompt's words and pairs from which on another one is of the same template.
_ALIKE: Final = 0.5
# Likeness, of 100, from which on a sentence is one of the known prompt, not an added one.
_COPIED: Final = 85.0
# Beginnings and ends of shorter words are shared by too many others.
_LONG_WORD: Final = 5
_END: Final = 3

# Scripts without spaces between words.
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_WORD: Final = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
# Units compared closely: words, single characters of scripts without spaces, and signs of formulas.
_TOKEN: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[-+*/=<>^]")
_IS_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")
_SPACE: Final = re.compile(r"\s+")
_NUMBER: Final = re.compile(r"\d+")
# Numbers of a list change when its parts are moved; they are no content.
_LIST_MARK: Final = re.compile(r"^\s*\(?\d{1,2}[.)]\s", re.MULTILINE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")  # noqa: RUF001 - stops of other scripts


class PromptMatch(NamedTuple):
    """A known prompt that answers a request."""

    place: int
    """Place among the known prompts."""
    how: How
    """`exact`: equal but for case, white space and roles; `near`: worded differently."""
    likeness: float
    """Share of what tells it from others like it that the request has, in [0, 1]."""


class _Sentence(NamedTuple):
    """A sentence with numbers, and without them."""

    masked: str
    numbers: frozenset[str]


class _Request(NamedTuple):
    """A prompt as it is compared: the users' words, and apart from them what others said."""

    raw: str
    text: str
    others: str
    features: frozenset[str]
    tokens: list[str]
    numbers: Counter[str]
    counted: tuple[_Sentence, ...]
    """Sentences with numbers."""

    @classmethod
    def read(cls, messages: Sequence[PromptMessage]) -> _Request:
        raw = _user_text(messages)
        text = _plain(raw)
        others = _plain(_text(message for message in messages if message.role != "user"))
        numbers = Counter(_NUMBER.findall(text))
        sentences: list[_Sentence] = []
        for sentence in map(_plain, _SENTENCE_END.split(raw)):
            found = frozenset(_NUMBER.findall(sentence))
            # A line of numbers alone is a row of a table, and no sentence.
            if found and len(_WORD.findall(sentence)) > len(found):
                sentences.append(_Sentence(_NUMBER.sub("0", sentence), found))
        return cls(raw, text, others, _features(text), _TOKEN.findall(text), numbers, tuple(sentences))


@dataclass(slots=True)
class _KnownPrompt:
    text: str
    others: str
    tokens: list[str]
    numbers: Counter[str]
    needed: Counter[str]
    """The numbers that no list was numbered with; those come and go with the layout."""
    units: frozenset[str] | None = None
    """Tokens and pairs of them, once somebody asked."""


class PromptIndex:
    """Known prompts, found by their words in about a millisecond."""

    def __init__(self, prompts: Sequence[Sequence[PromptMessage]]) -> None:
        """Read `prompts`; a prompt is found by its place among them."""
        self._exact = [_exact(key, prompts) for key in _KEYS]
        postings: defaultdict[str, list[int]] = defaultdict(list)
        read = [_Request.read(messages) for messages in prompts]
        for index, asked in enumerate(read):
            for feature in asked.features:
                postings[feature].append(index)
        self._weights: dict[str, float] = {}
        for name, found_in in postings.items():
            self._weights[name] = _weight(name, len(found_in), len(prompts))
        self._unheard = _weight("", 1, len(prompts))
        self._sums: NDArray[np.float32] = np.zeros(len(prompts), dtype=np.float32)
        self._rare: dict[str, NDArray[np.int32]] = {}
        self._common: dict[str, NDArray[np.float32]] = {}
        for name, found_in in postings.items():
            self._sums[found_in] += self._weights[name]
            if len(found_in) < _COMMON * len(prompts):
                self._rare[name] = np.array(found_in, dtype=np.int32)
            else:
                # A vector is quicker to add than a long list of places.
                self._common[name] = np.zeros(len(prompts), dtype=np.float32)
                self._common[name][found_in] = self._weights[name]
        self._known: list[_KnownPrompt] = []
        for asked in read:
            unnumbered = _LIST_MARK.sub(" ", unicodedata.normalize("NFKC", asked.raw))
            needed = Counter(_NUMBER.findall(unnumbered))
            self._known.append(_KnownPrompt(asked.text, asked.others, asked.tokens, asked.numbers, needed))

    def find(self, messages: Sequence[PromptMessage]) -> PromptMatch | None:
        """The known prompt that a request asks.

        Returns: None if there is none.
        """
        for key, index_by_key in zip(_KEYS, self._exact, strict=True):
            index = index_by_key.get(key(messages))
            if index is not None:
                return PromptMatch(index, "exact", 1.0)
        asked = _Request.read(messages)
        candidates = self._candidates(asked.features)
        agreeing: list[int] = []
        for index in candidates:
            if len(agreeing) < _LOOKS and _numbers_agree(self._known[index], asked):
                agreeing.append(index)
        slips = _slips_of(asked.tokens)
        for index in self._ranked(asked, agreeing, slips):
            likeness = self._likeness(asked, index, candidates, slips)
            if likeness >= _LEAST_LIKENESS:
                return PromptMatch(index, "near", likeness)
        return None

    def _candidates(self, features: frozenset[str]) -> list[int]:
        """Prompts that share the weightiest words with a request, the best first."""
        shared: NDArray[np.float32] = np.zeros(len(self._known), dtype=np.float32)
        heard = self._unheard
        # Sorted: sums of floats depend on their order, and hashes of strings differ between processes.
        for feature in sorted(features & self._weights.keys()):
            heard += self._weights[feature]
            owners = self._rare.get(feature)
            if owners is None:
                shared += self._common[feature]
            else:
                shared[owners] += self._weights[feature]
        overlaps = 2 * shared / (self._sums + heard)
        count = min(_CANDIDATES, len(overlaps))
        # Partition first: sorting all prompts would take most of the time.
        best = np.argpartition(-overlaps, count - 1)[:count]
        candidates = []
        for index in best[np.argsort(-overlaps[best], kind="stable")]:
            candidates.append(int(index))
        return candidates

    def _ranked(self, asked: _Request, candidates: Sequence[int], slips: Mapping[str, str]) -> list[int]:
        """Candidates by their words and pairs of words, the best first."""

        def rank(index: int) -> tuple[float, float]:
            prompt = self._known[index]
            own = self._units(index)
            units = _units(_without_slips(asked.tokens, prompt.tokens, slips))
            return len(own & units) / (len(own) + len(units) + 1), fuzz.ratio(asked.others, prompt.others)

        return sorted(candidates, key=rank, reverse=True)

    def _likeness(
        self, asked: _Request, index: int, candidates: Sequence[int], slips: Mapping[str, str]
    ) -> float:
        """Share of a known prompt's words and pairs of words that a request has, slips of the pen forgiven.

        Where prompts like it are known, from one template, only what tells it from most of them counts.
        """
        prompt = self._known[index]
        own = self._units(index)
        others = []
        for other in candidates:
            if self._known[other].text != prompt.text:
                others.append(other)
        alike = 0
        held: Counter[str] = Counter()
        for other in others[:_LOOKS]:
            shared = self._units(other) & own
            if len(shared) >= _ALIKE * len(own):
                alike += 1
                held.update(shared)
        common = []
        for unit, times in held.items():
            if 2 * times > alike:
                common.append(unit)
        # If others share all of it, all of it counts, or every request would be like it.
        counted = own.difference(common) or own
        asked_units = _units(_without_slips(asked.tokens, prompt.tokens, slips))
        return len(asked_units & counted) / max(1, len(counted))

    def _units(self, index: int) -> frozenset[str]:
        prompt = self._known[index]
        if prompt.units is None:
            prompt.units = _units(prompt.tokens)
        return prompt.units


def _text(messages: Iterable[PromptMessage]) -> str:
    return "\n".join(message.text for message in messages)


def _user_text(messages: Sequence[PromptMessage]) -> str:
    """The users' words; everything if no message is a user's."""
    return _text([message for message in messages if message.role == "user"] or messages)


def _plain(text: str) -> str:
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def _raw_key(messages: Sequence[PromptMessage]) -> str:
    return _text(messages)


def _plain_key(messages: Sequence[PromptMessage]) -> str:
    return _plain(_text(messages))


def _user_key(messages: Sequence[PromptMessage]) -> str:
    return _plain(_user_text(messages))


_KEYS: Final = (_raw_key, _plain_key, _user_key)


def _exact(
    key: Callable[[Sequence[PromptMessage]], str], prompts: Sequence[Sequence[PromptMessage]]
) -> dict[str, int]:
    """Return the place of each prompt by its key."""
    places_of: defaultdict[str, list[int]] = defaultdict(list)
    for place, messages in enumerate(prompts):
        places_of[key(messages)].append(place)
    place_of: dict[str, int] = {}
    for text, places in places_of.items():
        # Words that several prompts share decide nothing; of equal texts the first one stands for all.
        if key is not _user_key or len(places) == 1:
            place_of[text] = places[0]
    return place_of


def _features(text: str) -> frozenset[str]:
    """Words, and the beginnings and ends of long ones; pairs of characters where a script has no spaces."""
    features: set[str] = set()
    for word in _WORD.findall(text):
        if _IS_UNSPACED.match(word):
            # Words of these scripts cannot be told apart without a dictionary.
            features.update(word[start : start + 2] for start in range(max(1, len(word) - 1)))
            continue
        features.add(word)
        if len(word) >= _LONG_WORD and not word.isdecimal():
            features.add(f"{word[:_END]}-")
            features.add(f"-{word[-_END:]}")
    return frozenset(features)


def _units(tokens: Sequence[str]) -> frozenset[str]:
    """Tokens and pairs of neighbours; of those that occur again, each occurrence."""
    counts: Counter[str] = Counter(tokens)
    counts.update(map(" ".join, pairwise(tokens)))
    again = []
    for unit, count in counts.items():
        for number in range(1, count):
            again.append(f"{unit}#{number}")
    return frozenset((*counts, *again))


def _without_slips(tokens: list[str], vocabulary: Sequence[str], slips: Mapping[str, str]) -> list[str]:
    """Tokens of a request, where slips of the pen become the words of a known prompt that were meant."""
    words = set(vocabulary)
    meant = {}
    for word in sorted(words.difference(tokens)):
        typed = next((slips[slip] for slip in _slips(word) if slip in slips), None)
        if typed is not None and typed not in words:
            meant[typed] = word
    return [meant.get(token, token) for token in tokens] if meant else tokens


def _slips_of(tokens: Iterable[str]) -> dict[str, str]:
    """The words of a request under what they may be slips of."""
    words: dict[str, str] = {}
    for word in dict.fromkeys(tokens):
        for slip in _slips(word):
            words[slip] = word
    return words


def _slips(word: str) -> Iterator[str]:
    """A word, and it without one of its letters; words that share one differ by one slip of the pen at most.

    A letter left out, put in, exchanged for another or for its neighbour. Short words and numbers have none.
    """
    if len(word) >= _END and word.isalpha():
        yield word
        for position in range(len(word)):
            yield word[:position] + word[position + 1 :]


def _weight(feature: str, prompts: int, of: int) -> float:
    """Weight of a shared feature: the logarithm of its rarity; the ends of a word count a half."""
    rarity = math.log1p(of / prompts)
    return rarity / 4 if feature.startswith("-") or feature.endswith("-") else rarity / 2


def _numbers_agree(prompt: _KnownPrompt, asked: _Request) -> bool:
    if not prompt.needed <= asked.numbers:
        return False
    added = asked.numbers - prompt.numbers
    if not added:
        return True
    masked = _NUMBER.sub("0", prompt.text)
    # A sentence of the known prompt with other numbers asks something else.
    for sentence in asked.counted:
        if sentence.numbers & added.keys() and fuzz.partial_ratio(sentence.masked, masked) >= _COPIED:
            return False
    return True
