"""What a similarity metric is, and what a rater of pairs gives back.

Metrics that ask a model: better in batches, or with a wait.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Failure


SCALE = (1, 2, 3)
"""Every rating of this project: 3 is best (or same), 1 is worst (or different)."""


class Metric(Protocol):
    """One number about how close two answers are. Pure, synchronous, safe to call from threads."""

    @property
    def name(self) -> str:
        """Label of the score, snake_case."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same pair may score differently than before."""
        ...

    def score(self, pair: Pair) -> float | Failure:
        """Closeness of the candidate to the reference.

        Every implementation documents what 0 and 1 mean, what it gives for two empty sides and for
        one, and where the definition comes from.

        Returns: a ratio in [0, 1], or a `Failure` if the pair cannot be scored; never NaN.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rating:
    """The outcome of rating something on the scale 1–3, and what it cost."""

    outcome: int | Failure
    """1, 2 or 3, or why there is none."""
    explanation: str = ""
    details: dict[str, float] = field(default_factory=dict)
    """Scores behind a heuristic rating, by metric name."""
    tokens: int = 0
    """Prompt and completion tokens spent, also on a rating that failed."""
    cost_usd: float = 0.0
    prompt_version: str = ""
    """Under which wording a judge was asked, as "name@version"; "" if none was."""


class Rater(Protocol):
    """Decides the similarity rating of a pair: the heuristics, or an LLM judge."""

    async def rate(self, pair: Pair) -> Rating:
        """Rate a pair 3 (same content and details), 2 (same ideas) or 1 (different message).

        Never raises for what a pair, a model or a network can do: that is a `Failure`.
        """
        ...


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
