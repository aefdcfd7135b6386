"""Scores an answer beside the approved one: by the two-stage rating, by calibrated metrics, or by both."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.degrade.form import form_of
from evenkeel.experiments.gate.breach import RATED, calibrated_breaches, rated_breaches, watched_modes
from evenkeel.experiments.gate.report import Measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Judgement
    from evenkeel.experiments.calibrate.calibration import Calibration
    from evenkeel.experiments.calibrate.columns import PairScorer
    from evenkeel.experiments.calibrate.judged import Asked, Opinion
    from evenkeel.experiments.gate.breach import Breached
    from evenkeel.metrics.scoring import TwoStageScorer

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Scored:
    """One answer beside the approved one."""

    breaches: Mapping[str, Breached]
    judgement: Judgement | None = None
    opinions_usd: float = 0.0
    """What the judge's scores cost, besides its judgement."""
    scores: Mapping[str, float | Failure] = field(default_factory=dict)
    """By metric; empty without a calibration."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Metrics that are held against a calibration's thresholds."""

    calibration: Calibration
    scorer: PairScorer
    asked: Sequence[Asked] = ()
    """Metrics that a judge gives."""

    async def opinions(self, pair: Pair) -> dict[str, Opinion]:
        """What the judge says; nothing if no mode is watched by it, or for another form of answer."""
        if self._other_form(pair):
            return {}
        return {one.name: await one.ask(pair) for one in self.asked}

    def score(self, pair: Pair) -> dict[str, float | Failure]:
        """The scores of every metric with a role but the judge's. Work for the processor.

        A score means something else for another form of answer than the calibration was made on: each is a
        failure "other_form" then.
        """
        names = roles(self.calibration)
        if self._other_form(pair):
            detail = f"the calibration is about answers of the form {self.calibration.form}"
            return {name: Failure(name, _VERSION, "other_form", detail) for name in names}
        return self.scorer.score(pair, names)

    def _other_form(self, pair: Pair) -> bool:
        wanted = self.calibration.form
        return wanted is not None and form_of(pair.reference, pair.task) != wanted


def roles(calibration: Calibration) -> set[str]:
    """Names of the metrics that watch a mode."""
    return {role.metric for mode in calibration.modes for role in (mode.primary, mode.secondary) if role}


class Scoring:
    """What an answer is held against. At least one of the two is there."""

    def __init__(self, rating: TwoStageScorer | None, calibrated: Calibrated | None) -> None:
        self.rating = rating
        self.calibrated = calibrated

    @property
    def said(self) -> str:
        """Who scores, for the head of a report."""
        parts = []
        if self.rating is not None:
            judged = self.rating.scorer == "judge"
            parts.append("rated by the judge" if judged else "rated by metrics, without a judge")
        if self.calibrated is not None:
            parts.append(f"thresholds of {self.calibrated.calibration.calibrated_on}")
        return ", ".join(parts)

    async def score(self, pair: Pair) -> Scored:
        """Score a pair; what cannot be measured is among the breaches as a failure."""
        breaches: dict[str, Breached] = {}
        judgement: Judgement | None = None
        scores: dict[str, float | Failure] = {}
        opinions_usd = 0.0
        if self.rating is not None:
            judgement = await self.rating.score(pair)
            breaches |= rated_breaches(judgement)
        if self.calibrated is not None:
            scores = await asyncio.to_thread(self.calibrated.score, pair)
            for name, opinion in (await self.calibrated.opinions(pair)).items():
                scores[name] = opinion.outcome
                opinions_usd += opinion.cost_usd
            breaches |= calibrated_breaches(self.calibrated.calibration, scores)
        return Scored(breaches, judgement, opinions_usd, scores)

    def measures(self, deciding: Sequence[str] = ()) -> tuple[Measure, ...]:
        """What is looked at.

        Args:
            deciding: Names of the measures that can fail the gate; none = all but harmless modes.

        Raises: ValueError for a name that is not among them.
        """
        harmless = self._harmless()
        names = [*(RATED if self.rating else ()), *self._modes()]
        for name in deciding:
            if name not in names:
                raise ValueError(f'"{name}" is not measured here; there are {", ".join(names)}')
        return tuple(self._measure(name, deciding, harmless) for name in names)

    def _modes(self) -> tuple[str, ...]:
        if self.calibrated is None:
            return ()
        return tuple(mode.value for mode in watched_modes(self.calibrated.calibration))

    def _harmless(self) -> set[str]:
        if self.calibrated is None:
            return set()
        return {result.mode.value for result in self.calibrated.calibration.modes if result.harmless}

    def _measure(self, name: str, deciding: Sequence[str], harmless: set[str]) -> Measure:
        if deciding:
            return Measure(
                name=name, decides=name in deciding, why_not="" if name in deciding else "not chosen"
            )
        return Measure(
            name=name, decides=name not in harmless, why_not="harmless" if name in harmless else ""
        )
