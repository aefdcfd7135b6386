"""Scores of many pairs by many metrics: one column a metric."""

from __future__ import annotations

import importlib
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from benchmarks.metrics.ranking import CharacterNGrams
from evenkeel.core.pair import AS_BEFORE, Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.registry import heuristics, metrics
from evenkeel.metrics.similarity import bert_score, embeddings
from evenkeel.metrics.similarity.vectors import VectorCache
from evenkeel.metrics.structured.json_similarity import JsonSimilarity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenkeel.core.pair import Wanted
    from evenkeel.metrics.protocol import BatchMetric, Metric
    from evenkeel.metrics.similarity.embeddings import Embeddings

FLOOR: Final = "rouge_l"
"""What every other metric has to beat."""
RATING: Final = "cheap rating"
RATING_WITH_MEANING: Final = "cheap rating, with embeddings"
_CACHED_TEXTS: Final = 50_000

Column = list[float | None]
"""One score a pair, in order; None where the metric gave a `Failure`."""


@dataclass(frozen=True, slots=True)
class Models:
    """The metrics of the extra `semantic`."""

    embeddings: Embeddings
    bert_score: BatchMetric


def load_models() -> Models | str:
    """The packaged MiniLM in both of its uses on one thread, or one sentence that says what is missing."""
    if not (embeddings.available() and bert_score.available()):
        return "the extra `semantic` is not installed (make semantic): no embeddings, no BERTScore"
    # Tables compare processor time, and progress bars of the libraries would stand between them.
    os.environ.setdefault("TQDM_DISABLE", "1")
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    return Models(embeddings.load_embeddings(cache=VectorCache(_CACHED_TEXTS)), bert_score.load_bert_score())


def readers(*families: str) -> tuple[Metric, ...]:
    """The metrics of these families that need no model, the floor first, and the candidate; all of none."""
    names = [one.name for one in metrics() if not families or one.about.family in families]
    found = sorted((one for one in heuristics() if one.name in names), key=lambda one: one.name != FLOOR)
    return (*found, CharacterNGrams())


def pairs_of(texts: Iterable[tuple[str, str]], wanted: Wanted = AS_BEFORE) -> list[Pair]:
    """Pairs of answers of text."""
    return [Pair(Answer(first), Answer(second), "", wanted=wanted) for first, second in texts]


def columns(
    pairs: Sequence[Pair], metrics: Sequence[Metric], models: Models | None, *, ratings: bool = True
) -> dict[str, Column]:
    """Score every pair by every metric, by its name; the cheap ratings come last."""
    found: dict[str, Column] = {
        metric.name: [_number(metric.score(pair)) for pair in pairs] for metric in metrics
    }
    if models is not None:
        for batched in (models.embeddings, models.bert_score):
            found[batched.name] = [_number(score) for score in batched.score_all(pairs)]
        if any(metric.name == "json_rouge" for metric in metrics):
            structured = JsonSimilarity(models.embeddings)
            found[structured.name] = [_number(structured.score(pair)) for pair in pairs]
    if ratings:
        found[RATING] = _rated(HeuristicRater(), pairs)
        if models is not None:
            found[RATING_WITH_MEANING] = _rated(HeuristicRater(models.embeddings), pairs)
    return found


def _rated(rater: HeuristicRater, pairs: Sequence[Pair]) -> Column:
    return [_number(rater.rate_now(pair).outcome) for pair in pairs]


def _number(score: float | Failure) -> float | None:
    return None if isinstance(score, Failure) else float(score)


def there(column: Column) -> list[float]:
    """The scores that could be given."""
    return [score for score in column if score is not None]


def complete(column: Column) -> bool:
    """Whether every pair could be scored."""
    return None not in column


def scores(column: Column) -> list[float]:
    """A column without gaps.

    Raises:
        ValueError: A pair could not be scored.
    """
    if not complete(column):
        raise ValueError("a pair could not be scored")
    return cast("list[float]", column)


def now() -> float:
    """Processor seconds of this thread: other work on the machine does not count."""
    return time.thread_time()
