"""Rank of a new answer to a reference prompt among the earlier answers to the same request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.metrics.similarity.likeness import likeness
from evenkeel.shadow.prompt.apis.embeddings import cosine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.pair import Answer

# Sums that differ by less count as equal: floating-point sums depend on the order of their terms.
_SAME: Final = 1e-9


def alike(first: str, other: str) -> float:
    """Return the similarity of two answers, in [0, 1]: the cosine of vectors, else the likeness of texts."""
    similarity = cosine(first, other)
    return likeness(first, other) if similarity is None else similarity


class Ranking(NamedTuple):
    """Rank and likeness of a new answer; `ReferenceAnswered` explains the fields."""

    compared: int
    below: int
    ties: int
    likeness: float
    own: float
    former: float | None


def ranked(
    earlier: Sequence[Answer],
    new: Answer,
    before: Sequence[Answer] = (),
    alike: Callable[[str, str], float] = alike,
) -> Ranking:
    """Compute every answer's mean likeness to all others, and rank the new answer among the earlier ones.

    Args:
        earlier: Answers since the last change.
        new: Answer to rank.
        before: Answers from before the last change.
        alike: Similarity of two texts; symmetric, in [0, 1].
    """
    texts = [text_of(answer) for answer in (*earlier, new)]
    count = len(texts)
    sums = [0.0] * count
    within = 0.0
    for index in range(count):
        for other in range(index):
            similarity = alike(texts[other], texts[index])
            sums[index] += similarity
            sums[other] += similarity
            within += similarity if index < count - 1 else 0.0
    mine = sums[-1]
    pairs = (count - 1) * (count - 2) / 2
    former = []
    for answer in before:
        former.append(alike(text_of(answer), texts[-1]))
    return Ranking(
        compared=count,
        below=sum(total < mine - _SAME for total in sums[:-1]),
        ties=1 + sum(abs(total - mine) <= _SAME for total in sums[:-1]),
        likeness=mine / (count - 1) if count > 1 else 0.0,
        own=within / pairs if pairs else 0.0,
        former=sum(former) / len(former) if former else None,
    )


def text_of(answer: Answer) -> str:
    """Return the compared part of an answer: its text and its tool calls."""
    return "\n".join([answer.text, *(f"{call.name}({call.arguments})" for call in answer.tool_calls)])
