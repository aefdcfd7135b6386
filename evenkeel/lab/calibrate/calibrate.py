"""A calibration from a score table: sensitivities, roles and thresholds.

A role says which metric watches a failure mode, and which one confirms it. The source (WorkflowPerturb,
appendix C) gives reasons in prose, not a formula. This is a rule that gives its choices back from its
figures:

- **Primary**: every failure mode gets a metric family of its own, so that an alert names the mode.
  Of all ways to hand families out, the one with the largest sum of sensitivities is taken. That is how
  a family that falls under everything alike (BLEU) is kept for the mode in which nothing else falls.
  Families with a price per score are no primaries: the free ones are there to avoid it.
- **Secondary**: of the other families, the most specific one for the mode, whatever it costs.

Only families that are at least moderately sensitive to a mode (0.3) are candidates for it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.calibration import (
    SCHEMA,
    Calibration,
    Goldens,
    MetricResult,
    ModeResult,
    Placement,
    Role,
)
from evenkeel.lab.calibrate.resampling import CONFIDENCE, means, measured, multiplicities, rounded
from evenkeel.lab.calibrate.sensitivity import MODERATE, sensitivities, trajectories
from evenkeel.lab.calibrate.threshold import METRIC, VERSION, threshold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date
    from random import Random

    from numpy.typing import NDArray

    from evenkeel.lab.calibrate.calibration import BertModel, FailureMode, Measured, Threshold
    from evenkeel.lab.calibrate.score_table import MetricFacts, ScoreTable
    from evenkeel.lab.calibrate.sensitivity import Trajectory
    from evenkeel.metrics.protocol import AnswerForm


_ROLE = "calibration_role"
_ROLE_VERSION = 1

_CHEAP_USD = 0.001
"""A family is cheap if none of its metrics costs more than this."""

Sensitivities = dict[str, dict["FailureMode", float]]
"""Sensitivity by metric or family, then by mode; what could not be measured is absent."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A family for a mode, and the metric that speaks for it."""

    family: str
    metric: str
    """The family's most sensitive one; of equals the cheaper, then the one named first."""
    sensitivity: float
    """Sensitivity of the family: mean over its metrics."""
    specificity: float
    """Share of this mode in the sum of the family's absolute sensitivities, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Roles:
    """The metrics that watch one failure mode."""

    primary: Choice | Failure
    """A failure "insensitive" if no metric moves enough."""
    secondary: Choice | None
    """None if no other family moves enough."""


def roles(
    by_metric: Mapping[str, Mapping[FailureMode, float]],
    metrics: Sequence[MetricFacts],
    modes: Sequence[FailureMode],
) -> dict[FailureMode, Roles]:
    """Choose primary and secondary for each mode.

    With more modes than families that suit them, families are handed out again to the modes that are
    left. A mode to which only expensive families are sensitive gets the most sensitive of those.

    Args:
        by_metric: sensitivities.
        metrics: all of them; ties go to the family named first.
        modes: all of them.
    """
    families = tuple(dict.fromkeys(facts.family for facts in metrics))
    of_family = {family: _mean(by_metric, metrics, family) for family in families}
    cheap = [
        family
        for family in families
        if all(facts.cost_usd <= _CHEAP_USD for facts in metrics if facts.family == family)
    ]
    primaries = _rounds(of_family, cheap, modes)
    primaries |= _rounds(of_family, families, [mode for mode in modes if mode not in primaries])

    def choice(family: str, mode: FailureMode) -> Choice:
        members = [
            facts for facts in metrics if facts.family == family and mode in by_metric.get(facts.name, {})
        ]
        best = min(members, key=lambda facts: (-by_metric[facts.name][mode], facts.cost_usd))
        of = of_family[family]
        return Choice(family, best.name, of[mode], specificity(of, mode))

    def secondary(mode: FailureMode, primary: str) -> Choice | None:
        others = [
            family
            for family in families
            if family != primary and of_family[family].get(mode, 0.0) >= MODERATE
        ]
        if not others:
            return None
        return choice(max(others, key=lambda family: round(specificity(of_family[family], mode), 9)), mode)

    return {
        mode: Roles(choice(primaries[mode], mode), secondary(mode, primaries[mode]))
        if mode in primaries
        else Roles(
            Failure(_ROLE, _ROLE_VERSION, "insensitive", f"No metric falls by {MODERATE} or more."),
            None,
        )
        for mode in modes
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Watch:
    """Metrics that shall watch a mode, the first that was measured."""

    primary: tuple[str, ...]
    secondary: tuple[str, ...]


def named_roles(
    by_metric: Mapping[str, Mapping[FailureMode, float]],
    metrics: Sequence[MetricFacts],
    bundle: Mapping[FailureMode, Watch],
) -> dict[FailureMode, Roles]:
    """Give each mode the metrics that a bundle names, as far as they were measured."""

    def choice(names: Sequence[str], mode: FailureMode) -> Choice | None:
        for facts in sorted(
            (facts for facts in metrics if facts.name in names), key=lambda facts: names.index(facts.name)
        ):
            if mode in by_metric[facts.name]:
                own = by_metric[facts.name]
                return Choice(facts.family, facts.name, own[mode], specificity(own, mode))
        return None

    insensitive = Failure(_ROLE, _ROLE_VERSION, "not_measured", "No metric of the bundle was measured.")
    return {
        mode: Roles(choice(watch.primary, mode) or insensitive, choice(watch.secondary, mode))
        for mode, watch in bundle.items()
    }


def specificity(sensitivities: Mapping[FailureMode, float], mode: FailureMode) -> float:
    """Measure how far a family's reaction is about one mode: that mode's share of all its reactions.

    Returns: in [0, 1]; 1 = it reacts to nothing else, 0 = it does not fall under this mode.
    """
    total = sum(abs(value) for value in sensitivities.values())
    return max(0.0, sensitivities.get(mode, 0.0)) / total if total else 0.0


def _mean(
    by_metric: Mapping[str, Mapping[FailureMode, float]], metrics: Sequence[MetricFacts], family: str
) -> dict[FailureMode, float]:
    """A family's sensitivities: means over those of its metrics that were measured."""
    members = [by_metric.get(facts.name, {}) for facts in metrics if facts.family == family]
    modes = dict.fromkeys(mode for member in members for mode in member)
    found = {mode: [member[mode] for member in members if mode in member] for mode in modes}
    return {mode: sum(values) / len(values) for mode, values in found.items()}


def _rounds(
    of_family: Sensitivities, families: Sequence[str], modes: Sequence[FailureMode]
) -> dict[FailureMode, str]:
    """Families handed out until every mode has one that some family suits."""
    given: dict[FailureMode, str] = {}
    left = list(modes)
    while new := _hand_out(of_family, families, left):
        given |= new
        left = [mode for mode in left if mode not in given]
    return given


def _hand_out(
    of_family: Sensitivities, families: Sequence[str], modes: Sequence[FailureMode]
) -> dict[FailureMode, str]:
    """Hand each family to one mode at most, for the largest number of modes, then the largest sum."""

    @cache
    def best(place: int, used: int) -> tuple[int, float, tuple[int | None, ...]]:
        """From this mode on, with these families (bits) gone: modes served, sum, family of each mode."""
        if place == len(modes):
            return 0, 0.0, ()
        served, total, rest = best(place + 1, used)
        found: tuple[int, float, tuple[int | None, ...]] = (served, total, (None, *rest))
        for i, family in enumerate(families):
            value = of_family[family].get(modes[place], 0.0)
            if used >> i & 1 or value < MODERATE:
                continue
            served, total, rest = best(place + 1, used | 1 << i)
            # Rounded, so that a tie goes to the family named first on every platform.
            if (served + 1, round(total + value, 9)) > found[:2]:
                found = served + 1, round(total + value, 9), (i, *rest)
        return found

    return {mode: families[i] for mode, i in zip(modes, best(0, 0)[2], strict=True) if i is not None}


_CHOOSING = 200
"""Resamples in which the roles are chosen again."""
_FEWEST_SEVERITIES = 2


def calibrate(
    table: ScoreTable,
    *,
    source: str,
    calibrated_on: date,
    encoder: str | None,
    bert_score: BertModel | None = None,
    seed: int,
    rng: Random,
    form: AnswerForm | None = None,
    placement: Placement | None = None,
    resamples: int = 1000,
    bundle: Mapping[FailureMode, Watch] | None = None,
) -> Calibration:
    """Measure sensitivities, choose roles and place thresholds.

    Args:
        table: scores of degraded goldens.
        source: of the goldens, for people.
        calibrated_on: today, as the caller sees it.
        encoder: of the embeddings behind the scores, None if there are none.
        bert_score: model behind BERTScore, None if it is the encoder.
        seed: of `rng`, written down so that the calibration can be repeated.
        rng: draws the resamples.
        form: of the goldens' answers.
        placement: of the thresholds; default: at most a tenth of the mild candidates are flagged.
        resamples: of the bootstrap.
        bundle: metrics for each mode; None = chosen by the rule above.
    """
    placement = placement or Placement()
    clusters = table.cluster_numbers
    drawn = multiplicities(len(table.goldens), resamples, rng, clusters)
    resampled = means(table.scores, drawn)
    found = {
        (facts.name, mode): value
        for column, facts in enumerate(table.metrics)
        for mode in table.modes
        if (value := _sensitivity(table, mode, column, resampled)) is not None
    }
    ways = {(way.metric, way.mode): way for way in trajectories(table, drawn)}
    by_metric = {
        facts.name: {
            mode: found[facts.name, mode].value for mode in table.modes if (facts.name, mode) in found
        }
        for facts in table.metrics
    }
    if bundle is None:
        chosen = roles(by_metric, table.metrics, table.modes)
        again = _chosen_again(table, resampled[:_CHOOSING])
    else:
        chosen = named_roles(by_metric, table.metrics, {mode: bundle[mode] for mode in table.modes})
        again = None
    return Calibration(
        schema_version=SCHEMA,
        calibrated_on=calibrated_on.isoformat(),
        goldens=Goldens(source, len(table.goldens), table.digest, int(clusters.max()) + 1),
        form=form,
        encoder=encoder,
        bert_score=bert_score,
        placement=placement,
        confidence=CONFIDENCE,
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
            _mode(table, mode, chosen[mode], again, drawn, placement) for mode in table.modes
        ),
    )  # fmt: skip


def _sensitivity(
    table: ScoreTable, mode: FailureMode, column: int, resampled: NDArray[np.float64]
) -> Measured | None:
    """Measure a metric's sensitivity to one mode; None with mean scores at fewer than two severities."""
    scores = table.scores[:, :, column]
    places = [place for place in table.places(mode) if not np.isnan(scores[:, place]).all()]
    if len(places) < _FEWEST_SEVERITIES:
        return None
    severities = [table.conditions[place].severity for place in places]
    whole = means(scores[:, places], np.ones((1, len(scores))))
    value = float(sensitivities(whole, severities)[0])
    n = int((~np.isnan(scores[:, places])).sum(axis=0).min())
    return measured(value, sensitivities(resampled[:, places, column], severities), n)


def _residuals(
    ways: Mapping[tuple[str, FailureMode], Trajectory], metric: str, table: ScoreTable
) -> dict[FailureMode, float]:
    values = {mode: ways[metric, mode].residual for mode in table.modes}
    return {mode: value for mode, value in values.items() if value is not None}


def _chosen_again(table: ScoreTable, resampled: NDArray[np.float64]) -> Counter[tuple[FailureMode, str, str]]:
    """Count how often each family gets each role for each mode, as a share of the resamples."""
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
    again: Counter[tuple[FailureMode, str, str]] | None,
    drawn: NDArray[np.float64],
    placement: Placement,
) -> ModeResult:
    harmless = bool(np.nanmin(table.expected[:, list(table.places(mode))]) >= 1)
    if isinstance(chosen.primary, Failure):
        return ModeResult(mode, harmless, failure=chosen.primary)

    def role(choice: Choice, part: str) -> Role:
        placed = _threshold(table, mode, choice.metric, drawn, placement)
        share = 1.0 if again is None else again[mode, part, choice.family] / min(_CHOOSING, len(drawn))
        return Role(
            metric=choice.metric,
            family=choice.family,
            sensitivity=rounded(choice.sensitivity),
            specificity=rounded(choice.specificity),
            stability=rounded(share),
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
