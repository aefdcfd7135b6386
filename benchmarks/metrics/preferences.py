"""LLMBar: whether anything that needs no judge knows the better of two answers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from benchmarks.metrics.columns import pairs_of
from benchmarks.metrics.table import Cell, Table
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Failure
from evenkeel.metrics.quality.grounding import CompletenessProxy, FaithfulnessProxy
from evenkeel.metrics.similarity.content_words import ContentWords
from evenkeel.metrics.similarity.sequence import RougeL
from testing.recorded import preferred

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.metrics.columns import Models
    from testing.recorded import Preferred

    Scorer = Callable[[Sequence[tuple[str, str]]], list[float]]
    """Scores of (instruction, answer) pairs; the higher one wins."""


def measure(models: Models | None, *, seed: int, most: int) -> tuple[Table, ...]:
    """Share of pairs in which the answer that a score prefers is the one that people prefer.

    Args:
        models: Of the extra `semantic`, if there.
        seed: Of the samples.
        most: Pairs of a part at most.
    """
    parts = {
        name: random.Random(f"{seed}.{name}").sample(rows, min(most, len(rows)))
        for name, rows in preferred().items()
    }
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name, *(_accuracy(rows, scorer) for rows in parts.values()))
        for name, scorer in _scorers(models).items()
    )
    counts = ", ".join(f"{name} {len(rows)}" for name, rows in parts.items())
    return (Table("preferences", ("by", *parts), rows, 2, (f"Pairs: {counts}. Ties count half.",)),)


def _scorers(models: Models | None) -> dict[str, Scorer]:
    found: dict[str, Scorer] = {
        "the longer answer": lambda asked: [float(len(answer)) for _, answer in asked],
        "rouge_l with the instruction": _by(RougeL()),
        "content_words with the instruction": _by(ContentWords()),
        "completeness_proxy": _by_rating(CompletenessProxy()),
        "faithfulness_proxy": _by_rating(FaithfulnessProxy()),
    }
    if models is not None:
        embeddings = models.embeddings
        found["embeddings with the instruction"] = lambda asked: [
            _number(score) for score in embeddings.score_all(pairs_of(asked))
        ]
    return found


def _by(metric: RougeL | ContentWords) -> Scorer:
    return lambda asked: [_number(metric.score(pair)) for pair in pairs_of(asked)]


def _by_rating(metric: CompletenessProxy | FaithfulnessProxy) -> Scorer:
    return lambda asked: [
        _number(metric.rate_now(Answer(answer), instruction).outcome) for instruction, answer in asked
    ]


_LEAST: Final = -1.0
"""An answer that cannot be scored loses."""


def _number(score: float | Failure) -> float:
    return _LEAST if isinstance(score, Failure) else float(score)


def _accuracy(rows: Sequence[Preferred], scorer: Scorer) -> float:
    first = scorer([(row.instruction, row.first) for row in rows])
    second = scorer([(row.instruction, row.second) for row in rows])
    won = 0.0
    for row, one, other in zip(rows, first, second, strict=True):
        won += 0.5 if one == other else float((1 if one > other else 2) == row.better)
    return won / len(rows)
