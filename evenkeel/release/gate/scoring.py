"""Scores an answer beside the approved one, and the measures that it breaches."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import NO_JUDGE
from evenkeel.core.verdict import SAME_CONTENT, Failure
from evenkeel.monitor.detect.gate import Measure
from evenkeel.release.calibration.calibration import FailureMode
from evenkeel.release.calibration.forms import form_of
from evenkeel.release.gate.steps import STEPS_CHANGED, step_change

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Judgement
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.release.calibration.calibration import Calibration
    from evenkeel.release.calibration.columns import PairScorer
    from evenkeel.release.calibration.judge import Asked, Opinion


CONTENT_SHIFT: Final = "content_shift"
"""The answer does not say what the approved one says: a rating below 3."""
QUALITY_CHANGE: Final = "quality_change"
"""The content has shifted and a quality changed with it, other than for the better alone."""
RATED: Final = (CONTENT_SHIFT, QUALITY_CHANGE)
"""Measures of the two-stage rating by a judge."""
DIFFERS: Final = "differs"
"""The only measure without a judge: the answer is not identical to the approved one.

The gate counts it only where the answer is less similar to the approved one than the other side's.
"""

VERSION: Final = 1

Breached = bool | Failure
"""True if an answer breaches a measure, or why that is not known."""


def rated_breaches(judgement: Judgement) -> dict[str, Breached]:
    """Return what a judgement says about the measures in `RATED`; without a judge about `DIFFERS`.

    A quality that failed leaves `quality_change` open, unless another one got worse already.
    """
    shifted = judgement.shifted
    if judgement.scorer == "metrics":
        similarity = judgement.similarity
        return {DIFFERS: judgement.failures[0] if similarity is None else judgement.rating != SAME_CONTENT}
    if shifted is None:
        return dict.fromkeys(RATED, judgement.failures[0])
    if not shifted:
        return {CONTENT_SHIFT: False, QUALITY_CHANGE: False}
    if judgement.invalid:
        return {CONTENT_SHIFT: True, QUALITY_CHANGE: True}
    directions = [score.direction for score in judgement.quality if score.changed]
    changed: Breached = any(direction != "better" for direction in directions)
    if not changed and judgement.failures:
        changed = judgement.failures[0]
    elif not judgement.quality:
        changed = Failure(QUALITY_CHANGE, VERSION, "no_quality", "no quality metric applies to this answer")
    return {CONTENT_SHIFT: True, QUALITY_CHANGE: changed}


def calibrated_breaches(
    calibration: Calibration, scores: Mapping[str, float | Failure]
) -> dict[str, Breached]:
    """Return what scores say about each failure mode that the calibration has a threshold for.

    All degradations of a workflow move the same metrics, so those that are not harmless are one measure:
    `steps_changed`.
    """
    breached = {breach.mode for breach in calibration.breaches(scores)}
    unwatched = set(calibration.unwatched(scores))
    found: dict[str, Breached] = {}
    for mode in watched_modes(calibration):
        name, before = measure_name(calibration, mode), found.get(measure_name(calibration, mode), False)
        if mode in unwatched:
            found[name] = before or _why(calibration, mode, scores)
        else:
            found[name] = mode in breached or before
    return found


def measure_name(calibration: Calibration, mode: FailureMode) -> str:
    """Return the name of the measure to which a failure mode belongs."""
    result = calibration.of(mode)
    harmless = result is not None and result.harmless
    return STEPS_CHANGED if calibration.form == "workflow" and not harmless else mode.value


def watched_modes(calibration: Calibration) -> tuple[FailureMode, ...]:
    """The failure modes whose primary metric has a threshold."""
    return tuple(
        result.mode
        for result in calibration.modes
        if result.mode is not FailureMode.NONE and result.primary and result.primary.threshold
    )


def _why(calibration: Calibration, mode: FailureMode, scores: Mapping[str, float | Failure]) -> Failure:
    result = calibration.of(mode)
    assert result is not None
    assert result.primary is not None
    score = scores.get(result.primary.metric)
    if isinstance(score, Failure):
        return score
    return Failure(result.primary.metric, VERSION, "not_in_use", "the metric was not computed")


@dataclass(frozen=True, slots=True)
class Scored:
    """An answer compared with the approved one."""

    breaches: Mapping[str, Breached]
    judgement: Judgement | None = None
    opinions_usd: float = 0.0
    """Cost of the judge's scores, besides its judgement."""
    scores: Mapping[str, float | Failure] = field(default_factory=dict)
    """Scores by metric; empty without a calibration."""
    change: str = ""
    """Name of what became of a workflow's steps; "" if they did not change, or it is none."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Metrics that are held against a calibration's thresholds."""

    calibration: Calibration
    scorer: PairScorer
    asked: Sequence[Asked] = ()
    """Metrics that a judge gives."""

    async def opinions(self, pair: Pair) -> dict[str, Opinion]:
        """Ask the judge; nothing if no mode is watched by it, or for another form of answer."""
        if self._other_form(pair):
            return {}
        return {asked.name: await asked.ask(pair) for asked in self.asked}

    def score(self, pair: Pair) -> dict[str, float | Failure]:
        """The scores of every metric with a role but the judge's. Work for the processor.

        A score means something else for another form of answer than the calibration was made on: each is a
        failure "other_form" then.
        """
        names = roles(self.calibration)
        if self._other_form(pair):
            detail = f"the calibration is about answers of the form {self.calibration.form}"
            return {name: Failure(name, VERSION, "other_form", detail) for name in names}
        return self.scorer.score(pair, names)

    def _other_form(self, pair: Pair) -> bool:
        wanted = self.calibration.form
        return wanted is not None and form_of(pair.reference, pair.task) != wanted


def roles(calibration: Calibration) -> set[str]:
    """Names of the metrics that watch a mode."""
    return {role.metric for mode in calibration.modes for role in (mode.primary, mode.secondary) if role}


class Scoring:
    """Rating and thresholds that score an answer. At least one of the two is there."""

    def __init__(self, rating: TwoStageScorer | None, calibrated: Calibrated | None) -> None:
        self.rating = rating
        self.calibrated = calibrated

    @property
    def _rated(self) -> tuple[str, ...]:
        """Measures of the ratings."""
        if self.rating is None:
            return ()
        return RATED if self.rating.scorer == "judge" else (DIFFERS,)

    @property
    def said(self) -> str:
        """Name the scorers, for the head of a report."""
        parts = []
        if self.rating is not None:
            parts.append("rated by the judge" if self.rating.scorer == "judge" else NO_JUDGE)
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
        change = step_change(pair) if breaches.get(STEPS_CHANGED) is True else ""
        return Scored(breaches, judgement, opinions_usd, scores, change)

    def measures(self, deciding: Sequence[str] = ()) -> tuple[Measure, ...]:
        """Return the measures of a run.

        Args:
            deciding: Names of the measures that can fail the gate; none = all but harmless modes.

        Raises: ValueError for a name that is not among them.
        """
        modes = self.calibrated.calibration.modes if self.calibrated else ()
        watched = watched_modes(self.calibrated.calibration) if self.calibrated else ()
        calibration = self.calibrated.calibration if self.calibrated else None
        modes_named = [measure_name(calibration, mode) for mode in watched] if calibration else []
        names = [*self._rated, *dict.fromkeys(modes_named)]
        for name in deciding:
            if name not in names:
                raise ValueError(f'"{name}" is not measured here; there are {", ".join(names)}')
        why_not = {result.mode.value: "harmless" for result in modes if result.harmless}
        if deciding:
            why_not = {name: "not chosen" for name in names if name not in deciding}
        return tuple(
            Measure(name=name, decides=name not in why_not, why_not=why_not.get(name, "")) for name in names
        )
