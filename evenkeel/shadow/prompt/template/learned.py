"""Learned template: its skeletons, and the requests that show how they change."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.prompt.template.alignment import merge, with_new_words
from evenkeel.shadow.prompt.template.skeleton import (
    EDGE,
    END,
    NOTHING_FIXED,
    START,
    Skeleton,
    fixed_characters,
    fixed_words,
    gaps,
    place,
    whole,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.segments import Span

Texts = tuple[str, ...]
"""The padded texts of a request that may carry template, in order, long ones condensed."""
Shape = tuple[str, ...]
"""Roles of the texts. All requests of one template have the same."""

SYSTEM: Final = frozenset({"system", "developer"})
SHARED_AT_LEAST: Final = 0.5
"""Share of a template's words that one of its requests must have, in order."""
# Requests before a template has a fingerprint.
_NAMED_FROM: Final = 16
# Requests without a change before it has one; `_NAMED_AT_LATEST` bounds the wait.
_UNCHANGED_FOR: Final = 8
# Requests after which a template gets its version even if it still changes.
_NAMED_AT_LATEST: Final = 30
# Different requests that a user's message needs: one that is sent again and again is no template.
_DIFFERENT: Final = 4
# Words from which a user's messages share a template. With fewer, nearly all requests of the route must:
# questions of a few patterns ("How do I … my account?") are nobody's template.
_LONG_TEMPLATE: Final = 12
# Least share of a route's requests: below, and from `_LONG_TEMPLATE` words on or with a system message.
_SHARES: Final = (0.8, 0.1)
# Different requests in a row that begin or end a value with new words, which are template then.
_RUN: Final = 5
# Different requests in a row that miss the same words and have the same others instead.
_EDITED_AFTER: Final = 4
_MOST_MISSED: Final = 12
# Fewest new words that make a second wording beside the first. Fewer are a field with few values.
_PARALLEL_WORDS: Final = 3
# Requests after which words that vanish were template, not a value that recurred.
_LONG_CONSTANT: Final = 40
# Values seen at each input are remembered to tell a constant from an input.
_MOST_VALUES: Final = 1_024


@dataclass(slots=True, eq=False)
class LearnedTemplate:
    """Knowledge about one template of a route."""

    shape: Shape
    skeletons: tuple[Skeleton, ...]
    born: int
    """Number of the route's request that began it."""
    last: int
    """Number of the route's request that fitted last."""
    seen: int = 1
    """Requests that fitted, identical ones included."""
    support: int = 1
    """Requests that fitted and differed from the last few."""
    unchanged: int = 0
    """Requests since the skeletons were last refined."""
    fingerprint: str | None = None
    """Given once, and kept even if a later request shows that some words are a field."""
    recent: deque[Texts] = field(default_factory=lambda: deque(maxlen=_RUN))
    """The last different requests that fitted; their values are not among `values` yet."""
    values: dict[str, None] = field(default_factory=dict)
    """Words at the ends of values, by which chance agreement of a few requests is recognised."""
    missed: list[Texts] = field(default_factory=list)
    """Different requests that almost fitted a template with a fingerprint."""
    in_a_row: int = 0
    """Number of the last of `missed` since which no request fitted."""

    @classmethod
    def of(cls, shape: Shape, texts: Texts, number: int) -> LearnedTemplate:
        """Return the template of a single request."""
        return cls(shape, tuple(map(whole, texts)), number, number, recent=deque([texts], _RUN))

    @classmethod
    def of_repeats(cls, shape: Shape, texts: Texts, number: int, times: int) -> LearnedTemplate:
        """Return the template of a request that came again and again: its system messages."""
        template = cls.of(shape, texts, number)
        # What a user sends again and again is no template, however often it comes.
        skeletons: list[Skeleton] = []
        for role, skeleton in zip(shape, template.skeletons, strict=True):
            skeletons.append(skeleton if role in SYSTEM else NOTHING_FIXED)
        template.skeletons = tuple(skeletons)
        template.seen = template.unchanged = times
        return template

    @property
    def fixed_words(self) -> int:
        """Words of the template."""
        return words_fixed(self.skeletons)

    @property
    def fixed_characters(self) -> int:
        """Characters of the template."""
        return sum(map(fixed_characters, self.skeletons))

    def placed(self, texts: Texts) -> list[list[Span]] | None:
        """Return the template's spans in each text; None if the request does not fit."""
        return place_all(self.skeletons, texts)

    def merged(self, texts: Texts) -> tuple[Skeleton, ...]:
        """Return the skeletons that remain if this request belongs to the template too."""
        return merged_all(self.skeletons, texts, trusted=self.fingerprint is not None)

    def is_known(self, requests: int) -> bool:
        """Return whether the template is no chance likeness of some messages.

        Args:
            requests: Number of the route's requests so far.
        """
        if self.fingerprint is not None:
            return True
        of_system = False
        for role, skeleton in zip(self.shape, self.skeletons, strict=True):
            of_system = of_system or (role in SYSTEM and fixed_words(skeleton) > 0)
        if not of_system and self.support < _DIFFERENT:
            return False
        needed = _SHARES[of_system or self.fixed_words >= _LONG_TEMPLATE]
        return self.fixed_words > 0 and self.seen >= max(6, needed * (requests - self.born + 1))

    def is_settled(self) -> bool:
        """Return whether the template was seen often enough, without a change, to have a fingerprint."""
        return self.seen >= _NAMED_FROM and (
            self.unchanged >= _UNCHANGED_FOR or self.seen >= _NAMED_AT_LATEST
        )

    def name(self) -> None:
        """Give the template its fingerprint."""
        self.fingerprint = fingerprint(self.shape, self.skeletons)

    def fit(self, texts: Texts, number: int) -> LearnedTemplate | None:
        """Add a request that fits. Return the template with added words, if there are any."""
        self.seen += 1
        self.unchanged += 1
        self.last = number
        self.in_a_row = 0
        if texts in self.recent:
            return None
        self.support += 1
        if len(self.recent) == _RUN:
            self._remember_values(self.recent[0])
        self.recent.append(texts)
        if self.fingerprint is None or len(self.recent) < _RUN:
            return None
        return self._successor(list(self.recent), number, fewest_words=1)

    def miss(self, texts: Texts, merged: tuple[Skeleton, ...], number: int) -> LearnedTemplate | None:
        """Add a request that misses some words. Return the edited template, if there is one.

        Args:
            texts: Of the request.
            merged: What it leaves of the skeletons.
            number: Of the request among the route's.
        """
        if self.fingerprint is None:
            self.refine(merged)
            self.fit(texts, number)
            return None
        if texts in self.missed:
            return None
        self.missed.append(texts)
        self.in_a_row += 1
        successor = None
        if self.in_a_row >= _EDITED_AFTER:
            successor = self._successor(self.missed[-_EDITED_AFTER:], number, fewest_words=1, replaces=True)
        elif len(self.missed) >= _MOST_MISSED:
            # Two wordings beside each other. A few words that differ are a field's values.
            successor = self._successor(self.missed, number, fewest_words=_PARALLEL_WORDS)
        if successor is not None or len(self.missed) >= _MOST_MISSED:
            missed, self.missed, self.in_a_row = self.missed, [], 0
            for other in missed if successor is None else ():
                left = self.merged(other)
                if words_fixed(left) >= SHARED_AT_LEAST * self.fixed_words:
                    self.refine(left)
        return successor

    def refine(self, skeletons: tuple[Skeleton, ...]) -> None:
        """Replace the skeletons by those that more requests have shown."""
        if skeletons != self.skeletons:
            self.skeletons = skeletons
            self.unchanged = 0

    def _successor(
        self, requests: Sequence[Texts], number: int, *, fewest_words: int, replaces: bool = False
    ) -> LearnedTemplate | None:
        """Return the template of another wording; None if the requests do not show one.

        Args:
            requests: Different ones that share the new words, if there are any.
            number: Of the last one.
            fewest_words: Fewest new words that count.
            replaces: The old wording did not come between them, so words may also have been removed.
        """
        columns = list(zip(*requests, strict=True))
        left = self.skeletons
        for texts in requests:
            left = merged_all(left, texts, trusted=True)
        if words_fixed(left) < SHARED_AT_LEAST * self.fixed_words:
            return None
        added: list[Skeleton] = []
        for before, after, column in zip(self.skeletons, left, columns, strict=True):
            added.append(with_new_words(before, after, column, self.values.keys()))
        skeletons = tuple(added)
        new = words_fixed(skeletons) >= words_fixed(left) + fewest_words
        removed = replaces and (
            sum(map(len, skeletons)) < sum(map(len, left))
            or (self.support >= _LONG_CONSTANT and len({self.merged(texts) for texts in requests}) == 1)
        )
        successor = LearnedTemplate(self.shape, skeletons, number - len(requests) + 1, number)
        successor.name()
        if not (new or removed) or successor.fingerprint == self.fingerprint:
            return None
        successor.values = dict(self.values)
        successor.seen = successor.support = len(requests)
        successor.recent.extend(requests)
        return successor

    def _remember_values(self, texts: Texts) -> None:
        for text, spans in zip(texts, self.placed(texts) or (), strict=False):
            for gap in gaps(spans):
                value = text[gap.start : gap.end]
                for word in (*words_of(value[:EDGE]), *words_of(value[-EDGE:])):
                    # Again at the end of the order: what was seen lately is forgotten last.
                    self.values.pop(word, None)
                    self.values[word] = None
        while len(self.values) > _MOST_VALUES:
            del self.values[next(iter(self.values))]

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
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> LearnedTemplate:
        """Restore a template from its `state`.

        Raises: KeyError, TypeError, ValueError and the like if it is damaged.
        """
        skeletons = tuple(tuple(map(str, skeleton)) for skeleton in state["skeletons"])
        template = cls(tuple(map(str, state["shape"])), skeletons, int(state["born"]), int(state["last"]))
        template.seen, template.support = int(state["seen"]), int(state["support"])
        template.fingerprint = str(state["fingerprint"])
        for skeleton in skeletons:
            if not skeleton or not skeleton[0].startswith(START) or not skeleton[-1].endswith(END):
                raise ValueError("a template without its ends")
        if len(template.shape) != len(skeletons):
            raise ValueError("a template with more roles than texts, or fewer")
        return template


def place_all(skeletons: Sequence[Skeleton], texts: Texts) -> list[list[Span]] | None:
    """Return the spans of the skeletons in their texts, None if one does not fit."""
    places_of_all: list[list[Span]] = []
    for skeleton, text in zip(skeletons, texts, strict=True):
        spans = place(skeleton, text)
        if spans is None:
            return None
        places_of_all.append(spans)
    return places_of_all


def merged_all(skeletons: Sequence[Skeleton], texts: Texts, *, trusted: bool) -> tuple[Skeleton, ...]:
    """Return what of the skeletons occurs in their texts, as `merge` does for one of them."""
    merged: list[Skeleton] = []
    for skeleton, text in zip(skeletons, texts, strict=True):
        fits = place(skeleton, text) is not None
        merged.append(skeleton if fits else merge(skeleton, text, trusted=trusted))
    return tuple(merged)


def words_fixed(skeletons: Sequence[Skeleton]) -> int:
    """Return the number of words that a template's fragments hold."""
    return sum(map(fixed_words, skeletons))


def fingerprint(shape: Shape, skeletons: Sequence[Skeleton]) -> str:
    """Return sixteen hex digits that name a template by its text alone.

    Marks and blanks next to a gap are left out: whether they belong to the template or to what fills
    the gap depends on the values that happened to come.
    """
    texts = []
    for role, skeleton in zip(shape, skeletons, strict=True):
        texts.append([role, [core for fragment in skeleton if (core := _core(fragment))]])
    written = json.dumps(texts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()[:16]


def _core(fragment: str) -> str:
    begin, end = 0, len(fragment)
    while begin < end and not fragment[begin].isalnum():
        begin += 1
    while end > begin and not fragment[end - 1].isalnum():
        end -= 1
    return fragment[begin:end]
