"""Qualities of a pair: their protocol, their measurement on both answers, and all of them at once.

A quality of one answer is measured `EachSide` against the context; where one answer is right, the quality
is the `Agreement` with it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Protocol

from evenkeel.core.verdict import Failure, QualityScore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenkeel.core.pair import Answer, Pair
    from evenkeel.metrics.protocol import Metric, Rating


class QualityMetric(Protocol):
    """Metric that rates one answer on 1–3, 3 = best. Judged metrics share it."""

    @property
    def name(self) -> str:
        """Label of the score."""
        ...

    @property
    def version(self) -> int:
        """Version, raised whenever the same answer may be rated differently than before."""
        ...

    async def rate(self, answer: Answer, context: str) -> Rating:
        """Rate an answer against the text of the prompt it answers.

        Never raises for what an answer, a model or a network can do: that is a `Failure` in the
        rating's outcome.
        """
        ...


@dataclass(frozen=True, slots=True)
class QualityMeasurement:
    """Outcome of measuring one quality on a pair, and its cost."""

    outcome: QualityScore | Failure | None
    """Score of the quality.

    None if the quality has nothing to report about this pair: it is left out, which is no failure.
    """
    tokens: int = 0
    """Prompt and completion tokens spent, also on a measurement that failed."""
    cost_usd: float = 0.0


class PairQuality(Protocol):
    """Measure of whether a quality changed within a pair: all that the second stage of the score needs.

    A `QualityMetric` becomes one by `EachSide`, a similarity metric by `Agreement`.
    """

    @property
    def name(self) -> str:
        """Label of the score."""
        ...

    @property
    def version(self) -> int:
        """Version, raised whenever the same pair may be measured differently than before."""
        ...

    async def measure(self, pair: Pair) -> QualityMeasurement:
        """Measure both answers. Never raises for what an answer, a model or a network can do."""
        ...


class EachSide:
    """Quality that rates each answer alone, on 1–3. It changed if the two ratings differ."""

    def __init__(self, metric: QualityMetric) -> None:
        self._metric = metric

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self._metric.name

    @property
    def version(self) -> int:
        """Version of the metric."""
        return self._metric.version

    async def measure(self, pair: Pair) -> QualityMeasurement:
        """Rate the reference, then the candidate; if the former fails, the latter is not asked for.

        One after the other, because both questions begin with the request: by then a provider has cached it.
        """
        reference = await self._metric.rate(pair.reference, pair.context)
        if not isinstance(before := reference.outcome, int):
            return QualityMeasurement(before, reference.tokens, reference.cost_usd)
        candidate = await self._metric.rate(pair.candidate, pair.context)
        after = candidate.outcome
        return QualityMeasurement(
            QualityScore(self.name, self.version, before, after) if isinstance(after, int) else after,
            reference.tokens + candidate.tokens,
            reference.cost_usd + candidate.cost_usd,
        )


def always(_: Pair) -> bool:
    """Return True: every pair is measured."""
    return True


class Agreement:
    """Quality made of a similarity metric, for tasks with one right answer: filled slots, tool calls.

    The reference agrees with itself, so its value is 1 and the candidate's is the metric's. Quality
    changed if that is below 1 by more than the tolerance. Which answer is the right one it can't say.
    """

    def __init__(
        self,
        metric: Metric,
        *,
        tolerance: float = 0.0,
        applies: Callable[[Pair], bool] = always,
        silent: frozenset[str] = frozenset(),
    ) -> None:
        """Build from a metric in [0, 1], 1 = alike.

        Args:
            metric: Compares the answers.
            tolerance: Largest distance from 1 that is no change. 0 for metrics that decide for each
                item whether it is alike; more where rewording lowers the value.
            applies: Whether the metric has anything to say about a pair.
            silent: Reasons of failures that mean the same: there was nothing to compare.
        """
        self._metric = metric
        self._tolerance = tolerance
        self._applies = applies
        self._silent = silent

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self._metric.name

    @property
    def version(self) -> int:
        """Version of the metric."""
        return self._metric.version

    async def measure(self, pair: Pair) -> QualityMeasurement:
        """Return the metric's value on the scale "agreement"; computed in a thread."""
        if not self._applies(pair):
            return QualityMeasurement(None)
        value = await asyncio.to_thread(self._metric.score, pair)
        if isinstance(value, Failure):
            return QualityMeasurement(None if value.reason in self._silent else value)
        if not isfinite(value):
            return QualityMeasurement(
                Failure(self.name, self.version, "not_finite", f"The metric returned {value}.")
            )
        score = QualityScore(self.name, self.version, 1.0, value, "agreement", self._tolerance)
        return QualityMeasurement(score)


@dataclass(frozen=True, slots=True)
class Qualities:
    """Scores and failures of the qualities of one pair, and their cost."""

    scores: tuple[QualityScore, ...]
    """Scores in the order of the qualities; qualities with nothing to report are left out."""
    failures: tuple[Failure, ...]
    tokens: int
    cost_usd: float


async def measure_all(measures: Iterable[PairQuality], pair: Pair) -> Qualities:
    """Measure every quality of a pair whose content has shifted.

    All are asked at once: a judge limits its own concurrency. One that fails is a failure beside the
    scores of the others. Tokens and cost cover every call made.
    """
    measurements = await asyncio.gather(*(quality.measure(pair) for quality in measures))
    outcomes = [measurement.outcome for measurement in measurements]
    return Qualities(
        tuple(outcome for outcome in outcomes if isinstance(outcome, QualityScore)),
        tuple(outcome for outcome in outcomes if isinstance(outcome, Failure)),
        sum(measurement.tokens for measurement in measurements),
        sum(measurement.cost_usd for measurement in measurements),
    )
