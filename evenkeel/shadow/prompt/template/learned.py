"""Learned template of one message: its skeleton, and the texts that show how it changes."""

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
    START,
    Skeleton,
    fixed_words,
    gaps,
    place,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

# Share of a template's words that one of its texts must have, in order.
_SHARED_AT_LEAST: Final = 0.5
# Fewest texts of a template.
_FEWEST: Final = 6
# Different texts that a user's message needs: one that is sent again and again is no template.
_DIFFERENT: Final = 4
# Words from which a user's messages share a template. With fewer, nearly all of them must: questions of a
# few patterns ("How do I … my account?") are nobody's template.
_LONG_TEMPLATE: Final = 12
# Least share of the texts: below, and from `_LONG_TEMPLATE` words on or in a system message.
_SHARES: Final = (0.8, 0.1)
# Texts before a template has a fingerprint.
_NAMED_FROM: Final = 20
# Different texts in a row that begin or end a value with new words, which are template then.
_RUN: Final = 5
# Different texts in a row that miss the same words and have the same others instead.
_EDITED_AFTER: Final = 4
_MOST_MISSED: Final = 12
# Fewest new words that make a second wording beside the first. Fewer are a field with few values.
_PARALLEL_WORDS: Final = 3
# Texts after which words that vanish were template, not a value that recurred.
_LONG_CONSTANT: Final = 40
# Values seen at each input are remembered to tell a constant from an input.
_MOST_VALUES: Final = 1_024


@dataclass(slots=True, eq=False)
class LearnedTemplate:
    """Knowledge about one template. Its texts are padded, long ones condensed."""

    skeleton: Skeleton
    of_system: bool
    """True for a system message. An application repeats it; what a user repeats shows nothing."""
    born: int
    """Number of the text that began it, among those of its slot."""
    last: int
    """Number of the text that fitted last."""
    seen: int = 1
    """Texts that fitted, identical ones included."""
    support: int = 1
    """Texts that fitted, without those that a user repeated."""
    fingerprint: str | None = None
    """Given once, and kept even if a later text shows that some words are a field."""
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=_RUN))
    """The last different texts that fitted; their values are not among `values` yet."""
    values: dict[str, None] = field(default_factory=dict)
    """Words at the ends of values, by which chance agreement of a few texts is recognised."""
    missed: list[str] = field(default_factory=list)
    """Different texts that almost fitted a template with a fingerprint."""
    in_a_row: int = 0
    """Number of the last of `missed` since which no text fitted."""

    def merged(self, text: str) -> Skeleton:
        """Return the skeleton that remains if this text belongs to the template too."""
        return _merged(self.skeleton, text, trusted=self.fingerprint is not None)

    def fit(self, text: str, number: int) -> LearnedTemplate | None:
        """Add a text that fits. Return the template with added words, if there are any."""
        self.seen += 1
        self.last = number
        self.in_a_row = 0
        if text in self.recent and not self.of_system:
            return None
        self.support += 1
        if len(self.recent) == _RUN:
            self._remember_values(self.recent[0])
        self.recent.append(text)
        if self.fingerprint is None or len(self.recent) < _RUN:
            return None
        return self._successor(list(self.recent), number, fewest_words=1)

    def miss(self, text: str, merged: Skeleton, number: int) -> LearnedTemplate | None:
        """Add a text that misses some words. Return the edited template, if there is one.

        Args:
            text: One that does not fit.
            merged: What it leaves of the skeleton.
            number: Of the text among those of its slot.
        """
        if self.fingerprint is None:
            self.skeleton = merged
            self.fit(text, number)
            return None
        if text in self.missed and not self.of_system:
            return None
        self.missed.append(text)
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
                if self.shares_enough(left):
                    self.skeleton = left
        return successor

    def shares_enough(self, left: Skeleton) -> bool:
        """Return whether enough words remain for a text to belong to the template."""
        return fixed_words(left) >= _SHARED_AT_LEAST * fixed_words(self.skeleton)

    def is_known(self, texts: int) -> bool:
        """Return whether the template is no chance likeness of some texts.

        Args:
            texts: Number of the texts of its slot so far.
        """
        if self.fingerprint is not None:
            return True
        words = fixed_words(self.skeleton)
        if not words or (not self.of_system and self.support < _DIFFERENT):
            return False
        share = _SHARES[self.of_system or words >= _LONG_TEMPLATE]
        return self.seen >= max(_FEWEST, share * (texts - self.born + 1))

    def name_if_proved(self) -> None:
        """Give the template its fingerprint once it was seen often enough."""
        if self.fingerprint is None and self.seen >= _NAMED_FROM:
            self.fingerprint = _fingerprint(self.skeleton)

    def _successor(
        self, texts: Sequence[str], number: int, *, fewest_words: int, replaces: bool = False
    ) -> LearnedTemplate | None:
        """Return the template of another wording; None if the texts do not show one.

        Args:
            texts: Different ones that share the new words, if there are any.
            number: Of the last one.
            fewest_words: Fewest new words that count.
            replaces: The old wording did not come between them, so words may also have been removed.
        """
        left = self.skeleton
        for text in texts:
            left = _merged(left, text, trusted=True)
        if not self.shares_enough(left):
            return None
        skeleton = with_new_words(self.skeleton, left, texts, self.values.keys())
        new = fixed_words(skeleton) >= fixed_words(left) + fewest_words
        removed = replaces and (
            len(skeleton) < len(left)
            or (self.support >= _LONG_CONSTANT and len({self.merged(text) for text in texts}) == 1)
        )
        fingerprint = _fingerprint(skeleton)
        if not (new or removed) or fingerprint == self.fingerprint:
            return None
        successor = LearnedTemplate(skeleton, self.of_system, number - len(texts) + 1, number)
        successor.fingerprint = fingerprint
        successor.values = dict(self.values)
        successor.seen = successor.support = len(texts)
        successor.recent.extend(texts)
        return successor

    def _remember_values(self, text: str) -> None:
        for gap in gaps(place(self.skeleton, text) or ()):
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
            "skeleton": list(self.skeleton),
            "born": self.born,
            "last": self.last,
            "seen": self.seen,
            "support": self.support,
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], *, of_system: bool) -> LearnedTemplate:
        """Restore a template from its `state`.

        Raises: KeyError, TypeError, ValueError and the like if it is damaged.
        """
        skeleton = tuple(map(str, state["skeleton"]))
        if not skeleton or not skeleton[0].startswith(START) or not skeleton[-1].endswith(END):
            raise ValueError("a template without its ends")
        template = cls(skeleton, of_system, int(state["born"]), int(state["last"]))
        template.seen, template.support = int(state["seen"]), int(state["support"])
        template.fingerprint = str(state["fingerprint"])
        return template


def _merged(skeleton: Skeleton, text: str, *, trusted: bool) -> Skeleton:
    return skeleton if place(skeleton, text) is not None else merge(skeleton, text, trusted=trusted)


def _fingerprint(skeleton: Skeleton) -> str:
    """Return sixteen hex digits that name a template by its text alone.

    Marks and blanks next to a gap are left out: whether they belong to the template or to what fills
    the gap depends on the values that happened to come.
    """
    cores = [core for core in map(_core, skeleton) if core]
    return hashlib.sha256(json.dumps(cores).encode()).hexdigest()[:16]


def _core(fragment: str) -> str:
    begin, end = 0, len(fragment)
    while begin < end and not fragment[begin].isalnum():
        begin += 1
    while end > begin and not fragment[end - 1].isalnum():
        end -= 1
    return fragment[begin:end]
