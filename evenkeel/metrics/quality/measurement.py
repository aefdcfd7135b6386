"""Qualities of a pair: their protocol, their measurement on both answers, and all of them at once.

A judge rates each answer alone (`JudgedQuality`); a `RuleQuality` compares the two.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenkeel.core.budget import NOTHING, Spend, total
from evenkeel.core.verdict import Failure, QualityScore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.pair import Pair


@dataclass(frozen=True, slots=True)
class QualityMeasurement:
    """Outcome of measuring one quality on a pair, and its cost."""

    outcome: QualityScore | Failure | None
    """Score of the quality.

    None if the quality has nothing to report about this pair: it is left out, which is no failure.
    """
    spent: Spend = NOTHING
    """Cost, also of a measurement that failed."""


class PairQuality(Protocol):
    """Measure of whether a quality changed within a pair: all that the second stage of the score needs."""

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


class RuleQuality(ABC):
    """Quality that a rule measures on both answers, without a judge and at no cost."""

    async def measure(self, pair: Pair) -> QualityMeasurement:
        """Return `measure_now`, computed in a thread."""
        return QualityMeasurement(await asyncio.to_thread(self.measure_now, pair))

    @abstractmethod
    def measure_now(self, pair: Pair) -> QualityScore | Failure | None:
        """Measure both answers in this thread; None if there is nothing to report about them."""


@dataclass(frozen=True, slots=True)
class Qualities:
    """Scores and failures of the qualities of one pair, and their cost."""

    scores: tuple[QualityScore, ...]
    """Scores in the order of the qualities; qualities with nothing to report are left out."""
    failures: tuple[Failure, ...]
    spent: Spend


async def measure_all(measures: Iterable[PairQuality], pair: Pair) -> Qualities:
    """Measure every quality of a pair whose content has shifted.

    All are asked at once: a judge limits its own concurrency. One that fails is a failure beside the
    scores of the others. The cost covers every call made.
    """
    measurements = await asyncio.gather(*(quality.measure(pair) for quality in measures))
    outcomes = []
    for measurement in measurements:
        outcomes.append(measurement.outcome)
    return Qualities(
        tuple(outcome for outcome in outcomes if isinstance(outcome, QualityScore)),
        tuple(outcome for outcome in outcomes if isinstance(outcome, Failure)),
        total(measurement.spent for measurement in measurements),
    )
