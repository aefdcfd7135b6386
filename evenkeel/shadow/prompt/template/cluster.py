"""The requests of one template: its skeleton, the words that filled its gaps, and requests that missed it."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.prompt.template.alignment import common, grown, may_have_grown, merge
from evenkeel.shadow.prompt.template.recurring import RecurringLines
from evenkeel.shadow.prompt.template.skeleton import (
    EDGE,
    END,
    START,
    Skeleton,
    Span,
    fixed_characters,
    fixed_words,
    gaps,
    place,
    whole,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Texts = tuple[str, ...]
"""The padded texts of a request that may carry template, in order, long ones condensed."""
Shape = tuple[str, ...]
"""Roles of the texts. All requests of one cluster have the same."""

SHARED_AT_LEAST: Final = 0.5
"""Share of a template's words that one of its requests must have, in order."""
NAMED_FROM: Final = 16
"""Different requests before a template has a name."""
NAMED_AT_LATEST: Final = 30
"""Requests of a template by which it has a name."""
_NAMED_AFTER_UNCHANGED: Final = 8
_RUN: Final = 5
"""Requests in a row that begin or end a value with new words, which are template then."""
_EDITED_AFTER: Final = 4
"""Requests in a row that miss the same words and have the same others instead."""
_MOST_DOUBTS: Final = 8
_DOUBTED_FOR: Final = 30
_LONG_CONSTANT: Final = 40
"""Requests after which words that vanish next to a gap were template, not a value that recurred."""
_PARALLEL_WORDS: Final = 3
"""Fewest new words that make a second wording beside the first. Fewer are a field with few values."""
_MOST_DIGESTS: Final = 256
_MOST_VALUES: Final = 1_024
_SHORT_VALUE: Final = 64
_UNIT: Final = re.compile(r"[^\n.!?:]+[.!?:]*\n?")
_UNIT_BLANKS: Final = 2


@dataclass(slots=True, eq=False)
class Cluster:
    """Knowledge about one template."""

    shape: Shape
    skeletons: tuple[Skeleton, ...]
    born: int
    """Number of the route's request that began it."""
    last: int
    """Number of the route's request that fitted last."""
    seen: int = 0
    """Requests that fitted, identical resends included."""
    support: int = 0
    """Different requests that fitted."""
    unchanged: int = 0
    """Different requests since the skeleton was last refined."""
    fingerprint: str | None = None
    """Fingerprint, given once and kept even if a later request shows that a fragment is a field."""
    streak: list[Texts] = field(default_factory=list)
    """Consecutive requests that almost fitted."""
    doubts: list[Texts] = field(default_factory=list)
    """Requests that almost fitted, between others that did."""
    doubted_at: int = 0
    """`support` when the first of `doubts` came."""
    lines: list[RecurringLines] = field(default_factory=list)
    digests: OrderedDict[bytes, None] = field(default_factory=OrderedDict)
    values: OrderedDict[str, None] = field(default_factory=OrderedDict)
    """Words of values, by which chance agreement of a few requests is recognised."""
    latest: deque[Texts] = field(default_factory=lambda: deque(maxlen=_RUN))
    """The last requests that fitted; their values are not among `values` yet."""

    @classmethod
    def of(cls, shape: Shape, texts: Texts, number: int) -> Cluster:
        """The cluster of a single request."""
        cluster = cls(shape, tuple(map(whole, texts)), number, number, seen=1, support=1)
        cluster.lines = [RecurringLines() for _ in texts]
        cluster.is_repeat(texts)
        return cluster

    @property
    def fixed_words(self) -> int:
        """Words of the template."""
        return words_fixed(self.skeletons)

    @property
    def fixed_characters(self) -> int:
        """Characters of the template."""
        return sum(map(fixed_characters, self.skeletons))

    def coverage(self, units: frozenset[tuple[int, str]]) -> float:
        """Share of the template's sentences, labels and ends that a request has, in [0, 1]."""
        own = _landmarks(self.skeletons)
        return len(own & units) / len(own) if own else 0.0

    def is_repeat(self, texts: Texts) -> bool:
        """Return whether the same texts were seen before, and remember them."""
        digest = hashlib.blake2b(digest_size=12)
        for text in texts:
            digest.update(text.encode("utf-8", "surrogatepass"))
        key = digest.digest()
        is_known = key in self.digests
        self.digests[key] = None
        self.digests.move_to_end(key)
        if len(self.digests) > _MOST_DIGESTS:
            self.digests.popitem(last=False)
        return is_known

    def placed(self, texts: Texts) -> list[list[Span]] | None:
        """Return the template's spans in each text; None if the request does not fit."""
        return place_all(self.skeletons, texts)

    def merged(self, texts: Texts) -> tuple[Skeleton, ...]:
        """Return the skeletons that remain if this request belongs to the template too."""
        return tuple(
            skeleton
            if place(skeleton, text) is not None
            else merge(skeleton, text, trusted=self.fingerprint is not None)
            for skeleton, text in zip(self.skeletons, texts, strict=True)
        )

    def fit(self, texts: Texts, number: int) -> Cluster | None:
        """Add a request that fits. Return the cluster of the template with added words, if there are any.

        Args:
            texts: Of the request.
            number: Of the request among the route's.
        """
        if self.is_repeat(texts):
            return None
        self._take(texts)
        self.doubt(self.streak)
        self.streak = []
        successor = self._settle(number)
        if successor is None and self.fingerprint is not None and len(self.latest) == _RUN:
            columns = list(zip(*self.latest, strict=True))
            if any(map(may_have_grown, self.skeletons, columns, [self.values.keys()] * len(columns))):
                successor = self._successor(list(self.latest), number)
        return successor

    def miss(self, texts: Texts, merged: tuple[Skeleton, ...], number: int) -> Cluster | None:
        """Add a request that misses some words. Return the cluster of the edited template, if there is one.

        Args:
            texts: Of the request.
            merged: What it leaves of the skeletons.
            number: Of the request among the route's.
        """
        if self.is_repeat(texts):
            return None
        if self.fingerprint is None or _lost_only_marks(self.skeletons, merged):
            self.refine(merged)
            self._take(texts)
            return None
        self.streak.append(texts)
        if len(self.streak) < _EDITED_AFTER:
            return None
        successor = self._successor(self.streak, number)
        if successor is not None:
            self.streak, self.doubts = [], []
            return successor
        # The oldest may have missed something else, just before an edit.
        self.doubt([self.streak.pop(0)])
        return self._settle(number)

    def refine(self, skeletons: tuple[Skeleton, ...]) -> None:
        """Replace the skeletons by those that more requests have shown."""
        if skeletons != self.skeletons:
            self.skeletons = skeletons
            self.unchanged = 0

    def absorb(self, texts: Texts, number: int) -> None:
        """Count a request that arrived before the template was known."""
        self.seen += 1
        self.born, self.last = min(self.born, number), max(self.last, number)
        if self.placed(texts) is not None and not self.is_repeat(texts):
            self._take(texts)

    def doubt(self, requests: Sequence[Texts]) -> None:
        """Keep requests that almost fitted, until there are enough to tell which words are not template."""
        if requests and not self.doubts:
            self.doubted_at = self.support
        self.doubts += requests

    def is_settled(self) -> bool:
        """Return whether the template has been seen often enough, without a change, to have a name."""
        return self.support >= NAMED_FROM and (
            self.unchanged >= _NAMED_AFTER_UNCHANGED or self.support >= NAMED_AT_LATEST
        )

    def name(self) -> None:
        """Give the template its fingerprint."""
        self.fingerprint = fingerprint(self.shape, self.skeletons)

    def state(self) -> dict[str, Any]:
        """Return the template and its use counts as JSON-able values, without any input."""
        return {
            "shape": list(self.shape),
            "skeletons": [list(skeleton) for skeleton in self.skeletons],
            "born": self.born,
            "last": self.last,
            "seen": self.seen,
            "support": self.support,
            "fingerprint": self.fingerprint,
            "lines": [lines.state() for lines in self.lines],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Cluster:
        """Restore a cluster from its `state`.

        Raises: KeyError, TypeError, ValueError and the like if it is damaged.
        """
        skeletons = tuple(tuple(map(str, skeleton)) for skeleton in state["skeletons"])
        cluster = cls(tuple(map(str, state["shape"])), skeletons, int(state["born"]), int(state["last"]))
        cluster.seen, cluster.support = int(state["seen"]), int(state["support"])
        cluster.fingerprint = str(state["fingerprint"])
        cluster.lines = [RecurringLines.from_state(lines) for lines in state["lines"]]
        sides = {len(cluster.shape), len(skeletons), len(cluster.lines)}
        whole = all(
            skeleton and skeleton[0].startswith(START) and skeleton[-1].endswith(END)
            for skeleton in skeletons
        )
        if len(sides) > 1 or not whole:
            raise ValueError("a template without its ends")
        return cluster

    def _take(self, texts: Texts) -> None:
        """Count a request that fits and was not seen before."""
        self.support += 1
        self.unchanged += 1
        if len(self.latest) == _RUN:
            self._remember_values(self.latest[0])
        self.latest.append(texts)
        for lines, text, spans in zip(self.lines, texts, self.placed(texts) or (), strict=False):
            lines.observe(text, gaps(spans))

    def _remember_values(self, texts: Texts) -> None:
        for text, spans in zip(texts, self.placed(texts) or (), strict=False):
            for gap in gaps(spans):
                value = text[gap.start : gap.end]
                words = words_of(value)
                if len(value) > _SHORT_VALUE:
                    words = [*words_of(value[:EDGE])[:2], *words_of(value[-EDGE:])[-2:]]
                for word in words:
                    self.values[word] = None
                    self.values.move_to_end(word)
        while len(self.values) > _MOST_VALUES:
            self.values.popitem(last=False)

    def _settle(self, number: int) -> Cluster | None:
        """Return what several requests missed, between others, is a second wording, or it becomes a gap."""
        waited = bool(self.doubts) and self.support - self.doubted_at >= _DOUBTED_FOR
        if len(self.doubts) < _MOST_DOUBTS and not waited:
            return None
        doubts, self.doubts = self.doubts, []
        successor = self._successor(doubts, number, fewest_words=_PARALLEL_WORDS) if not waited else None
        if successor is not None:
            return successor
        for texts in doubts:
            merged = self.merged(texts)
            if words_fixed(merged) >= SHARED_AT_LEAST * self.fixed_words:
                self.refine(merged)
                self._take(texts)
        return None

    def _successor(self, requests: Sequence[Texts], number: int, fewest_words: int = 1) -> Cluster | None:
        """The cluster of another wording of the template, None if the requests do not show one."""
        columns = list(zip(*requests, strict=True))
        left = tuple(map(common, self.skeletons, columns))
        if words_fixed(left) < SHARED_AT_LEAST * self.fixed_words:
            return None
        skeletons = tuple(
            grown(before, after, column, self.values.keys())
            for before, after, column in zip(self.skeletons, left, columns, strict=True)
        )
        replaced = words_fixed(skeletons) >= words_fixed(left) + fewest_words
        deleted = sum(map(len, skeletons)) < sum(map(len, left))
        vanished = fewest_words == 1 and self.support >= _LONG_CONSTANT and len(
            {words_fixed(self.merged(texts)) for texts in requests}
        ) == 1 and left != self.skeletons  # fmt: skip
        if not (replaced or deleted or vanished):
            return None
        successor = Cluster(self.shape, skeletons, number - len(requests) + 1, number)
        successor.lines = copy.deepcopy(self.lines)
        successor.values = self.values.copy()
        successor.seen = successor.support = len(requests)
        for texts in requests:
            successor.is_repeat(texts)
        successor.name()
        return successor


def place_all(skeletons: Sequence[Skeleton], texts: Texts) -> list[list[Span]] | None:
    """Return the spans of the skeletons in their texts, None if one does not fit."""
    found: list[list[Span]] = []
    for skeleton, text in zip(skeletons, texts, strict=True):
        spans = place(skeleton, text)
        if spans is None:
            return None
        found.append(spans)
    return found


def units_in(texts: Texts) -> frozenset[tuple[int, str]]:
    """Sentences, labels and ends of a request, each with the number of its text."""
    return frozenset((number, unit) for number, text in enumerate(texts) for unit in _units_of(text))


@lru_cache(maxsize=128)
def _landmarks(skeletons: tuple[Skeleton, ...]) -> frozenset[tuple[int, str]]:
    """Sentences, labels and ends of a template, by which requests are recognised."""
    return frozenset(
        (number, unit)
        for number, skeleton in enumerate(skeletons)
        for fragment in skeleton
        for unit in _units_of(fragment)
    )


def _units_of(text: str) -> Iterator[str]:
    if text.startswith(START):
        yield from (START + word for word in words_of(text[: 2 * EDGE])[:1])
    if text.endswith(END):
        yield from (END + word for word in words_of(text[-2 * EDGE :])[-1:])
    for match in _UNIT.finditer(text.strip(START + END)):
        unit = match[0].strip()
        if unit.count(" ") >= _UNIT_BLANKS or (unit.endswith(":") and len(unit) > 1):
            yield unit


def words_fixed(skeletons: Sequence[Skeleton]) -> int:
    """Words that a template's fragments hold."""
    return sum(map(fixed_words, skeletons))


def _lost_only_marks(before: Sequence[Skeleton], after: Sequence[Skeleton]) -> bool:
    """Return whether only marks beside gaps are gone, such as a full stop that most values end with."""
    return all(
        len(old) == len(other) and fixed_words(old) == fixed_words(other)
        for old, other in zip(before, after, strict=True)
    )


def fingerprint(shape: Shape, skeletons: Sequence[Skeleton]) -> str:
    """Return sixteen hex digits that name a template by its text alone.

    Marks and blanks next to a gap are left out: whether they belong to the template or to what fills
    the gap depends on the values that happened to come.
    """
    texts = [
        [role, [core for fragment in skeleton if (core := _core(fragment))]]
        for role, skeleton in zip(shape, skeletons, strict=True)
    ]
    written = json.dumps(texts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()[:16]


def _core(fragment: str) -> str:
    begin, end = 0, len(fragment)
    while begin < end and not fragment[begin].isalnum():
        begin += 1
    while end > begin and not fragment[end - 1].isalnum():
        end -= 1
    return fragment[begin:end]
