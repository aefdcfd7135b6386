"""Protocols of metrics and raters, and what a metric declares about itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from evenkeel.core.budget import NOTHING, Spend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Failure


SCALE = (1, 2, 3)
"""Rating scale of this project: 3 is best (or same), 1 is worst (or different)."""


Family = Literal[
    "lexical",
    "sequence",
    "semantic",
    "structured",
    "structural",
    "order",
    "entity",
    "tools",
    "surface",
    "judge",
]
"""Family of a metric: the aspect of an answer that it measures.

"structured" is data in an answer, "structural" are the steps of a workflow, "order" is their order.
"""
Needs = Literal["nothing", "encoder", "token_matcher", "judge"]


@dataclass(frozen=True, slots=True)
class About:
    """Facts about a metric that people and calibrations need. Each metric declares its own."""

    family: Family
    akin: Family | None = None
    """Family whose blind spots the metric shares, if that is not its own."""
    label: str = ""
    """Name for people; "" = the metric's name with spaces."""
    needs: Needs = "nothing"
    """Dependency that the constructor takes; a metric that needs nothing is a heuristic."""
    aligns: bool = False
    """True if the constructor takes a `Comparison`, so that steps of workflows can be aligned by meaning."""


class Metric(Protocol):
    """Measure of how close two answers are. Pure, synchronous, safe to call from threads."""

    @property
    def name(self) -> str:
        """Label of the score, snake_case."""
        ...

    @property
    def version(self) -> int:
        """Version, raised whenever the same pair may score differently than before."""
        ...

    def score(self, pair: Pair) -> float | Failure:
        """Return the closeness of the candidate to the reference.

        Every implementation documents what 0 and 1 mean, what it gives for two empty sides and for
        one, and where the definition comes from.

        Returns: a ratio in [0, 1], or a `Failure` if the pair cannot be scored; never NaN.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rating:
    """Outcome of rating something on the scale 1–3, and its cost."""

    outcome: int | Failure | None
    """Rating 1, 2 or 3, or the reason why there is none.

    None = unsure: the answers differ, and no judge was asked.
    """
    explanation: str = ""
    details: dict[str, float] = field(default_factory=dict)
    """Scores behind a heuristic rating, by metric name."""
    spent: Spend = NOTHING
    """Cost, also of a rating that failed."""
    prompt_version: str = ""
    """Name and version of the judge's prompt, as "name@version"; "" if no judge was asked."""
    similarity: float | None = None
    """Closeness of the two answers, in [0, 1]; None if it was not measured."""


class Rater(Protocol):
    """Rater of the similarity of pairs: the heuristics, or an LLM judge."""

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """Rate each pair 3 (same content and details), 2 (same ideas) or 1 (different message).

        Those of one exchange are given together: a judge may rate them in one call.

        Never raises for what a pair, a model or a network can do: that is a `Failure`.
        """
        ...


class BatchMetric(Metric, Protocol):
    """Metric that scores many pairs at once for less than one at a time."""

    def score_all(self, pairs: Sequence[Pair]) -> list[float | Failure]:
        """Return the result of `score` for each pair, in order."""
        ...
