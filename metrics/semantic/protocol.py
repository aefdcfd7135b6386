"""Metrics that ask a model: better in batches, or with a wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from evenkeel.metrics.similarity.protocol import Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Failure


class BatchMetric(Metric, Protocol):
    """A metric that scores many pairs at once for less than one at a time."""

    def score_all(self, pairs: Sequence[Pair]) -> list[float | Failure]:
        """What `score` gives for each pair, in order."""
        ...


class AsyncMetric(Protocol):
    """A metric that waits for a network. Belongs to one event loop."""

    @property
    def name(self) -> str:
        """Label of the score, snake_case."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same pair may score differently than before."""
        ...

    async def score(self, pair: Pair) -> float | Failure:
        """Closeness of the candidate to the reference, a ratio in [0, 1], or why there is none."""
        ...

    async def score_all(self, pairs: Sequence[Pair]) -> list[float | Failure]:
        """What `score` gives for each pair, in order, in as few requests as possible."""
        ...
