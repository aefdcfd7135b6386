"""Word differences between two texts, as runs a template can mark.

Computed on the server, so the page needs no script to show them, and capped, because the cost of a
word diff grows faster than the texts and the page has a weight budget.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Literal, NamedTuple

from evenkeel.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Kind = Literal["same", "removed", "added", "gap"]

MAX_WORDS = 2500
"""Words per side that are compared; the rest is shown unmarked."""

# Characters a side that are split into words. More than a replay's prompt can have: `evenkeel.shadow.limits`.
_MOST_CHARS = 400_000

# Shortest gap in words: a gap that hides fewer is not worth its dots.
_GAP_WORDS = 3

# A word or a mark; or white space, so that words stand at even distances.
_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]|\s+")
_MARKS = str.maketrans({" ": "·", "\t": "⇥", "\u00a0": "⍽", "\r": "", "\n": "↵\n"})


class DiffRun(NamedTuple):
    """A stretch of text that is the same, removed, added, or a gap ("…") left out for length."""

    kind: Kind
    text: str


class SideBySide(NamedTuple):
    """Two texts, each with the words marked that the other lacks."""

    left: tuple[DiffRun, ...]
    """Runs of kind `same` and `removed`."""
    right: tuple[DiffRun, ...]
    """Runs of kind `same` and `added`."""


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
    blocks = list(_blocks(_tokens(before), _tokens(after), spaces=True))
    for index, (same, old, new) in enumerate(blocks):
        if same:
            head = 2 * context_words if index else 0
            tail = 2 * context_words if index < len(blocks) - 1 else 0
            runs += _shortened(old, head, tail)
        else:
            # As many on both sides are marked one by one, to keep pairs of words together.
            pairs = zip(old, new, strict=True) if len(old) == len(new) else [("".join(old), "".join(new))]
            for gone, come in pairs:
                if gone == come:
                    runs.append(DiffRun("same", gone))
                else:
                    runs += [DiffRun("removed", _shown(gone)), DiffRun("added", _shown(come))]
    return cut(_merged(runs), max_chars)


def side_by_side(left: str, right: str, *, max_chars: int) -> SideBySide:
    """Return both texts in full (up to `max_chars` per side), each with its own words marked.

    White space is ignored: two answers that only break lines differently are the same.
    """
    left_runs: list[DiffRun] = []
    right_runs: list[DiffRun] = []
    for same, old, new in _blocks(_tokens(left), _tokens(right), spaces=False):
        gone, come = "".join(old), "".join(new)
        left_runs.append(DiffRun("same" if same or gone.isspace() else "removed", gone))
        right_runs.append(DiffRun("same" if same or come.isspace() else "added", come))
    return SideBySide(cut(_merged(left_runs), max_chars), cut(_merged(right_runs), max_chars))


def _tokens(text: str) -> list[str]:
    tokens = _TOKEN.findall(text[:_MOST_CHARS])
    return [*tokens, text[_MOST_CHARS:]] if len(text) > _MOST_CHARS else tokens


def _blocks(
    a: list[str], b: list[str], *, spaces: bool
) -> Iterator[tuple[bool, Sequence[str], Sequence[str]]]:
    """Yield blocks of tokens, and whether they are the same; those beyond the cap count as the same."""
    keys_a, keys_b = (a, b) if spaces else (list(map(_key, a)), list(map(_key, b)))
    # Perturbed prompts share long ends with the original: taking those off first keeps the
    # quadratic part small.
    shorter = min(len(a), len(b))
    start = 0
    while start < shorter and keys_a[start] == keys_b[start]:
        start += 1
    end = 0
    while end < shorter - start and keys_a[-1 - end] == keys_b[-1 - end]:
        end += 1
    if start:
        yield True, a[:start], b[:start]
    cap_a, cap_b = min(len(a) - end, start + 2 * MAX_WORDS), min(len(b) - end, start + 2 * MAX_WORDS)
    # White space alone is no reason to call two places the same.
    matcher = SequenceMatcher(str.isspace, keys_a[start:cap_a], keys_b[start:cap_b])
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        yield tag == "equal", a[start + i1 : start + i2], b[start + j1 : start + j2]
    if cap_a < len(a) or cap_b < len(b):
        yield True, a[cap_a:], b[cap_b:]


def _key(token: str) -> str:
    return " " if token.isspace() else token


def _shortened(tokens: Sequence[str], head: int, tail: int) -> list[DiffRun]:
    """Shorten an unchanged stretch to `head` tokens of its start, a gap, and `tail` tokens of its end."""
    if len(tokens) <= head + tail + 2 * _GAP_WORDS:
        return [DiffRun("same", "".join(tokens))]
    return [
        DiffRun("same", "".join(tokens[:head])),
        DiffRun("gap", " … " if head and tail else "… " if tail else " …"),
        DiffRun("same", "".join(tokens[len(tokens) - tail :])),
    ]


def _shown(text: str) -> str:
    """Make white space visible that is all of a change."""
    return text.translate(_MARKS) if text.isspace() else text


def _merged(runs: Iterable[DiffRun]) -> list[DiffRun]:
    """Join neighboring runs of the same kind and drop empty ones."""
    merged: list[DiffRun] = []
    for run in runs:
        if merged and merged[-1].kind == run.kind:
            merged[-1] = DiffRun(run.kind, merged[-1].text + run.text)
        elif run.text:
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
