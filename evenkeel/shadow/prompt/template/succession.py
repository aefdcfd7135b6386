"""Clusters that follow another one: the template was edited, extended, or had two wordings.

Two wordings in use from the start, as in an A/B test, show in gaps that hold one of exactly two sentences.
"""

from __future__ import annotations

import copy
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.alignment import merge
from evenkeel.shadow.prompt.template.cluster import (
    SHARED_AT_LEAST,
    Cluster,
    extended,
    fingerprint,
    merge_all,
    words_fixed,
)
from evenkeel.shadow.prompt.template.skeleton import (
    CUT,
    END,
    START,
    Skeleton,
    gaps,
    is_word,
    padded,
    place,
    tokens,
    whole,
    word_count,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from evenkeel.shadow.prompt.template.cluster import Texts
    from evenkeel.shadow.prompt.template.skeleton import Span


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


_LONG_CONSTANT: Final = 40
"""Requests after which words that vanish next to a gap were template, not a value that recurred."""


def successor_of(cluster: Cluster, number: int) -> Cluster | None:
    """The cluster of the edited template, None if the requests in the streak show no edit.

    Args:
        cluster: That of the template so far.
        number: Number of the last request of the route.
    """
    left = cluster.skeletons
    losses: list[int] = []
    for texts in cluster.streak:
        losses.append(words_fixed(cluster.merged(texts)))
        left = merge_all(left, texts, trusted=True)
    if words_fixed(left) < SHARED_AT_LEAST * cluster.fixed_words:
        return None
    columns = [[texts[place] for texts in cluster.streak] for place in range(len(left))]
    skeletons = tuple(
        edited(before, after, column, cluster.words)
        for before, after, column in zip(cluster.skeletons, left, columns, strict=True)
    )
    replaced = words_fixed(skeletons) > words_fixed(left)
    deleted = any(
        is_deletion(before, after, column)
        for before, after, column in zip(cluster.skeletons, left, columns, strict=True)
    )
    vanished = cluster.support >= _LONG_CONSTANT and len(set(losses)) == 1
    if not (replaced or deleted or vanished):
        return None
    return _succeeding(cluster, skeletons, cluster.streak, number)


def extension_of(
    cluster: Cluster, texts: Texts, spans: Sequence[Sequence[Span]], number: int
) -> Cluster | None:
    """The cluster of a template to which words were added beside a gap, None if there are none.

    Args:
        cluster: That of the template so far; remembers the request.
        texts: A request that has the template.
        spans: Where its fragments stand.
        number: Number of the last request of the route.
    """
    cluster.latest.append(texts)
    found = cluster.edges.observe(texts, spans)
    if cluster.fingerprint is None or cluster.support < _LONG_CONSTANT // 2 or not found:
        return None
    skeletons = cluster.skeletons
    for edge in found:
        skeletons = extended(skeletons, edge, [one[edge.text] for one in cluster.latest])
    if words_fixed(skeletons) == cluster.fixed_words:
        return None
    cluster.extension = _succeeding(cluster, skeletons, cluster.latest, number)
    return cluster.extension


def _succeeding(
    cluster: Cluster, skeletons: tuple[Skeleton, ...], requests: Collection[Texts], number: int
) -> Cluster:
    successor = Cluster(cluster.shape, skeletons, number - len(requests) + 1, number)
    successor.lines = copy.deepcopy(cluster.lines)
    successor.words = cluster.words.copy()
    successor.seen = successor.support = len(requests)
    for texts in requests:
        successor.is_repeat(texts)
    successor.fingerprint = fingerprint(cluster.shape, skeletons)
    return successor


_FEWEST_SAMPLES: Final = 12
_FEWEST_WORDS: Final = 3
_SMALLEST_SHARE: Final = 0.2


def wordings(skeletons: Sequence[Skeleton], samples: Sequence[tuple[str, ...]]) -> list[tuple[Skeleton, ...]]:
    """The two templates that a skeleton joins, by what fills gaps that hold one of two sentences.

    A gap tells wordings apart if it holds one of exactly two texts of several words in all samples. A
    field with short values is left alone, and so is a section that may be missing.

    Returns: two lists of skeletons, one per text; [] if the samples show one wording only.
    """
    if len(samples) < _FEWEST_SAMPLES:
        return []
    filled: list[dict[tuple[int, int], str]] = []
    for texts in samples:
        values: dict[tuple[int, int], str] = {}
        for number, (skeleton, text) in enumerate(zip(skeletons, texts, strict=True)):
            spans = place(skeleton, text)
            if spans is None:
                return []
            for index, gap in enumerate(gaps(spans)):
                values[number, index] = text[gap.start : gap.end]
        filled.append(values)
    telling = [key for key in filled[0] if _tells([values[key] for values in filled])]
    groups = Counter(tuple(values[key] for key in telling) for values in filled)
    if len(groups) != 2:  # noqa: PLR2004 - one wording against the other
        return []
    return [
        tuple(_filled(skeleton, number, dict(zip(telling, group, strict=True))) for number, skeleton in
              enumerate(skeletons))
        for group in sorted(groups)
    ]  # fmt: skip


def _tells(values: Sequence[str]) -> bool:
    counts = Counter(values)
    return (
        len(counts) == 2  # noqa: PLR2004 - one wording against the other
        and min(counts.values()) >= _SMALLEST_SHARE * len(values)
        and all(word_count(value) >= _FEWEST_WORDS for value in counts)
    )


def _filled(skeleton: Skeleton, number: int, values: dict[tuple[int, int], str]) -> Skeleton:
    fragments = [skeleton[0]]
    for index, fragment in enumerate(skeleton[1:]):
        if (number, index) in values:
            fragments[-1] += values[number, index] + fragment
        else:
            fragments.append(fragment)
    return tuple(fragments)
