"""The requests of one template."""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.alignment import merge
from evenkeel.shadow.prompt.template.edges import RUN, EdgeWords
from evenkeel.shadow.prompt.template.recurrence import RecurringLines
from evenkeel.shadow.prompt.template.skeleton import (
    Skeleton,
    Span,
    fixed_characters,
    fixed_words,
    gaps,
    place,
    repeated,
    whole,
)
from evenkeel.shadow.prompt.template.tokens import END, START, words_of
from evenkeel.shadow.prompt.template.variants import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Texts = tuple[str, ...]
"""The padded texts of a request that may carry template, in order, long ones condensed."""
Shape = tuple[str, ...]
"""Their roles. Requests of one cluster have the same."""

_MOST_DIGESTS: Final = 256
_MOST_WORDS: Final = 1_024
_SHORT_VALUE: Final = 64
_EDGE: Final = 48
_CREDITED_FROM: Final = 6
_AMBIGUOUS_FROM: Final = 2
_AMBIGUOUS_SHARE: Final = 0.25
_UNIT: Final = re.compile(r"[^\n.!?:]+[.!?:]*\n?")
_UNIT_BLANKS: Final = 2


@dataclass(slots=True, eq=False)
class Cluster:
    """What is known of one template."""

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
    """Given once and kept, also where a later request shows a fragment to be a field."""
    streak: list[Texts] = field(default_factory=list)
    """Requests in a row that almost fitted."""
    doubts: list[Texts] = field(default_factory=list)
    """Requests that almost fitted, between others that did."""
    doubted_at: int = 0
    """`support` when the first of `doubts` came."""
    lines: list[RecurringLines] = field(default_factory=list)
    digests: OrderedDict[bytes, None] = field(default_factory=OrderedDict)
    words: OrderedDict[str, None] = field(default_factory=OrderedDict)
    """Words of recent values, by which chance agreement of a few requests is recognised."""
    ambiguous: dict[tuple[int, str], int] = field(default_factory=dict)
    samples: deque[Texts] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    """Recent requests, kept until the template has a name."""
    extension: Cluster | None = None
    """That of the same template with words added beside a gap."""
    edges: EdgeWords = field(default_factory=EdgeWords)
    latest: deque[Texts] = field(default_factory=lambda: deque(maxlen=RUN))
    """The last requests that fitted."""
    _landmarks: frozenset[tuple[int, str]] | None = None

    @classmethod
    def of(cls, shape: Shape, texts: Texts, number: int) -> Cluster:
        """The cluster of a single request."""
        cluster = cls(shape, tuple(map(whole, texts)), number, number)
        cluster.lines = [RecurringLines() for _ in texts]
        cluster.seen = 1
        cluster.support = 1
        cluster.is_repeat(texts)
        return cluster

    @property
    def fixed_words(self) -> int:
        """Words of the template."""
        return sum(map(fixed_words, self.skeletons))

    @property
    def fixed_characters(self) -> int:
        """Characters of the template."""
        return sum(map(fixed_characters, self.skeletons))

    @property
    def landmarks(self) -> frozenset[tuple[int, str]]:
        """Sentences, labels, first and last words of the template, by which requests are recognised."""
        if self._landmarks is None:
            self._landmarks = frozenset(
                (number, unit)
                for number, skeleton in enumerate(self.skeletons)
                for fragment in skeleton
                for unit in units_of(fragment)
            )
        return self._landmarks

    def is_repeat(self, texts: Texts) -> bool:
        """Whether the very same texts came before; remembers them."""
        digest = hashlib.blake2b(digest_size=12)
        for text in texts:
            digest.update(text.encode("utf-8", "surrogatepass"))
        key = digest.digest()
        if key in self.digests:
            self.digests.move_to_end(key)
            return True
        self.digests[key] = None
        if len(self.digests) > _MOST_DIGESTS:
            self.digests.popitem(last=False)
        return False

    def placed(self, texts: Texts) -> list[list[Span]] | None:
        """Where the template stands in each text; None if the request does not fit."""
        return place_all(self.skeletons, texts)

    def merged(self, texts: Texts) -> tuple[Skeleton, ...]:
        """The skeletons that are left if this request belongs to the template as well."""
        return merge_all(self.skeletons, texts, trusted=self.fingerprint is not None)

    def refine(self, skeletons: tuple[Skeleton, ...]) -> None:
        """Replace the skeletons by what more requests have shown them to be."""
        if skeletons == self.skeletons:
            return
        for number, (before, after) in enumerate(zip(self.skeletons, skeletons, strict=True)):
            kept = "\n".join(after)
            for fragment in before:
                if self.support >= _CREDITED_FROM and fragment not in kept:
                    for line in fragment.strip(START + END).splitlines():
                        if line not in kept:
                            self.lines[number].credit(line, self.support)
        self.skeletons = skeletons
        self.unchanged = 0
        self._landmarks = None

    def doubt(self, texts: Texts) -> None:
        """Keep a request that almost fitted, until there are enough to say what is no template."""
        if not self.doubts:
            self.doubted_at = self.support
        self.doubts.append(texts)

    def take(self, texts: Texts, spans: Sequence[Sequence[Span]]) -> None:
        """Count a request that fits and was not seen before."""
        self.support += 1
        self.unchanged += 1
        if self.fingerprint is None:
            self.samples.append(texts)
        for number, (text, at) in enumerate(zip(texts, spans, strict=True)):
            between = gaps(at)
            self.lines[number].observe(text, between)
            self._remember_words(text, between)
        self._drop_ambiguous(texts, spans)

    def _remember_words(self, text: str, between: Iterable[Span]) -> None:
        for gap in between:
            if gap.end - gap.start <= _SHORT_VALUE:
                words = words_of(text[gap.start : gap.end])
            else:
                words = [
                    *words_of(text[gap.start : gap.start + _EDGE])[:2],
                    *words_of(text[gap.end - _EDGE : gap.end])[-2:],
                ]
            for word in words:
                self.words[word] = None
                self.words.move_to_end(word)
        while len(self.words) > _MOST_WORDS:
            self.words.popitem(last=False)

    def _drop_ambiguous(self, texts: Texts, spans: Sequence[Sequence[Span]]) -> None:
        refined = list(self.skeletons)
        for number, (text, at) in enumerate(zip(texts, spans, strict=True)):
            skeleton = self.skeletons[number]
            if len(skeleton) < 3:  # noqa: PLR2004 - nothing between its ends
                continue
            dropped: set[int] = set()
            for index in repeated(skeleton, text, at):
                key = (number, skeleton[index])
                self.ambiguous[key] = self.ambiguous.get(key, 0) + 1
                if self.ambiguous[key] >= max(_AMBIGUOUS_FROM, _AMBIGUOUS_SHARE * self.support):
                    dropped.add(index)
            refined[number] = tuple(one for index, one in enumerate(skeleton) if index not in dropped)
        if tuple(refined) != self.skeletons:
            self.skeletons = tuple(refined)
            self.unchanged = 0
            self._landmarks = None
            present = {(number, one) for number, skeleton in enumerate(refined) for one in skeleton}
            self.ambiguous = {key: count for key, count in self.ambiguous.items() if key in present}


def place_all(skeletons: Sequence[Skeleton], texts: Texts) -> list[list[Span]] | None:
    """Where the skeletons stand in their texts, None if one does not fit."""
    found: list[list[Span]] = []
    for skeleton, text in zip(skeletons, texts, strict=True):
        spans = place(skeleton, text)
        if spans is None:
            return None
        found.append(spans)
    return found


def merge_all(skeletons: Sequence[Skeleton], texts: Texts, *, trusted: bool) -> tuple[Skeleton, ...]:
    """What each skeleton shares with its text."""
    return tuple(
        skeleton if place(skeleton, text) is not None else merge(skeleton, text, trusted=trusted)
        for skeleton, text in zip(skeletons, texts, strict=True)
    )


def units_of(text: str) -> list[str]:
    """Whole sentences, labels and the first and last words of a stretch of text."""
    found: list[str] = []
    if text.startswith(START):
        found += [START + word for word in words_of(text[: 2 * _EDGE])[:1]]
    if text.endswith(END):
        found += [END + word for word in words_of(text[-2 * _EDGE :])[-1:]]
    for match in _UNIT.finditer(text.strip(START + END)):
        unit = match[0].strip()
        if unit.count(" ") >= _UNIT_BLANKS or (unit.endswith(":") and len(unit) > 1):
            found.append(unit)
    return found


def fingerprint(shape: Shape, skeletons: Sequence[Skeleton]) -> str:
    """Sixteen hex digits that name a template by its text alone.

    Marks and blanks next to a gap are left out: whether they belong to the template or to what fills
    the gap depends on the values that happened to come.
    """
    texts = [
        [role, [core for one in skeleton if (core := _core(one))]]
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
