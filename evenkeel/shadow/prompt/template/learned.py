"""Learned template of one message: its skeleton, and the texts that show how it changes.

The second half aligns a skeleton with another text, and finds the common text in the gaps of several.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rapidfuzz.distance import LCSseq

from evenkeel.shadow.prompt.template.skeleton import (
    EDGE,
    END,
    GAP,
    NOTHING_FIXED,
    START,
    UNREAD,
    Skeleton,
    fixed_words,
    gaps,
    is_word,
    place,
    readable,
    token_stretches,
    tokens,
    word_count,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

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
        skeleton = _with_new_words(self.skeleton, left, texts, self.values.keys())
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
    return skeleton if place(skeleton, text) is not None else _aligned(skeleton, text, trusted=trusted)


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


# Pairs of tokens; larger stretches are compared at their ends only.
_LARGEST_TABLE: Final = 400_000
# Tokens, blanks included.
_LONGEST_LABEL: Final = 12
# Words of a line that may be matched as a whole.
_SHORTEST_LINE: Final = 2
# Words that a run needs to be believed: shorter ones agree by chance.
_STRONG_WORDS: Final = 3
_WEAK_WORDS: Final = 2
# Tokens from which a line by itself, such as "---", parts two pieces.
_DELIMITER: Final = 3


class _Run(NamedTuple):
    """Tokens that two sequences share without a break."""

    left: int
    right: int
    size: int


def _aligned(skeleton: Skeleton, text: str, *, trusted: bool = False) -> Skeleton:
    """Return the fragments, or parts of them, that occur in the text in the same order.

    Common words that stand by themselves are left out: they are chance.

    Args:
        skeleton: Of the other requests.
        text: Padded.
        trusted: The fragments are known to be template, so two words of one are enough.
    """
    left = token_stretches(list(skeleton), GAP)
    right = token_stretches(readable(text), UNREAD)
    kept = _significant(_shared(left, right), left, right, strong_words=2 if trusted else _STRONG_WORDS)
    fragments = tuple("".join(left[run.left : run.left + run.size]) for run in kept)
    if not fragments or not fragments[0].startswith(START) or not fragments[-1].endswith(END):
        return NOTHING_FIXED
    return fragments if trusted else _unrepeated(fragments, text)


def _unrepeated(fragments: Skeleton, text: str) -> Skeleton:
    """Return a skeleton without short fragments that the text repeats, such as speakers' labels."""
    own = "\n".join(fragments)
    first, *inner, last = fragments
    kept: list[str] = []
    for fragment in inner:
        core = fragment.strip()
        if word_count(fragment) > _WEAK_WORDS or text.count(core) <= own.count(core):
            kept.append(fragment)
    return (first, *kept, last)


def _shared(left: Sequence[str], right: Sequence[str]) -> list[_Run]:
    """Return runs of tokens shared in order, neighbours joined: labels and lines first, then the rest."""
    ours, theirs = _landmarks(left), _landmarks(right)
    runs: list[_Run] = []
    a = b = 0
    lines = list(ours)
    for step in LCSseq.opcodes(lines, list(theirs)):
        for line in lines[step.src_start : step.src_end] if step.tag == "equal" else ():
            start, other = ours[line], theirs[line]
            runs += _token_runs(left, a, start, right, b, other)
            runs.append(_Run(start, other, len(line)))
            a, b = start + len(line), other + len(line)
    runs += _token_runs(left, a, len(left), right, b, len(right))
    joined: list[_Run] = []
    for run in runs:
        last = joined[-1] if joined else None
        if last is not None and (last.left + last.size, last.right + last.size) == (run.left, run.right):
            joined[-1] = _Run(last.left, last.right, last.size + run.size)
        elif run.size:
            joined.append(run)
    return joined


def _landmarks(side: Sequence[str]) -> dict[tuple[str, ...], int]:
    """Return the positions of labels and of lines of some words, those that begin exactly one line.

    A line with a label counts by that alone: what stands behind it may be a value.
    """
    starts = [0, *(at + 1 for at, token in enumerate(side) if token in {"\n", GAP, UNREAD}), len(side)]
    landmarks: dict[tuple[str, ...], int] = {}
    twice: set[tuple[str, ...]] = set()
    for begin, stop in pairwise(starts):
        line = tuple(side[begin:stop])
        head = line[:_LONGEST_LABEL]
        if ":" in head[1:]:
            line = head[: head.index(":", 1) + 1]
        elif {GAP, UNREAD} & set(line) or sum(map(is_word, line)) < _SHORTEST_LINE:
            continue
        if line in landmarks:
            twice.add(line)
        landmarks[line] = begin
    return {line: at for line, at in landmarks.items() if line not in twice}


def _token_runs(
    left: Sequence[str], a: int, a_end: int, right: Sequence[str], b: int, b_end: int
) -> list[_Run]:
    """Return the runs that two stretches begin and end with, and those between, if that is not too much."""
    head = 0
    while a + head < a_end and b + head < b_end and left[a + head] == right[b + head]:
        head += 1
    a, b = a + head, b + head
    tail = 0
    while a_end > a and b_end > b and left[a_end - 1] == right[b_end - 1]:
        a_end, b_end, tail = a_end - 1, b_end - 1, tail + 1
    runs = [_Run(a - head, b - head, head)]
    if (a_end - a) * (b_end - b) <= _LARGEST_TABLE:
        for step in LCSseq.opcodes(left[a:a_end], right[b:b_end]):
            if step.tag == "equal":
                runs.append(_Run(a + step.src_start, b + step.dest_start, step.src_end - step.src_start))
    return [*runs, _Run(a_end, b_end, tail)]


def _significant(
    runs: Sequence[_Run], left: Sequence[str], right: Sequence[str], *, strong_words: int
) -> list[_Run]:
    """Return the runs that are not chance: strong ones, and those with a word on the line of a strong one."""
    pieces = [left[run.left : run.left + run.size] for run in runs]
    strong = [_is_strong(piece, strong_words) for piece in pieces]
    beside = [False] * len(runs)
    for number, (before, after) in enumerate(pairwise(runs)):
        if _same_line(before, after, left, right):
            beside[number] = beside[number] or strong[number + 1]
            beside[number + 1] = strong[number]
    kept: list[_Run] = []
    for number, run in enumerate(runs):
        if strong[number] or (beside[number] and any(map(is_word, pieces[number]))):
            kept.append(run)
    return kept


def _is_strong(run: Sequence[str], strong_words: int) -> bool:
    if run[0] == START or run[-1] == END:
        return True
    words = sum(map(is_word, run))
    if words >= strong_words:
        return True
    if not words:
        return "\n" in run and sum(not token.isspace() for token in run) >= _DELIMITER
    # A label, or the beginning or end of a tag, on a line of its own.
    starts_line = "\n" in run and run.index("\n") < len(run) - 1
    return starts_line and any(token in {":", "<", ">", "#"} for token in run)


def _same_line(before: _Run, after: _Run, left: Sequence[str], right: Sequence[str]) -> bool:
    return "\n" not in left[before.left + before.size : after.left] and (
        "\n" not in right[before.right + before.size : after.right]
    )


def _with_new_words(
    before: Skeleton, left: Skeleton, texts: Sequence[str], values: Collection[str]
) -> Skeleton:
    """Return what is left of a skeleton, with the words that all of some texts have in its gaps.

    Args:
        before: The skeleton so far.
        left: What is left of it in all texts.
        texts: Padded.
        values: Words that stood in gaps before. A few requests that agree on such words show a value that
            recurs, and no new words of the template.
    """
    spans = [place(left, text) for text in texts]
    between = []
    for span in spans:
        if span is not None:
            between.append(gaps(span))
    if len(between) < len(texts):
        return left
    pieces = [left[0]]
    for number, (head, following) in enumerate(pairwise(left)):
        filled = []
        for text, at in zip(texts, between, strict=True):
            filled.append(text[at[number].start : at[number].end])
        if len(set(filled)) == 1 and any(_holds(fragment, head, following) for fragment in before):
            # An edit inside a fragment: its words were replaced, or there are none any more.
            pieces[-1] += filled[0] + following
            continue
        begins, ends = _alike(filled, values)
        pieces[-1] += begins
        pieces.append(ends + following)
    return tuple(pieces)


def _holds(fragment: str, head: str, following: str) -> bool:
    at = fragment.find(head)
    return at >= 0 and fragment.find(following, at + len(head)) >= 0


# Fewest words that count as new beside a gap. Values that begin or end with the same word are ordinary.
_FEWEST_NEW: Final = 2


def _alike(filled: Sequence[str], values: Collection[str]) -> tuple[str, str]:
    """Return the words that all texts begin with and that all end with, none of them known as a value."""
    heads = [tokens(text[:EDGE]) for text in filled]
    tails = [tokens(text[-EDGE:])[::-1] for text in filled]
    begins = _shared_start(heads, values)
    ends = _shared_start(tails, values)[::-1]
    if "\n" in ends:
        # The marks before an added line end a value.
        ends = ends[ends.index("\n") :]
    if begins == heads[0] and len(filled[0]) <= EDGE:
        ends = []
    anchors = []
    for words in (begins, ends):
        anchors.append("".join(words) if sum(map(is_word, words)) >= _FEWEST_NEW else "")
    return anchors[0], anchors[1]


def _shared_start(sides: Sequence[Sequence[str]], values: Collection[str]) -> list[str]:
    shared: list[str] = []
    for column in zip(*sides, strict=False):
        if len(set(column)) > 1 or column[0] in values:
            break
        shared.append(column[0])
    return shared
