"""What a skeleton and another text share."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.skeleton import (
    CUT,
    END,
    NOTHING_FIXED,
    START,
    is_word,
    readable,
    token_stretches,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evenkeel.shadow.prompt.template.skeleton import Skeleton

_LARGEST_TABLE: Final = 400_000
"""Token pairs; larger regions are compared at their ends only."""
_STRONG_WORDS: Final = 3
_DELIMITER: Final = 3
_LONGEST_LABEL: Final = 12
"""Tokens, blanks included."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Tokens that two sequences share without a break."""

    left: int
    right: int
    size: int


def merge(skeleton: Skeleton, text: str, *, trusted: bool = False) -> Skeleton:
    """The fragments, or parts of them, that occur in the text in the same order.

    Common words that stand by themselves are left out: they are chance.

    Args:
        skeleton: Of the other requests.
        text: Padded.
        trusted: The fragments are known to be template, so two words of one are enough.
    """
    left = token_stretches(list(skeleton))
    right = token_stretches(readable(text))
    runs = _shared(left, right)
    kept = _significant(runs, left, right, strong_words=2 if trusted else _STRONG_WORDS)
    fragments = tuple("".join(left[run.left : run.left + run.size]) for run in kept)
    if not fragments or not fragments[0].startswith(START) or not fragments[-1].endswith(END):
        return NOTHING_FIXED
    return fragments


def _shared(left: Sequence[str], right: Sequence[str]) -> list[_Run]:
    """Runs shared in order: labels first, then whole lines, then tokens between them; neighbours joined."""
    runs: list[_Run] = []
    for a, a_end, b, b_end in _between(_label_runs(left, right), runs, (0, len(left), 0, len(right))):
        lines = _line_runs(left[a:a_end], right[b:b_end])
        moved = [_Run(a + run.left, b + run.right, run.size) for run in lines]
        for inner_a, inner_end, inner_b, inner_b_end in _between(moved, runs, (a, a_end, b, b_end)):
            runs += _token_runs(left, inner_a, inner_end, right, inner_b, inner_b_end)
    return _joined(runs)


def _between(
    anchors: Sequence[_Run], runs: list[_Run], region: tuple[int, int, int, int]
) -> Iterator[tuple[int, int, int, int]]:
    """The regions before, between and behind the anchors, which are added to `runs` as they are passed."""
    a, a_end, b, b_end = region
    for anchor in anchors:
        yield a, anchor.left, b, anchor.right
        runs.append(anchor)
        a, b = anchor.left + anchor.size, anchor.right + anchor.size
    yield a, a_end, b, b_end


def _joined(runs: Iterable[_Run]) -> list[_Run]:
    joined: list[_Run] = []
    for run in runs:
        if not run.size:
            continue
        last = joined[-1] if joined else None
        if last is not None and (last.left + last.size, last.right + last.size) == (run.left, run.right):
            joined[-1] = _Run(last.left, last.right, last.size + run.size)
        else:
            joined.append(run)
    return joined


def _label_runs(left: Sequence[str], right: Sequence[str]) -> list[_Run]:
    """Labels that begin one line of each side, as many as stand in the same order.

    They come before whole lines because documents can change places: the same article as the first
    document here and as the third there must not make the labels between vanish.
    """
    labels = _labels(left)
    others = _labels(right)
    pairs = sorted((labels[label], others[label], label) for label in labels if label in others)
    return [_Run(a, b, len(label)) for a, b, label in _ascending(pairs)]


def _labels(tokens: Sequence[str]) -> dict[tuple[str, ...], int]:
    """Where each label stands that begins exactly one line."""
    found: dict[tuple[str, ...], int] = {}
    twice: set[tuple[str, ...]] = set()
    for start, end in pairwise(_line_starts(tokens)):
        limit = min(end, start + _LONGEST_LABEL)
        colon = next((at for at in range(start, limit) if tokens[at] == ":"), None)
        if colon is None or colon == start:
            continue
        label = tuple(tokens[start : colon + 1])
        if label in found:
            twice.add(label)
        found[label] = start
    return {label: at for label, at in found.items() if label not in twice}


def _ascending(pairs: Sequence[tuple[int, int, tuple[str, ...]]]) -> list[tuple[int, int, tuple[str, ...]]]:
    """A longest part of the pairs, sorted by their first, in which the second ascends as well."""
    ends: list[int] = []
    chosen: list[int] = []
    before: list[int] = []
    for number, (_, place, _) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(chosen[length - 1] if length else -1)
        if length == len(ends):
            ends.append(place)
            chosen.append(number)
        else:
            ends[length] = place
            chosen[length] = number
    found: list[tuple[int, int, tuple[str, ...]]] = []
    at = chosen[-1] if chosen else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _line_starts(tokens: Sequence[str]) -> list[int]:
    return [0, *(number + 1 for number, token in enumerate(tokens) if token in {"\n", CUT}), len(tokens)]


def _line_runs(left: Sequence[str], right: Sequence[str]) -> list[_Run]:
    starts = _line_starts(left), _line_starts(right)
    lines = [
        ["".join(tokens[start:end]) for start, end in pairwise(begun)]
        for tokens, begun in zip((left, right), starts, strict=True)
    ]
    matcher = SequenceMatcher(lambda line: line.count(" ") < 1, lines[0], lines[1], autojunk=False)
    runs: list[_Run] = []
    for block in matcher.get_matching_blocks():
        begin, end = starts[0][block.a], starts[0][block.a + block.size]
        runs += _without_cuts(_Run(begin, starts[1][block.b], end - begin), left)
    return runs


def _token_runs(
    left: Sequence[str], a: int, a_end: int, right: Sequence[str], b: int, b_end: int
) -> list[_Run]:
    head = 0
    while a + head < a_end and b + head < b_end and left[a + head] == right[b + head] != CUT:
        head += 1
    tail = 0
    while (
        a_end - tail > a + head
        and b_end - tail > b + head
        and left[a_end - tail - 1] == right[b_end - tail - 1] != CUT
    ):
        tail += 1
    runs = [_Run(a, b, head)]
    inner_a, inner_b = left[a + head : a_end - tail], right[b + head : b_end - tail]
    if inner_a and inner_b and len(inner_a) * len(inner_b) <= _LARGEST_TABLE:
        matcher = SequenceMatcher(
            lambda token: token.isspace() or token == CUT, inner_a, inner_b, autojunk=False
        )
        for block in matcher.get_matching_blocks():
            run = _Run(a + head + block.a, b + head + block.b, block.size)
            runs += _without_cuts(run, left)
    runs.append(_Run(a_end - tail, b_end - tail, tail))
    return runs


def _without_cuts(run: _Run, left: Sequence[str]) -> list[_Run]:
    """The run, cut where both sequences have a gap by chance of equal place."""
    runs: list[_Run] = []
    begun = 0
    for offset in range(run.size + 1):
        if offset == run.size or left[run.left + offset] == CUT:
            runs.append(_Run(run.left + begun, run.right + begun, offset - begun))
            begun = offset + 1
    return [one for one in runs if one.size]


def _significant(
    runs: Sequence[_Run], left: Sequence[str], right: Sequence[str], *, strong_words: int
) -> list[_Run]:
    strong = [_is_strong(left[run.left : run.left + run.size], strong_words) for run in runs]
    kept: list[_Run] = []
    for number, run in enumerate(runs):
        if strong[number] or (
            any(map(is_word, left[run.left : run.left + run.size]))
            and (
                (number > 0 and strong[number - 1] and _same_line(runs[number - 1], run, left, right))
                or (
                    number + 1 < len(runs)
                    and strong[number + 1]
                    and _same_line(run, runs[number + 1], left, right)
                )
            )
        ):
            kept.append(run)
    return kept


def _is_strong(tokens: Sequence[str], strong_words: int) -> bool:
    if tokens[0] == START or tokens[-1] == END:
        return True
    words = sum(map(is_word, tokens))
    if words >= strong_words:
        return True
    if not words:
        return "\n" in tokens and sum(not token.isspace() for token in tokens) >= _DELIMITER
    # A label, or the beginning or end of a tag, on a line of its own.
    starts_line = "\n" in tokens and tokens.index("\n") < len(tokens) - 1
    return starts_line and any(token in {":", "<", ">", "#"} for token in tokens)


def _same_line(before: _Run, after: _Run, left: Sequence[str], right: Sequence[str]) -> bool:
    return "\n" not in left[before.left + before.size : after.left] and (
        "\n" not in right[before.right + before.size : after.right]
    )
