"""The requests of one template: its skeleton, and the words and lines that recur in its gaps.

Words added right beside a gap leave the old fragments fitting, so only the gap shows them. Lines that come
back in the gaps are optional sections of the template rather than input.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.shadow.prompt.template.alignment import merge
from evenkeel.shadow.prompt.template.skeleton import (
    END,
    START,
    Skeleton,
    Span,
    fixed_characters,
    fixed_words,
    gaps,
    place,
    readable,
    repeated,
    whole,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


SAMPLES: Final = 16
"""Requests of a new template that are compared for two wordings of it."""
SHARED_AT_LEAST: Final = 0.5
"""Share of a template's words that a request of it has in order."""
RUN: Final = 5
"""Requests in a row whose values begin, or end, with a word that no value began or ended with before."""
_MOST_EDGES: Final = 2_048
_READ: Final = 64
_FEWEST_WORDS: Final = 2


class Edge(NamedTuple):
    """One end of a gap."""

    text: int
    """Which text of the request."""
    gap: int
    is_end: bool


class EdgeWords:
    """The words at the ends of a template's gaps, and how long each has stayed the same."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[Edge, str], None] = OrderedDict()
        self._runs: dict[Edge, tuple[str, int]] = {}

    def observe(self, texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> list[Edge]:
        """Take in a request.

        Returns: the ends of gaps at which a new word has now stood for `RUN` requests.
        """
        found: list[Edge] = []
        for number, (text, placed) in enumerate(zip(texts, spans, strict=True)):
            for index, gap in enumerate(gaps(placed)):
                # A date at the end of a gap changes by itself.
                first = words_of(readable(text[gap.start : min(gap.end, gap.start + _READ)])[0])
                last = words_of(readable(text[max(gap.start, gap.end - _READ) : gap.end])[-1])
                for edge, words in ((Edge(number, index, False), first), (Edge(number, index, True), last)):
                    word = words[-1 if edge.is_end else 0] if len(words) >= _FEWEST_WORDS else ""
                    if self._run(edge, word) == RUN:
                        found.append(edge)
        while len(self._seen) > _MOST_EDGES:
            self._seen.popitem(last=False)
        return found

    def _run(self, edge: Edge, word: str) -> int:
        last, length = self._runs.get(edge, ("", 0))
        known = (edge, word) in self._seen
        self._seen[edge, word] = None
        self._seen.move_to_end((edge, word))
        if word and word == last and length:
            self._runs[edge] = (word, length + 1)
        else:
            self._runs[edge] = (word, 0 if known or not word else 1)
        return self._runs[edge][1]


def extended(
    skeletons: tuple[tuple[str, ...], ...], edge: Edge, texts: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """The skeletons with what all values have in common at one end of a gap made part of the fragment there.

    Args:
        skeletons: All fit the requests.
        edge: Where the common words stand.
        texts: Of the requests, the one text that holds the gap.
    """
    skeleton = list(skeletons[edge.text])
    values: list[str] = []
    for text in texts:
        spans = place(tuple(skeleton), text)
        if spans is None:
            return skeletons
        gap = gaps(spans)[edge.gap]
        values.append(text[gap.start : gap.end])
    shared = _shared_end([value[::-1] for value in values])[::-1] if edge.is_end else _shared_end(values)
    if shared in values:
        return skeletons  # the field has another value, all of it
    if edge.is_end:
        skeleton[edge.gap + 1] = _from_line_start(readable(shared)[-1]) + skeleton[edge.gap + 1]
    else:
        skeleton[edge.gap] += readable(shared)[0]
    return tuple(tuple(skeleton) if number == edge.text else one for number, one in enumerate(skeletons))


def _shared_end(values: Sequence[str]) -> str:
    """What all values begin with, without a word that is cut in two."""
    shortest = min(values, key=len)
    size = 0
    while size < len(shortest) and all(value[size] == shortest[size] for value in values):
        size += 1
    while size and any(_cuts_word(value, size) for value in values):
        size -= 1
    return shortest[:size]


def _from_line_start(shared: str) -> str:
    """Without the marks and words of a value that happen to end alike before the added line."""
    line = shared.find("\n")
    if line >= 0:
        return shared[line:]
    return shared.lstrip(".,;:!?")


def _cuts_word(value: str, at: int) -> bool:
    return at < len(value) and value[at].isalnum() and value[at - 1].isalnum()


_LINE: Final = re.compile(
    r"^[ \t]*+(?P<label>[^\W\d_][^\n:]{0,38}:(?=[ \t\n]|\Z)|<[A-Za-z][\w.-]{0,30}>|</[A-Za-z][\w.-]{0,30}>"
    r"|\#{1,6}\ [^\n]{1,60}$)?(?P<rest>[^\n]*)",
    re.MULTILINE,
)
_SHORTEST_LINE: Final = 3
"""Blanks in a line without a label; shorter ones, such as greetings, recur by themselves."""
_LONGEST_LINE: Final = 600
_MOST_LINES: Final = 512
_MOST_READ: Final = 32_768
_HALVED_AT: Final = 1_000
_OPTIONAL_FROM: Final = 0.4
_Z: Final = 2.0
_WHOLE_LINE: Final = 0.9


def lower_bound(hits: float, trials: float) -> float:
    """Lower end of the Wilson interval for a share at two standard errors; 0 without trials."""
    if trials <= 0:
        return 0.0
    share = min(hits / trials, 1.0)
    spread = _Z * math.sqrt(share * (1 - share) / trials + _Z * _Z / (4 * trials * trials))
    return (share + _Z * _Z / (2 * trials) - spread) / (1 + _Z * _Z / trials)


class RecurringLines:
    """Counts in how many requests a line, or the label it begins with, stood in a gap.

    A line that more than 40 % of the requests have for certain is an optional section of the
    template. An article of the knowledge base in 30 % of the requests is not, nor is a label that
    one request has several times (the speakers of a transcript).
    """

    def __init__(self) -> None:
        self._requests = 0.0
        self._counts: dict[str, float] = {}
        self._repeats: dict[str, float] = {}

    def observe(self, text: str, spans: Iterable[Span]) -> None:
        """Count the lines of one request's gaps, each once."""
        seen: dict[str, int] = {}
        for _, units in _lines(text, spans):
            for unit in units:
                seen[unit] = seen.get(unit, 0) + 1
        self._requests += 1
        for unit, times in seen.items():
            self._counts[unit] = self._counts.get(unit, 0) + 1
            if times > 1:
                self._repeats[unit] = self._repeats.get(unit, 0) + 1
        if len(self._counts) > _MOST_LINES:
            kept = sorted(self._counts.items(), key=lambda item: -item[1])[: _MOST_LINES // 2]
            self._counts = dict(kept)
        if self._requests >= _HALVED_AT:
            self._requests /= 2
            self._counts = {unit: count / 2 for unit, count in self._counts.items() if count > 1}
            self._repeats = {unit: count / 2 for unit, count in self._repeats.items()}
        self._repeats = {unit: count for unit, count in self._repeats.items() if unit in self._counts}

    def credit(self, fragment: str, requests: int) -> None:
        """Remember that a fragment which turned out to be optional stood in so many requests."""
        self._requests = max(self._requests, requests)
        for _, units in _lines(fragment, [Span(0, len(fragment))]):
            for unit in units:
                self._counts[unit] = self._counts.get(unit, 0) + requests

    def sections(self, text: str, spans: Iterable[Span]) -> list[Span]:
        """The stretches of a request's gaps that are optional sections of the template, in order."""
        found: list[Span] = []
        for line, units in _lines(text, spans):
            whole = units[-1]
            if len(units) == 1:
                if self._recurs(whole):
                    found.append(line)
                continue
            label = units[0]
            if self._recurs(label):
                constant = self._counts.get(whole, 0) >= _WHOLE_LINE * self._counts[label]
                begin = text.index(label, line.start)
                found.append(line if constant else Span(line.start, begin + len(label)))
        return found

    def _recurs(self, unit: str) -> bool:
        count = self._counts.get(unit, 0.0)
        return (
            lower_bound(count, self._requests) > _OPTIONAL_FROM
            and self._repeats.get(unit, 0.0) <= 0.1 * count
        )

    def state(self) -> dict[str, object]:
        """For a snapshot: the lines that are template; the others are somebody's input."""
        return {
            "requests": self._requests,
            "counts": {unit: count for unit, count in self._counts.items() if self._recurs(unit)},
        }

    @classmethod
    def of(cls, requests: float, counts: Mapping[str, float]) -> RecurringLines:
        """From the parts of `state`."""
        lines = cls()
        lines._requests = requests
        lines._counts = dict(counts)
        return lines


def _lines(text: str, spans: Iterable[Span]) -> list[tuple[Span, Sequence[str]]]:
    """The full lines of the spans, with what each is counted as: its label, if any, and itself."""
    found: list[tuple[Span, Sequence[str]]] = []
    for span in spans:
        # Only lines that begin in the gap: what follows a fragment on its line is a field's value.
        start = span.start if span.start == 0 or text[span.start - 1] in "\n\x02" else -1
        if start < 0:
            start = text.find("\n", span.start, span.end) + 1
            if start == 0:
                continue
        limit = min(span.end, start + _MOST_READ)
        for match in _LINE.finditer(text, start, limit):
            label, line = match["label"], match[0].strip()
            if not line:
                continue
            end = match.end()
            extent = Span(match.start(), end + 1 if end < span.end and text[end] == "\n" else end)
            if label is not None:
                found.append((extent, (label, label + "\n" + line[:_LONGEST_LINE])))
            elif line.count(" ") >= _SHORTEST_LINE:
                found.append((extent, (line[:_LONGEST_LINE],)))
    return found


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
        return words_fixed(self.skeletons)

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


def words_fixed(skeletons: Sequence[Skeleton]) -> int:
    """Words that a template's fragments hold."""
    return sum(map(fixed_words, skeletons))


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
