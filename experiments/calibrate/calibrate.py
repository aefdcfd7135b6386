"""From a score table to a calibration."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.calibration import (
    SCHEMA,
    Calibration,
    Goldens,
    MetricResult,
    ModeResult,
    Role,
)
from evenkeel.experiments.calibrate.resampling import means, measured, multiplicities, rounded
from evenkeel.experiments.calibrate.roles import Choice, Roles, roles
from evenkeel.experiments.calibrate.sensitivity import sensitivities, trajectories
from evenkeel.experiments.calibrate.threshold import METRIC, VERSION, Placement, threshold

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from random import Random

    from numpy.typing import NDArray

    from evenkeel.experiments.calibrate.resampling import Measured
    from evenkeel.experiments.calibrate.score_table import FailureMode, ScoreTable
    from evenkeel.experiments.calibrate.sensitivity import Trajectory
    from evenkeel.experiments.calibrate.threshold import Threshold
    from evenkeel.metrics.cascade import Bands
    from evenkeel.metrics.protocol import AnswerForm

_CHOOSING = 200
"""Resamples in which the roles are chosen again."""
_FEWEST_SEVERITIES = 2


def calibrate(
    table: ScoreTable,
    *,
    source: str,
    calibrated_on: date,
    encoder: str | None,
    seed: int,
    rng: Random,
    form: AnswerForm | None = None,
    placement: Placement | None = None,
    bands: Bands | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
) -> Calibration:
    """Measure sensitivities, choose roles and place thresholds.

    Args:
        table: scores of degraded goldens.
        source: of the goldens, for people.
        calibrated_on: today, as the caller sees it.
        encoder: of the embeddings behind the scores, None if there are none.
        seed: of `rng`, written down so that the calibration can be repeated.
        rng: draws the resamples.
        form: of the goldens' answers.
        placement: of the thresholds; default: at most a tenth of the mild candidates are flagged.
        bands: for the cascade, if a judge has rated pairs.
        resamples: of the bootstrap.
        confidence: of all intervals.
    """
    placement = placement or Placement()
    drawn = multiplicities(len(table.goldens), resamples, rng)
    resampled = means(table.scores, drawn)
    found = {
        (facts.name, mode): value
        for column, facts in enumerate(table.metrics)
        for mode in table.modes
        if (value := _sensitivity(table, mode, column, resampled, confidence)) is not None
    }
    ways = {(way.metric, way.mode): way for way in trajectories(table, drawn, confidence=confidence)}
    by_metric = {
        facts.name: {
            mode: found[facts.name, mode].value for mode in table.modes if (facts.name, mode) in found
        }
        for facts in table.metrics
    }
    chosen = roles(by_metric, table.metrics, table.modes)
    again = _chosen_again(table, resampled[:_CHOOSING])
    return Calibration(
        schema_version=SCHEMA,
        calibrated_on=calibrated_on.isoformat(),
        goldens=Goldens(source, len(table.goldens), table.digest),
        form=form,
        encoder=encoder,
        placement=placement,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        metrics=tuple(
            MetricResult(
                facts.name, facts.version, facts.family, facts.cost_usd, facts.time_ms,
                {mode: found[facts.name, mode] for mode in table.modes if (facts.name, mode) in found},
                _residuals(ways, facts.name, table),
            )
            for facts in table.metrics
        ),
        modes=tuple(
            _mode(table, mode, chosen[mode], again, drawn, placement, confidence) for mode in table.modes
        ),
        bands=bands,
    )  # fmt: skip


def _sensitivity(
    table: ScoreTable, mode: FailureMode, column: int, resampled: NDArray[np.float64], confidence: float
) -> Measured | None:
    """One metric's sensitivity to one mode; None with mean scores at fewer than two severities."""
    scores = table.scores[:, :, column]
    places = [place for place in table.places(mode) if not np.isnan(scores[:, place]).all()]
    if len(places) < _FEWEST_SEVERITIES:
        return None
    severities = [table.conditions[place].severity for place in places]
    whole = means(scores[:, places], np.ones((1, len(scores))))
    value = float(sensitivities(whole, severities)[0])
    n = int((~np.isnan(scores[:, places])).sum(axis=0).min())
    return measured(value, sensitivities(resampled[:, places, column], severities), n, confidence)


def _residuals(
    ways: Mapping[tuple[str, FailureMode], Trajectory], metric: str, table: ScoreTable
) -> dict[FailureMode, float]:
    values = {mode: ways[metric, mode].residual for mode in table.modes}
    return {mode: value for mode, value in values.items() if value is not None}


def _chosen_again(table: ScoreTable, resampled: NDArray[np.float64]) -> Counter[tuple[FailureMode, str, str]]:
    """How often each family gets each role for each mode, as a share of the resamples."""
    curves: dict[tuple[str, FailureMode], NDArray[np.float64]] = {}
    for mode in table.modes:
        places = list(table.places(mode))
        if len(places) < _FEWEST_SEVERITIES:
            continue
        severities = [table.conditions[place].severity for place in places]
        for column, facts in enumerate(table.metrics):
            curves[facts.name, mode] = sensitivities(resampled[:, places, column], severities)
    counted: Counter[tuple[FailureMode, str, str]] = Counter()
    for i in range(len(resampled)):
        by_metric: dict[str, dict[FailureMode, float]] = {facts.name: {} for facts in table.metrics}
        for (name, mode), values in curves.items():
            if not np.isnan(values[i]):
                by_metric[name][mode] = float(values[i])
        for mode, role in roles(by_metric, table.metrics, table.modes).items():
            if not isinstance(role.primary, Failure):
                counted[mode, "primary", role.primary.family] += 1
            if role.secondary is not None:
                counted[mode, "secondary", role.secondary.family] += 1
    return counted


def _mode(
    table: ScoreTable,
    mode: FailureMode,
    chosen: Roles,
    again: Counter[tuple[FailureMode, str, str]],
    drawn: NDArray[np.float64],
    placement: Placement,
    confidence: float,
) -> ModeResult:
    harmless = bool(np.nanmin(table.expected[:, list(table.places(mode))]) >= 1)
    if isinstance(chosen.primary, Failure):
        return ModeResult(mode, harmless, failure=chosen.primary)

    def role(choice: Choice, part: str) -> Role:
        placed = _threshold(table, mode, choice.metric, drawn, placement, confidence)
        return Role(
            metric=choice.metric,
            family=choice.family,
            sensitivity=rounded(choice.sensitivity),
            specificity=rounded(choice.specificity),
            stability=rounded(again[mode, part, choice.family] / min(_CHOOSING, len(drawn))),
            threshold=None if isinstance(placed, Failure) else placed,
            no_threshold=placed if isinstance(placed, Failure) else None,
        )

    return ModeResult(
        mode,
        harmless,
        primary=role(chosen.primary, "primary"),
        secondary=None if chosen.secondary is None else role(chosen.secondary, "secondary"),
    )


def _threshold(
    table: ScoreTable,
    mode: FailureMode,
    metric: str,
    drawn: NDArray[np.float64],
    placement: Placement,
    confidence: float,
) -> Threshold | Failure:
    column = next(i for i, facts in enumerate(table.metrics) if facts.name == metric)
    mild, moderate = table.place(mode, placement.mild), table.place(mode, placement.moderate)
    if mild is None or moderate is None:
        missing = placement.mild if mild is None else placement.moderate
        return Failure(METRIC, VERSION, "no_severity", f"No candidate of severity {missing:g} was scored.")
    return threshold(
        table.scores[:, mild, column], table.scores[:, moderate, column], drawn, placement,
        confidence=confidence,
    )  # fmt: skip
