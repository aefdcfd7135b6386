"""Scores of many pairs by many metrics, one column a metric, and how well they follow a truth.

Spearman's correlation and the area under the ROC curve with their errors; several metrics as one score (the
mean of their ranks, or a logistic fit on half of the pairs); and character n-grams, a candidate
for the registry.
"""

from __future__ import annotations

import importlib
import os
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import numpy as np
from scipy.stats import rankdata

from evenkeel.core.pair import AS_BEFORE, Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.registry import heuristics, metrics
from evenkeel.metrics.similarity import bert_score, embeddings
from evenkeel.metrics.similarity.normalised import is_empty
from evenkeel.metrics.similarity.vectors import VectorCache
from evenkeel.metrics.structured.json_similarity import JsonSimilarity

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenkeel.core.pair import Wanted
    from evenkeel.metrics.protocol import BatchMetric, Metric
    from evenkeel.metrics.similarity.embeddings import Embeddings


_RESAMPLES = 200


def ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 0 to 1, ties averaged."""
    found = np.asarray(rankdata(np.asarray(values, dtype=float)), dtype=np.float64)
    return (found - 1) / max(1, len(found) - 1)


def spearman(values: Sequence[float], truth: Sequence[float]) -> float | None:
    """Rank correlation in [−1, 1]; None if one side is constant."""
    left, right = ranks(values), ranks(truth)
    if len(left) < 2 or left.std() == 0 or right.std() == 0:  # noqa: PLR2004 - no correlation of one pair
        return None
    return float(np.corrcoef(left, right)[0, 1])


def area(close: Sequence[float], far: Sequence[float]) -> float | None:
    """Probability that one of `close` scores above one of `far`, ties counted half; None without both."""
    return float(_wins(close, far).mean()) if close and far else None


def area_error(close: Sequence[float], far: Sequence[float], rng: random.Random) -> float:
    """Half the width of the 95 % interval of `area`, by 200 resamples of the pairs."""
    wins = _wins(close, far)
    found = [
        float(_drawn(len(close), rng) @ wins @ _drawn(len(far), rng)) / wins.size for _ in range(_RESAMPLES)
    ]
    low, high = np.quantile(found, (0.025, 0.975))
    return float(high - low) / 2


def _wins(close: Sequence[float], far: Sequence[float]) -> NDArray[np.float64]:
    """1 where a score of `close` is above one of `far`, a half where they are equal."""
    left, right = np.asarray(close, dtype=float)[:, None], np.asarray(far, dtype=float)[None, :]
    return np.asarray((left > right) + (left == right) / 2, dtype=np.float64)


def _drawn(count: int, rng: random.Random) -> NDArray[np.float64]:
    """How often each of so many is drawn in as many draws."""
    drawn = rng.choices(range(count), k=count)
    return np.bincount(drawn, minlength=count).astype(np.float64)


def spearman_gain(
    values: Sequence[float], beside: Sequence[float], truth: Sequence[float], rng: random.Random
) -> tuple[float, float]:
    """The 95 % interval of how much better `values` follow the truth than `beside`, by 200 resamples."""
    places, gains = range(len(truth)), []
    for _ in range(_RESAMPLES):
        drawn = rng.choices(places, k=len(places))
        mine, other = (
            spearman([side[i] for i in drawn], [truth[i] for i in drawn]) or 0.0 for side in (values, beside)
        )
        gains.append(mine - other)
    low, high = np.quantile(gains, (0.025, 0.975))
    return float(low), float(high)


_RIDGE: Final = 1e-2
"""Keeps weights of metrics that say the same from growing against each other."""
_STEPS: Final = 30


def mean_of_ranks(columns: Sequence[Sequence[float]]) -> list[float]:
    """The mean of each pair's ranks among all pairs, in [0, 1]. Nothing is fitted."""
    found: list[float] = np.mean([ranks(column) for column in columns], axis=0).tolist()
    return found


@dataclass(frozen=True, slots=True)
class Fit:
    """A logistic curve over standardised scores."""

    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    weights: NDArray[np.float64]
    """The first is the intercept, then one for each metric, per standard deviation."""

    def predict(self, columns: Sequence[Sequence[float]]) -> list[float]:
        """Expected similarity of each pair, in (0, 1)."""
        found: list[float] = _curve(_design(columns, self.means, self.spreads) @ self.weights).tolist()
        return found


def fit(columns: Sequence[Sequence[float]], truth: Sequence[float]) -> Fit:
    """Fit to a truth in [0, 1] by Newton's method, with a slight ridge.

    Deterministic. A constant column gets the weight 0.
    """
    scores = np.asarray(columns, dtype=float)
    means, spreads = scores.mean(axis=1), scores.std(axis=1)
    spreads[spreads == 0] = np.inf
    design = _design(columns, means, spreads)
    wanted, weights = np.asarray(truth, dtype=float), np.zeros(design.shape[1])
    ridge = _RIDGE * len(wanted) * np.eye(design.shape[1])
    ridge[0, 0] = 0.0
    for _ in range(_STEPS):
        now = _curve(design @ weights)
        slope = design.T @ (wanted - now) - ridge @ weights
        bend = (design * (now * (1 - now))[:, None]).T @ design + ridge
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-9:  # noqa: PLR2004 - converged
            break
    return Fit(means, spreads, weights)


def _design(
    columns: Sequence[Sequence[float]], means: NDArray[np.float64], spreads: NDArray[np.float64]
) -> NDArray[np.float64]:
    scores = (np.asarray(columns, dtype=float) - means[:, None]) / spreads[:, None]
    return np.vstack([np.ones(scores.shape[1]), scores]).T


def _curve(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-values)), dtype=np.float64)


def halves(count: int, rng: random.Random) -> tuple[list[int], list[int]]:
    """The places of two random halves, each in order."""
    places = rng.sample(range(count), count)
    return sorted(places[: count // 2]), sorted(places[count // 2 :])


def held_out(
    columns: Sequence[Sequence[float]], truth: Sequence[float], fitted: Sequence[int], told: Sequence[int]
) -> list[float]:
    """What a fit on some pairs expects of others, in the order of `told`."""
    curve = fit([_at(column, fitted) for column in columns], _at(truth, fitted))
    return curve.predict([_at(column, told) for column in columns])


def _at(values: Sequence[float], places: Sequence[int]) -> list[float]:
    return [values[place] for place in places]


_ORDERS: Final = range(1, 7)
_CHARACTERS: Final = 50_000


class CharacterNGrams:
    """chrF with equal weight of precision and recall, letter case ignored."""

    name: ClassVar[str] = "character_ngrams"
    version: ClassVar[int] = 1

    def score(self, pair: Pair) -> float | Failure:
        """F1 over the runs of one to six characters, spaces left out. Symmetric.

        Needs no word boundaries and forgives inflection, so it reads languages without spaces or
        with long compounds.

        Returns: ratio in [0, 1]; 1 = the same runs, also if neither side has any; 0 = no
            character in common, or only one side has any. A `Failure` "no_text" if neither side
            has text or a tool call.
        Source: Popović 2015; agrees with sacrebleu's chrF at β = 1 on texts in lower case.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return character_f1(pair.reference.text, pair.candidate.text)


def character_f1(reference: str, candidate: str) -> float:
    """F1 of the mean precision and the mean recall over the orders that both texts have."""
    left, right = ("".join(text.lower().split())[:_CHARACTERS] for text in (reference, candidate))
    if not left or not right:
        return float(left == right)
    precision = recall = 0.0
    orders = [order for order in _ORDERS if order <= min(len(left), len(right))]
    for order in orders:
        mine, other = _runs(left, order), _runs(right, order)
        shared = (mine & other).total()
        precision += shared / other.total()
        recall += shared / mine.total()
    total = precision + recall
    return 2 * precision * recall / (total * len(orders)) if total else 0.0


def _runs(text: str, order: int) -> Counter[str]:
    return Counter(text[start : start + order] for start in range(len(text) - order + 1))


FLOOR: Final = "rouge_l"
"""What every other metric has to beat."""
SIMILARITY: Final = "similarity"
SIMILARITY_WITH_MEANING: Final = "similarity, with embeddings"
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
    """Score every pair by every metric, by its name; the similarities come last."""
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
        found[SIMILARITY] = _rated(HeuristicRater(), pairs)
        if models is not None:
            found[SIMILARITY_WITH_MEANING] = _rated(HeuristicRater(models.embeddings), pairs)
    return found


def _rated(rater: HeuristicRater, pairs: Sequence[Pair]) -> Column:
    return [rater.rate_now(pair).similarity for pair in pairs]


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
