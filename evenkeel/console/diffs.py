"""Word differences between two texts, as runs a template can mark.

Computed on the server, so the page needs no script to show them, and capped, because the cost of a
word diff grows faster than the texts and the page has a weight budget.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, NamedTuple

from evenkeel.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Kind = Literal["same", "removed", "added", "gap"]

MAX_WORDS = 2500
"""Words per side that are compared; the rest is shown unmarked."""

# Characters a side that are split into words. More than a replay's prompt can have: `evenkeel.shadow.limits`.
_MOST_CHARS = 400_000

# Shortest gap in words: a gap that hides fewer is not worth its dots.
_GAP_WORDS = 3

_WORD = re.compile(r"(\w+(?:['’]\w+)*|[^\w\s])(\s*)|(\s+)")
_MARKS = str.maketrans({" ": "·", "\t": "⇥", "\u00a0": "⍽"})


class DiffRun(NamedTuple):
    """A stretch of text that is the same, removed, added, or a gap ("…") left out for length."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Two texts, each with the words marked that the other lacks."""

    left: tuple[DiffRun, ...]
    """Runs of kind `same` and `removed`."""
    right: tuple[DiffRun, ...]
    """Runs of kind `same` and `added`."""


class _Word(NamedTuple):
    text: str
    """The word or punctuation mark itself."""
    space: str
    """White space that follows it."""


def inline(before: str, after: str, *, context_words: int, max_chars: int) -> tuple[DiffRun, ...]:
    """Merge two texts into one that marks removals and additions and shortens unchanged stretches to a gap.

    Changed white space is made visible (· space, ⇥ tab, ↵ line break). Texts that are equal give
    one `same` run, cut at `max_chars`.

    Args:
        before: the original.
        after: the changed text.
        context_words: unchanged words kept on each side of a change.
        max_chars: characters after which the output ends in a gap.
    """
    # Nothing to mark, and no words to split: a control's prompt may be very long.
    if before == after:
        return cut([DiffRun("same", before)], max_chars)
    runs: list[DiffRun] = []
    blocks = list(_opcodes(_words(before), _words(after), spaces=True))
    for index, (tag, old, new) in enumerate(blocks):
        if tag == "equal":
            before_change = context_words if index < len(blocks) - 1 else 0
            runs.extend(_shortened(old, context_words if index else 0, before_change))
        else:
            runs.extend(_replaced(old, new))
    return cut(_merged(runs), max_chars)


def side_by_side(left: str, right: str, *, max_chars: int) -> SideBySide:
    """Return both texts in full (up to `max_chars` per side), each with its own words marked.

    White space is ignored: two answers that only break lines differently are the same.
    """
    a, b = _words(left), _words(right)
    left_runs: list[DiffRun] = []
    right_runs: list[DiffRun] = []
    for tag, old, new in _opcodes(a, b, spaces=False):
        same = tag == "equal"
        left_runs.append(_side(old, "same" if same else "removed"))
        right_runs.append(_side(new, "same" if same else "added"))
    return SideBySide(cut(_merged(left_runs), max_chars), cut(_merged(right_runs), max_chars))


def _words(text: str) -> list[_Word]:
    words = []
    for word, space, lead in _WORD.findall(text[:_MOST_CHARS]):
        words.append(_Word(word, space + lead))
    return [*words, _Word(text[_MOST_CHARS:], "")] if len(text) > _MOST_CHARS else words


def _opcodes(
    a: list[_Word], b: list[_Word], *, spaces: bool
) -> Iterable[tuple[str, Sequence[_Word], Sequence[_Word]]]:
    """Yield blocks of equal and of different words; words beyond the cap count as equal."""
    # Perturbed prompts share long ends with the original: taking those off first keeps the
    # quadratic part small.
    keys_a = [word if spaces else word.text for word in a]
    keys_b = [word if spaces else word.text for word in b]
    shorter = min(len(a), len(b))
    start = 0
    while start < shorter and keys_a[start] == keys_b[start]:
        start += 1
    end = 0
    while end < shorter - start and keys_a[-1 - end] == keys_b[-1 - end]:
        end += 1
    stop_a, stop_b = len(a) - end, len(b) - end
    if start:
        yield "equal", a[:start], b[:start]
    cap_a, cap_b = min(stop_a, start + MAX_WORDS), min(stop_b, start + MAX_WORDS)
    matcher = SequenceMatcher(None, keys_a[start:cap_a], keys_b[start:cap_b])
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        yield tag, a[start + i1 : start + i2], b[start + j1 : start + j2]
    if cap_a < len(a) or cap_b < len(b):
        yield "equal", a[cap_a:], b[cap_b:]


def _side(words: Sequence[_Word], kind: Kind) -> DiffRun:
    text = _joined(words)
    # White space alone is never marked: a new line break is no difference between answers.
    return DiffRun(kind if text.strip() else "same", text)


def _joined(words: Sequence[_Word]) -> str:
    return "".join(word.text + word.space for word in words)


def _shortened(words: Sequence[_Word], head: int, tail: int) -> list[DiffRun]:
    """Shorten an unchanged stretch to `head` words of its start, a gap, and `tail` words of its end."""
    if len(words) <= head + tail + _GAP_WORDS:
        return [DiffRun("same", _joined(words))]
    return [
        DiffRun("same", _joined(words[:head])),
        DiffRun("gap", " … " if head and tail else "… " if tail else " …"),
        DiffRun("same", _joined(words[len(words) - tail :])),
    ]


def _replaced(old: Sequence[_Word], new: Sequence[_Word]) -> list[DiffRun]:
    """Mark words as removed and added; word by word if both sides have as many, to keep pairs together."""
    if len(old) != len(new):
        return [DiffRun("removed", _visible(_joined(old))), DiffRun("added", _visible(_joined(new)))]
    runs: list[DiffRun] = []
    for before, after in zip(old, new, strict=True):
        if before.text == after.text:
            runs.append(DiffRun("same", before.text))
        else:
            runs += [DiffRun("removed", before.text), DiffRun("added", after.text)]
        if before.space == after.space:
            runs.append(DiffRun("same", before.space))
        else:
            runs += [DiffRun("removed", _marked(before.space)), DiffRun("added", _marked(after.space))]
    return runs


def _visible(text: str) -> str:
    return text if text.strip() else _marked(text)


def _marked(space: str) -> str:
    return space.translate(_MARKS).replace("\r", "").replace("\n", "↵\n")


def _merged(runs: Iterable[DiffRun]) -> list[DiffRun]:
    """Join neighboring runs of the same kind and drop empty ones."""
    merged: list[DiffRun] = []
    for run in runs:
        if not run.text:
            continue
        if merged and merged[-1].kind == run.kind:
            merged[-1] = DiffRun(run.kind, merged[-1].text + run.text)
        else:
            merged.append(run)
    return merged


def cut(runs: Iterable[DiffRun], max_chars: int) -> tuple[DiffRun, ...]:
    """Cut the runs to `max_chars` characters; the cut is shown as a gap that says how much is missing.

    Control characters and overrides of the writing direction are shown as U+FFFD.
    """
    kept: list[DiffRun] = []
    left = max_chars
    missing = 0
    for run in runs:
        if len(run.text) <= left:
            kept.append(run if run.text.isprintable() else DiffRun(run.kind, visible(run.text)))
        elif left > 0:
            kept.append(DiffRun(run.kind, visible(run.text[:left])))
            missing += len(run.text) - left
        else:
            missing += len(run.text)
        left = max(0, left - len(run.text))
    if missing:
        kept.append(DiffRun("gap", f" … {missing:,} more characters"))
    return tuple(kept)
