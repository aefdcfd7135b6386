"""Alignment of a skeleton with another text, and the common text in the gaps of several texts."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.skeleton import (
    CUT,
    EDGE,
    END,
    NOTHING_FIXED,
    START,
    gaps,
    is_word,
    padded,
    place,
    readable,
    token_stretches,
    tokens,
    whole,
    word_count,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from evenkeel.shadow.prompt.template.skeleton import Skeleton

    Region = tuple[int, int, int, int]
    """Matching stretch of tokens: start and end of the left side, start and end of the right side."""

_LARGEST_TABLE: Final = 400_000
"""Token pairs; larger regions are compared at their ends only."""
_STRONG_WORDS: Final = 3
_WEAK_WORDS: Final = 2
_DELIMITER: Final = 3
_LONGEST_LABEL: Final = 12
"""Tokens, blanks included."""
_SHORTEST_LINE: Final = 2
"""Words of a line that may be matched as a whole."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Tokens that two sequences share without a break."""

    left: int
    right: int
    size: int


def merge(skeleton: Skeleton, text: str, *, trusted: bool = False) -> Skeleton:
    """Return the fragments, or parts of them, that occur in the text in the same order.

    Common words that stand by themselves are left out: they are chance.

    Args:
        skeleton: Of the other requests.
        text: Padded.
        trusted: The fragments are known to be template, so two words of one are enough.
    """
    left = token_stretches(list(skeleton))
    right = token_stretches(readable(text))
    runs = [piece for run in _shared(left, right) for piece in _without_cuts(run, left)]
    kept = _significant(runs, left, right, strong_words=2 if trusted else _STRONG_WORDS)
    fragments = tuple("".join(left[run.left : run.left + run.size]) for run in kept)
    if not fragments or not fragments[0].startswith(START) or not fragments[-1].endswith(END):
        return NOTHING_FIXED
    return fragments if trusted else _unrepeated(fragments, text)


def _unrepeated(fragments: Skeleton, text: str) -> Skeleton:
    """Return a skeleton without short fragments that the text repeats, such as speakers' labels."""
    own = "\n".join(fragments)
    return tuple(
        fragment
        for number, fragment in enumerate(fragments)
        if number in {0, len(fragments) - 1}
        or word_count(fragment) > _WEAK_WORDS
        or text.count(fragment.strip()) <= own.count(fragment.strip())
    )


def _shared(left: Sequence[str], right: Sequence[str]) -> list[_Run]:
    """Runs shared in order: labels first, then whole lines, then tokens between them; neighbours joined.

    Labels come before whole lines because documents can change places: the same article as the first
    document here and as the third there must not make the labels between vanish.
    """
    runs: list[_Run] = []
    for labelled in _between_anchors(left, right, (0, len(left), 0, len(right)), _label, runs):
        for a, a_end, b, b_end in _between_anchors(left, right, labelled, _line, runs):
            runs += _token_runs(left, a, a_end, right, b, b_end)
    joined: list[_Run] = []
    for run in runs:
        last = joined[-1] if joined else None
        if last is not None and (last.left + last.size, last.right + last.size) == (run.left, run.right):
            joined[-1] = _Run(last.left, last.right, last.size + run.size)
        elif run.size:
            joined.append(run)
    return joined


def _between_anchors(
    left: Sequence[str],
    right: Sequence[str],
    region: Region,
    unit_of: Callable[[Sequence[str]], tuple[str, ...]],
    runs: list[_Run],
) -> Iterator[Region]:
    """Yield the regions before, between and after the units that both sides have once and in the same order.

    Args:
        left: Tokens.
        right: Tokens.
        region: What is compared.
        unit_of: What of a line counts as a unit; () for nothing.
        runs: The units are added to them as they are passed.
    """
    a, a_end, b, b_end = region
    ours, theirs = _units(left, a, a_end, unit_of), _units(right, b, b_end, unit_of)
    pairs = sorted((ours[unit], theirs[unit], len(unit)) for unit in ours if unit in theirs)
    for start, other, size in _ascending(pairs):
        yield a, start, b, other
        runs.append(_Run(start, other, size))
        a, b = start + size, other + size
    yield a, a_end, b, b_end


def _units(
    side: Sequence[str], start: int, end: int, unit_of: Callable[[Sequence[str]], tuple[str, ...]]
) -> dict[tuple[str, ...], int]:
    """Return the positions of the units that begin exactly one line each."""
    starts = [start, *(at + 1 for at in range(start, end) if side[at] in {"\n", CUT}), end]
    found: dict[tuple[str, ...], int] = {}
    twice: set[tuple[str, ...]] = set()
    for begin, stop in pairwise(starts):
        unit = unit_of(side[begin:stop])
        if unit in found:
            twice.add(unit)
        elif unit:
            found[unit] = begin
    return {unit: at for unit, at in found.items() if unit not in twice}


def _label(line: Sequence[str]) -> tuple[str, ...]:
    head = tuple(line[:_LONGEST_LABEL])
    return head[: head.index(":") + 1] if ":" in head[1:] and head[0] != ":" else ()


def _line(line: Sequence[str]) -> tuple[str, ...]:
    return tuple(line) if sum(map(is_word, line)) >= _SHORTEST_LINE and CUT not in line else ()


def _ascending(pairs: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """A longest part of the pairs, sorted by their first, in which the second ascends as well."""
    ends: list[int] = []
    chosen: list[int] = []
    before: list[int] = []
    for number, (_, other, _size) in enumerate(pairs):
        length = bisect_left(ends, other)
        before.append(chosen[length - 1] if length else -1)
        ends[length : length + 1] = [other]
        chosen[length : length + 1] = [number]
    found: list[tuple[int, int, int]] = []
    at = chosen[-1] if chosen else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _token_runs(
    left: Sequence[str], a: int, a_end: int, right: Sequence[str], b: int, b_end: int
) -> list[_Run]:
    head = 0
    while a + head < a_end and b + head < b_end and left[a + head] == right[b + head] != CUT:
        head += 1
    a, b = a + head, b + head
    tail = 0
    while a_end > a and b_end > b and left[a_end - 1] == right[b_end - 1] != CUT:
        a_end, b_end, tail = a_end - 1, b_end - 1, tail + 1
    runs = [_Run(a - head, b - head, head)]
    if a < a_end and b < b_end and (a_end - a) * (b_end - b) <= _LARGEST_TABLE:
        matcher = SequenceMatcher(_is_junk, left[a:a_end], right[b:b_end], autojunk=False)
        runs += [_Run(a + block.a, b + block.b, block.size) for block in matcher.get_matching_blocks()]
    return [*runs, _Run(a_end, b_end, tail)]


def _is_junk(token: str) -> bool:
    return token.isspace() or token == CUT


def _without_cuts(run: _Run, left: Sequence[str]) -> list[_Run]:
    """The run, cut where both sequences have a gap by chance of equal place."""
    runs: list[_Run] = []
    begun = 0
    for offset in range(run.size + 1):
        if offset == run.size or left[run.left + offset] == CUT:
            runs.append(_Run(run.left + begun, run.right + begun, offset - begun))
            begun = offset + 1
    return [piece for piece in runs if piece.size]


def _significant(
    runs: Sequence[_Run], left: Sequence[str], right: Sequence[str], *, strong_words: int
) -> list[_Run]:
    """Return the runs that are not chance: strong ones, and those with a word on the line of a strong one."""
    strong = [_is_strong(left[run.left : run.left + run.size], strong_words) for run in runs]
    beside = [
        strong[number + 1] or strong[number] if _same_line(*pair, left, right) else False
        for number, pair in enumerate(pairwise(runs))
    ]
    return [
        run
        for number, run in enumerate(runs)
        if strong[number]
        or (any(beside[max(number - 1, 0) : number + 1]) and any(map(is_word, left[run.left :][: run.size])))
    ]


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


def common(before: Skeleton, texts: Iterable[str]) -> Skeleton:
    """Return the part of a skeleton that occurs in all of some padded texts."""
    for text in texts:
        if place(before, text) is None:
            before = merge(before, text, trusted=True)
    return before


def grown(before: Skeleton, left: Skeleton, texts: Sequence[str], values: Collection[str]) -> Skeleton:
    """Return the common part of a skeleton, with words that some texts share in its gaps.

    Args:
        before: The skeleton so far.
        left: What is left of it in all texts.
        texts: Padded.
        values: Words that gaps were filled with before. They are not taken for template just because a few
            requests agree on them.
    """
    placed = [spans for text in texts if (spans := place(left, text)) is not None]
    if len(placed) < len(texts):
        return left
    between = [gaps(spans) for spans in placed]
    pieces = [left[0]]
    for number, (head, following) in enumerate(pairwise(left)):
        filled = [text[at[number].start : at[number].end] for text, at in zip(texts, between, strict=True)]
        was_gap = any(old.endswith(head) and new.startswith(following) for old, new in pairwise(before))
        if len(set(filled)) > 1:
            begins, ends = _alike(filled, values)
            if was_gap:
                # Without the marks and words of values that happen to end alike before an added line.
                ends = ends[ends.find("\n") :] if "\n" in ends else ends.lstrip(".,;:!?")
            pieces[-1] += begins
            pieces.append(ends + following)
        elif was_gap:  # the field has another value, all of it
            pieces.append(following)
        elif any(_holds(fragment, head, following) for fragment in before):
            pieces[-1] += filled[0] + following
        else:
            begins, ends = _without_values(filled[0], values)
            pieces[-1] += begins
            pieces.append(ends + following)
    return tuple(pieces)


def _holds(fragment: str, head: str, following: str) -> bool:
    at = fragment.find(head)
    return at >= 0 and fragment.find(following, at + len(head)) >= 0


def _alike(filled: Sequence[str], values: Collection[str]) -> tuple[str, str]:
    """The words that texts begin and end with alike, up to the first that may be a value."""
    shared = whole(padded(filled[0]))
    for text in filled[1:]:
        shared = merge(shared, padded(text))
    if len(shared) == 1:
        return "", ""
    ends = tokens(shared[-1].removesuffix(END))
    known = [number for number, token in enumerate(ends) if is_word(token) and token in values]
    return _without_values(shared[0].removeprefix(START), values)[0], "".join(
        ends[known[-1] + 1 if known else 0 :]
    )


def _without_values(text: str, values: Collection[str]) -> tuple[str, str]:
    """Return the text before the first value and the text after the last; without values, the text and ""."""
    cut = tokens(text)
    known = [number for number, token in enumerate(cut) if is_word(token) and token in values]
    return ("".join(cut[: known[0]]), "".join(cut[known[-1] + 1 :])) if known else (text, "")


_FEWEST_NEW: Final = 2


def may_have_grown(skeleton: Skeleton, texts: Sequence[str], values: Collection[str]) -> bool:
    """Return whether all texts begin or end a gap with the same words, none of which was a value before."""
    placed = [spans for text in texts if (spans := place(skeleton, text)) is not None]
    if len(placed) < len(texts):
        return False
    for number in range(len(skeleton) - 1):
        heads: set[tuple[str, ...]] = set()
        tails: set[tuple[str, ...]] = set()
        for text, spans in zip(texts, placed, strict=True):
            gap = gaps(spans)[number]
            heads.add(tuple(words_of(text[gap.start : min(gap.end, gap.start + EDGE)])[:_FEWEST_NEW]))
            tails.add(tuple(words_of(text[max(gap.start, gap.end - EDGE) : gap.end])[-_FEWEST_NEW:]))
        for edges in (heads, tails):
            if (
                len(edges) == 1
                and len(words := edges.pop()) == _FEWEST_NEW
                and not any(word in values for word in words)
            ):
                return True
    return False
