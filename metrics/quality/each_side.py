"""A quality of one answer, measured on both answers of a pair."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure, QualityScore
from evenkeel.metrics.quality.protocol import Measured

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair
    from evenkeel.metrics.quality.protocol import QualityMetric


class EachSide:
    """Rates each answer alone, on 1–3. Quality changed if the two ratings differ."""

    def __init__(self, metric: QualityMetric) -> None:
        self._metric = metric

    @property
    def name(self) -> str:
        """The metric's."""
        return self._metric.name

    @property
    def version(self) -> int:
        """The metric's."""
        return self._metric.version

    async def measure(self, pair: Pair) -> Measured:
        """Both ratings, asked for at the same time; the failure of either, the reference's first."""
        reference, candidate = await asyncio.gather(
            self._metric.rate(pair.reference, pair.context), self._metric.rate(pair.candidate, pair.context)
        )
        tokens, cost = reference.tokens + candidate.tokens, reference.cost_usd + candidate.cost_usd
        outcome: QualityScore | Failure
        match reference.outcome, candidate.outcome:
            case Failure() as failure, _:
                outcome = failure
            case _, Failure() as failure:
                outcome = failure
            case int(before), int(after):
                outcome = QualityScore(self.name, self.version, before, after)
        return Measured(outcome, tokens, cost)
