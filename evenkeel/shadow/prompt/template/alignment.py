"""Alignment of a skeleton with another text, and the common text in the gaps of several texts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rapidfuzz.distance import LCSseq

from evenkeel.shadow.prompt.template.skeleton import (
    EDGE,
    END,
    GAP,
    NOTHING_FIXED,
    START,
    UNREAD,
    gaps,
    is_word,
    place,
    readable,
    token_stretches,
    tokens,
    word_count,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from evenkeel.shadow.prompt.template.skeleton import Skeleton

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
    common_ours = []
    for line in ours:
        if line in theirs:
            common_ours.append(line)
    common_theirs = []
    for line in theirs:
        if line in ours:
            common_theirs.append(line)
    runs: list[_Run] = []
    a = b = 0
    for step in LCSseq.opcodes(common_ours, common_theirs):
        for line in common_ours[step.src_start : step.src_end] if step.tag == "equal" else ():
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
    strong = []
    for run in runs:
        strong.append(_is_strong(left[run.left : run.left + run.size], strong_words))
    beside = []
    for number, pair in enumerate(pairwise(runs)):
        beside.append(strong[number + 1] or strong[number] if _same_line(*pair, left, right) else False)
    kept: list[_Run] = []
    for number, run in enumerate(runs):
        has_word = any(map(is_word, left[run.left : run.left + run.size]))
        is_beside_strong = any(beside[max(number - 1, 0) : number + 1])
        if strong[number] or (is_beside_strong and has_word):
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


def with_new_words(
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
