"""A quality that only the comparison shows: where one answer is right, agreement with it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.quality.protocol import Measured

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.pair import Pair
    from evenkeel.metrics.similarity.protocol import Metric


def always(_: Pair) -> bool:
    """Every pair."""
    return True


class Agreement:
    """A similarity metric as a quality, for tasks with one right answer: filled slots, tool calls.

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
        """The metric's."""
        return self._metric.name

    @property
    def version(self) -> int:
        """The metric's."""
        return self._metric.version

    async def measure(self, pair: Pair) -> Measured:
        """The metric's value on the scale "agreement"; computed in a thread."""
        if not self._applies(pair):
            return Measured(None)
        value = await asyncio.to_thread(self._metric.score, pair)
        if isinstance(value, Failure):
            return Measured(None if value.reason in self._silent else value)
        score = QualityScore(self.name, self.version, 1.0, value, "agreement", self._tolerance)
        return Measured(score)
