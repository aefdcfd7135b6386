"""The template after an edit, worked out from the first few requests that carry it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.alignment import merge
from evenkeel.shadow.prompt.template.skeleton import Skeleton, gaps, place, whole
from evenkeel.shadow.prompt.template.tokens import CUT, END, START, is_word, padded, tokens, word_count

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


_SHORT_HOLE: Final = 80


def edited(before: Skeleton, left: Skeleton, texts: Sequence[str], values: Collection[str]) -> Skeleton:
    """What is left of a skeleton, with the words put in that all requests have in its new holes.

    Args:
        before: The skeleton before the edit.
        left: Those of its parts that all `texts` share.
        texts: Padded texts of requests after the edit.
        values: Words that gaps were filled with before. Where a gap borders on a hole, they are not
            taken for template just because a few requests agree on them.
    """
    placed = [spans for text in texts if (spans := place(left, text)) is not None]
    if len(placed) < len(texts):
        return left
    pieces: list[str] = [left[0]]
    between = [gaps(spans) for spans in placed]
    for number, (one, following) in enumerate(pairwise(left)):
        filled = [text[at[number].start : at[number].end] for text, at in zip(texts, between, strict=True)]
        if _was_gap(before, one, following):
            pieces.append(following)
            continue
        inside = any(_holds(fragment, one, following) for fragment in before)
        if inside and len(set(filled)) == 1:
            pieces[-1] += filled[0] + following
            continue
        if not _lost_words(before, one, following):
            pieces.append(following)
            continue
        parts = _common(filled, values)
        pieces[-1] += parts[0].removeprefix(START)
        pieces += parts[1:-1]
        pieces.append(parts[-1].removesuffix(END) + following)
    return tuple(pieces)


def is_deletion(before: Skeleton, left: Skeleton, texts: Sequence[str]) -> bool:
    """Whether in all texts words of the template are gone with nothing in their place."""
    placed = [spans for text in texts if (spans := place(left, text)) is not None]
    if len(placed) < len(texts):
        return False
    between = [gaps(spans) for spans in placed]
    return any(
        not _was_gap(before, one, following)
        and any(_holds(fragment, one, following) for fragment in before)
        and not any(
            text[at[number].start : at[number].end].strip() for text, at in zip(texts, between, strict=True)
        )
        for number, (one, following) in enumerate(pairwise(left))
    )


def _lost_words(before: Skeleton, one: str, following: str) -> int:
    """Words of the skeleton between two of its parts; what vanished there."""
    text = CUT.join(before)
    begin = text.find(one) + len(one)
    return word_count(text[begin : text.find(following, begin)].replace(CUT, " "))


def _was_gap(before: Skeleton, one: str, following: str) -> bool:
    return any(left.endswith(one) and right.startswith(following) for left, right in pairwise(before))


def _holds(fragment: str, one: str, following: str) -> bool:
    at = fragment.find(one)
    return at >= 0 and fragment.find(following, at + len(one)) >= 0


def _common(filled: Sequence[str], values: Collection[str]) -> Skeleton:
    """The skeleton of the texts, whose words are not among `values`."""
    shared = whole(padded(filled[0]))
    for text in filled[1:]:
        shared = merge(shared, padded(text))
    if len(shared) == 1:
        # All alike: fixed up to the first word that may be a value, and from behind the last.
        words = tokens(shared[0])
        known = [number for number, token in enumerate(words) if is_word(token) and token in values]
        if not known:
            return ("".join(words[:-1]), END)
        return ("".join(words[: known[0]]), "".join(words[known[-1] + 1 :]))
    first, last = tokens(shared[0]), tokens(shared[-1])
    head = next((n for n, token in enumerate(first) if is_word(token) and token in values), len(first))
    tail = next(
        (n for n, token in enumerate(reversed(last)) if is_word(token) and token in values), len(last)
    )
    # In long values a common word is chance; a label on a line of its own is not.
    short = max(map(len, filled)) <= _SHORT_HOLE
    inner = [
        one
        for one in shared[1:-1]
        if (short or "\n" in one) and not any(is_word(token) and token in values for token in tokens(one))
    ]
    return ("".join(first[:head]), *inner, "".join(last[len(last) - tail :]))
