"""A calibration from a score table: sensitivities, and thresholds of the metrics that watch each mode.

The primary metric watches a failure mode, the secondary one confirms it: WorkflowPerturb, Table 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np

from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.calibration import (
    SCHEMA,
    Calibration,
    FailureMode,
    GoldenSet,
    MetricResult,
    ModeResult,
    Placement,
    Role,
)
from evenkeel.lab.calibrate.resampling import CONFIDENCE, means, measured, multiplicities, rounded
from evenkeel.lab.calibrate.sensitivity import sensitivities, trajectories
from evenkeel.lab.calibrate.threshold import METRIC, VERSION, threshold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from numpy.typing import NDArray

    from evenkeel.lab.calibrate.calibration import BertModel, BootstrapFigure, Threshold
    from evenkeel.lab.calibrate.score_table import ScoreTable
    from evenkeel.lab.calibrate.sensitivity import Trajectory


@dataclass(frozen=True, slots=True)
class ModeWatch:
    """Metrics that shall watch a mode, the first that was measured."""

    primary: tuple[str, ...]
    secondary: tuple[str, ...]


# Chain F1 first: an inner step that is missing costs graph F1 its neighbours as well.
_STRUCTURE: Final = ("workflow_chain_f1", "workflow_graph_f1")
BUNDLE: Final[Mapping[FailureMode, ModeWatch]] = {
    FailureMode.MISSING: ModeWatch(_STRUCTURE, ("workflow_judge",)),
    FailureMode.COMPRESSED: ModeWatch(("workflow_tau_weighted",), _STRUCTURE),
    FailureMode.REWORDED: ModeWatch(("workflow_bleu", "workflow_gleu"), ("workflow_bert_score",)),
    FailureMode.REORDERED: ModeWatch(_STRUCTURE, ("workflow_tau_weighted",)),
    FailureMode.DUPLICATED: ModeWatch(_STRUCTURE, ("workflow_judge",)),
    FailureMode.ADDED: ModeWatch(_STRUCTURE, ("workflow_judge",)),
}
"""Metrics of workflows by failure mode, the first three as in Table 1.

Wording watches rewording alone: it moves under everything.
"""


# A slope takes two points.
_FEWEST_SEVERITIES = 2
_NOT_MEASURED: Final = Failure("calibration_role", 1, "not_measured", "No metric of the bundle was measured.")


def calibrate(
    table: ScoreTable,
    *,
    source: str,
    calibrated_on: date,
    encoder: str | None,
    bert_score: BertModel | None = None,
    seed: int,
    placement: Placement | None = None,
    resamples: int = 1000,
) -> Calibration:
    """Measure sensitivities and place thresholds for the metrics of a bundle.

    Args:
        table: scores of degraded goldens.
        source: of the goldens, for people.
        calibrated_on: today, as the caller sees it.
        encoder: of the embeddings behind the scores, None if there are none.
        bert_score: model behind BERTScore, None if it is the encoder.
        seed: of the resamples, written down so that the calibration can be repeated.
        placement: of the thresholds; default: at most a tenth of the mild candidates are flagged.
        resamples: of the bootstrap.
    """
    placement = placement or Placement()
    clusters = table.cluster_numbers
    # One set of resamples for every metric, so that their differences are not blurred by chance.
    drawn = multiplicities(len(table.goldens), resamples, Random(seed), clusters)
    resampled = means(table.scores, drawn)
    ways = {(way.metric, way.mode): way for way in trajectories(table, drawn)}
    figures: dict[str, dict[FailureMode, BootstrapFigure]] = {}
    by_metric: dict[str, dict[FailureMode, float]] = {}
    for column, facts in enumerate(table.metrics):
        figures[facts.name], by_metric[facts.name] = {}, {}
        for mode in table.modes:
            # A metric that was measured at too few severities of a mode has no figure for it.
            figure = _sensitivity(table, mode, column, resampled)
            if figure is not None:
                figures[facts.name][mode] = figure
                by_metric[facts.name][mode] = figure.value

    def role(names: Sequence[str], mode: FailureMode) -> Role | None:
        """The first of some metrics whose sensitivity to a mode is known."""
        for name in names:
            own = by_metric.get(name, {})
            if mode in own:
                placed = _threshold(table, mode, name, drawn, placement)
                return Role(
                    metric=name,
                    family=next(facts.family for facts in table.metrics if facts.name == name),
                    sensitivity=rounded(own[mode]),
                    specificity=rounded(specificity(own, mode)),
                    threshold=None if isinstance(placed, Failure) else placed,
                    no_threshold=placed if isinstance(placed, Failure) else None,
                )
        return None

    def result(mode: FailureMode) -> ModeResult:
        # A mode whose candidates all keep the expected score 1, such as rewording, takes nothing away.
        harmless = bool(np.nanmin(table.expected[:, list(table.places(mode))]) >= 1)
        primary = role(BUNDLE[mode].primary, mode)
        if primary is None:
            return ModeResult(mode, harmless, failure=_NOT_MEASURED)
        return ModeResult(mode, harmless, primary=primary, secondary=role(BUNDLE[mode].secondary, mode))

    results: list[MetricResult] = []
    for facts in table.metrics:
        residuals = _residuals(ways, facts.name, table)
        results.append(
            MetricResult(
                facts.name,
                facts.version,
                facts.family,
                facts.cost_usd,
                facts.time_ms,
                figures[facts.name],
                residuals,
            )
        )
    return Calibration(
        schema_version=SCHEMA,
        calibrated_on=calibrated_on.isoformat(),
        goldens=GoldenSet(source, len(table.goldens), table.digest, int(clusters.max()) + 1),
        encoder=encoder,
        bert_score=bert_score,
        placement=placement,
        confidence=CONFIDENCE,
        resamples=resamples,
        seed=seed,
        metrics=tuple(results),
        modes=tuple(map(result, table.modes)),
    )


def _sensitivity(
    table: ScoreTable, mode: FailureMode, column: int, resampled: NDArray[np.float64]
) -> BootstrapFigure | None:
    """Measure a metric's sensitivity to one mode; None with mean scores at fewer than two severities."""
    scores = table.scores[:, :, column]
    conditions = []
    for condition in table.places(mode):
        if not np.isnan(scores[:, condition]).all():
            conditions.append(condition)
    if len(conditions) < _FEWEST_SEVERITIES:
        return None
    severities = [table.conditions[condition].severity for condition in conditions]
    whole = means(scores[:, conditions], np.ones((1, len(scores))))
    value = float(sensitivities(whole, severities)[0])
    # The severity with the fewest scores limits what the slope rests on.
    n = int((~np.isnan(scores[:, conditions])).sum(axis=0).min())
    return measured(value, sensitivities(resampled[:, conditions, column], severities), n)


def _residuals(
    ways: Mapping[tuple[str, FailureMode], Trajectory], metric: str, table: ScoreTable
) -> dict[FailureMode, float]:
    values = {mode: ways[metric, mode].residual for mode in table.modes}
    return {mode: value for mode, value in values.items() if value is not None}


def specificity(sensitivities: Mapping[FailureMode, float], mode: FailureMode) -> float:
    """Measure how far a metric's reaction is about one mode: that mode's share of all its reactions.

    Returns: in [0, 1]; 1 = it reacts to nothing else, 0 = it does not fall under this mode.
    """
    total = sum(map(abs, sensitivities.values()))
    return max(0.0, sensitivities.get(mode, 0.0)) / total if total else 0.0


def _threshold(
    table: ScoreTable,
    mode: FailureMode,
    metric: str,
    drawn: NDArray[np.float64],
    placement: Placement,
) -> Threshold | Failure:
    column = next(i for i, facts in enumerate(table.metrics) if facts.name == metric)
    mild, moderate = table.place(mode, placement.mild), table.place(mode, placement.moderate)
    if mild is None or moderate is None:
        missing = placement.mild if mild is None else placement.moderate
        return Failure(METRIC, VERSION, "no_severity", f"No candidate of severity {missing:g} was scored.")
    return threshold(
        table.scores[:, mild, column],
        table.scores[:, moderate, column],
        drawn,
        placement,
        table.cluster_numbers,
    )
