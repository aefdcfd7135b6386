"""What a quality is: of one answer against the context it was given, or of a pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, Pair
    from evenkeel.core.verdict import Failure, QualityScore
    from evenkeel.metrics.similarity.protocol import Rating


class QualityMetric(Protocol):
    """Rates one answer on the scale 1–3, 3 = best. Judged metrics and cheap stand-ins share it."""

    @property
    def name(self) -> str:
        """Label of the score; a cheap stand-in's ends in `_proxy`."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same answer may be rated differently than before."""
        ...

    async def rate(self, answer: Answer, context: str) -> Rating:
        """Rate an answer against the text of the prompt it answers.

        Never raises for what an answer, a model or a network can do: that is a `Failure` in the
        rating's outcome.
        """
        ...


@dataclass(frozen=True, slots=True)
class Measured:
    """The outcome of measuring one quality on a pair, and what it cost."""

    outcome: QualityScore | Failure | None
    """None if the quality has nothing to say about this pair: it is left out, which is no failure."""
    tokens: int = 0
    """Prompt and completion tokens spent, also on a measurement that failed."""
    cost_usd: float = 0.0


class PairQuality(Protocol):
    """Says of a pair whether a quality changed. All that the second stage of the score needs.

    A `QualityMetric` becomes one by `EachSide`, a similarity metric by `Agreement`.
    """

    @property
    def name(self) -> str:
        """Label of the score."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same pair may be measured differently than before."""
        ...

    async def measure(self, pair: Pair) -> Measured:
        """Measure both answers. Never raises for what an answer, a model or a network can do."""
        ...
