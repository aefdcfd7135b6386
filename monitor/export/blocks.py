"""Which reports fill which families: `CELLS`, `NOISE`, `JUDGES`, `ROLLUPS` and `CHANGES`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.export.families import (
    CELL,
    IN_WINDOW,
    JUDGE_RATES,
    NOISE_RATE,
    OVER_CELLS,
    PLACE,
    RATES,
    ROLLED,
    ROLLUP,
    WINDOWED,
    Family,
    Sample,
    Samples,
    add,
    families,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.cells import CellReport, DriftReport, RollupReport, RouteChanges


class Block(NamedTuple):
    """Families that are filled from the same reports."""

    families: tuple[Family, ...]
    samples: Callable[[Any], Samples]
    """What one report says in each family."""
    same: Callable[[Any, Any], bool]
    """Whether a report says what another of the same key, read before, said."""


_CELL_FAMILIES = (
    *families(RATES, (*CELL, "scorer")),
    *families(WINDOWED, (*CELL, "window", "scorer"), "window_", IN_WINDOW),
    Family(
        "evenkeel_verdicts",
        "counter",
        "Trials rated, by similarity rating (3 = same content)",
        (*CELL, "rating"),
    ),
    Family(
        "evenkeel_verdict_quality",
        "counter",
        "Trials whose content shifted, by what became of the quality (unscored = it could not be measured)",
        (*CELL, "quality"),
    ),
    Family(
        "evenkeel_pairs",
        "counter",
        "Pairs of a trial and its resend: 1 = only the trial shifted, -1 = only the resend, 0 = both or none",
        (*CELL, "difference"),
    ),
    Family(
        "evenkeel_verdict_failures",
        "counter",
        "Trials of which the rating or the quality could not be scored, by reason",
        (*CELL, "reason"),
    ),
    # Not evenkeel_trials: the worker's counter of trials made is that family.
    Family("evenkeel_rated_trials", "gauge", "Trials with a rating", CELL),
    Family(
        "evenkeel_last_score_timestamp_seconds",
        "gauge",
        "Unix time of the latest rating; time() minus it is how stale the cell's estimates are",
        CELL,
    ),
    Family(
        "evenkeel_alert",
        "gauge",
        "Whether the excess is, by the evidence, above the threshold (1) or not (0)",
        CELL,
    ),
    Family(
        "evenkeel_excess_evidence_log10",
        "gauge",
        "log10 of the evidence that the excess is above the threshold; held while the alert is up",
        CELL,
    ),
    Family(
        "evenkeel_excess_alarm_log10",
        "gauge",
        "Evidence that raises the alert: log10 of the mean trials between false alarms",
        CELL,
    ),
    Family("evenkeel_excess_threshold", "gauge", "Largest excess that is tolerated", CELL),
    Family(
        "evenkeel_drift_alert",
        "gauge",
        "Whether the content delta has, by the evidence, risen or fallen from its baseline (1) or not (0)",
        (*CELL, "direction"),
    ),
    Family(
        "evenkeel_drift_evidence_log10",
        "gauge",
        "log10 of the evidence that the content delta has left its baseline; held while the alert is up",
        CELL,
    ),
    Family(
        "evenkeel_drift_baseline",
        "gauge",
        "Content delta that the cell is compared with, in [0, 1]",
        (*CELL, "approved"),
    ),
    Family("evenkeel_drift_baseline_trials", "gauge", "Rated trials behind evenkeel_drift_baseline", CELL),
    Family("evenkeel_drift_line_lower", "gauge", "Below it the content delta counts as fallen", CELL),
    Family("evenkeel_drift_line_upper", "gauge", "Above it the content delta counts as risen", CELL),
)


def _cell(report: CellReport) -> Samples:
    cell = (report.key.route, report.key.model, report.key.perturbation)
    samples: Samples = [[] for _ in _CELL_FAMILIES]
    place = 0
    for rate in RATES:
        add(samples, place, (*cell, report.scorer), getattr(report, rate.field))
        place += 4
    for rate in WINDOWED:
        for window, estimates in report.windows.items():
            add(samples, place, (*cell, window, report.scorer), getattr(estimates, rate.field))
        place += 4
    verdicts, quality, pairs, failures, rated, scored_at, alert, evidence, alarm, threshold, *drift = samples[
        place:
    ]
    ratings = {1: 0, 2: 0, 3: 0} | report.ratings
    verdicts += [Sample((*cell, str(rating)), ratings[rating]) for rating in sorted(ratings)]
    quality += [Sample((*cell, outcome), count) for outcome, count in sorted(report.qualities.items())]
    failures += [Sample((*cell, reason), count) for reason, count in sorted(report.failures.items())]
    rated.append(Sample(cell, report.trials))
    if report.last_scored_at is not None:
        scored_at.append(Sample(cell, report.last_scored_at))
    if report.key.perturbation != BASELINE:
        pairs += [Sample((*cell, str(step)), count) for step, count in sorted(report.pairs.items())]
        alert.append(Sample(cell, int(report.alert)))
        evidence.append(Sample(cell, report.evidence_log10))
        alarm.append(Sample(cell, report.alarm_log10))
        threshold.append(Sample(cell, report.threshold))
    if report.drift is not None:
        _add_drift(drift, cell, report.drift)
    return samples


def _add_drift(samples: Samples, cell: tuple[str, ...], found: DriftReport) -> None:
    alert, evidence, baseline, trials, lower, upper = samples
    alert += [Sample((*cell, side), int(found.state == side)) for side in ("fallen", "risen")]
    evidence.append(Sample(cell, found.evidence_log10))
    baseline.append(Sample((*cell, "no" if found.provisional else "yes"), found.baseline))
    trials.append(Sample(cell, found.trials))
    lower.append(Sample(cell, found.lower))
    upper.append(Sample(cell, found.upper))


def _same_cell(old: CellReport, new: CellReport) -> bool:
    # What belongs to the route and model is not in the cell's series: it may differ.
    return old is new or (
        old.revision is not None and old.revision == new.revision and old.windows is new.windows
    )


CELLS = Block(_CELL_FAMILIES, _cell, _same_cell)
"""Every report."""


def _noise(report: CellReport) -> Samples:
    samples: Samples = [[], [], [], []]
    add(samples, 0, (report.key.route, report.key.model, report.scorer), report.content_delta)
    return samples


NOISE = Block(tuple(families((NOISE_RATE,), (*PLACE, "scorer"))), _noise, _same_cell)
"""The reports of the baseline: the noise floor belongs to a route and model; join with `on(route, model)`."""


_JUDGE_FAMILIES = (
    *families(JUDGE_RATES, PLACE),
    Family(
        "evenkeel_ratings_decided",
        "counter",
        "Ratings of a scorer with a judge, by who decided: equality and bands saved a call of the judge",
        (*PLACE, "stage"),
    ),
)


def _judge(report: CellReport) -> Samples:
    place = (report.key.route, report.key.model)
    samples: Samples = [[] for _ in _JUDGE_FAMILIES]
    for number, rate in enumerate(JUDGE_RATES):
        add(samples, 4 * number, place, getattr(report, rate.field))
    samples[-1] += [Sample((*place, stage), count) for stage, count in report.decided.items()]
    return samples


def _same_judge(old: CellReport, new: CellReport) -> bool:
    return (old.judge_noise, old.swap_consistency, old.cascade_agreement, old.decided) == (
        new.judge_noise,
        new.swap_consistency,
        new.cascade_agreement,
        new.decided,
    )


JUDGES = Block(_JUDGE_FAMILIES, _judge, _same_judge)
"""One report of each route and model: they agree in what is known of the judge."""


_ROLLUP_FAMILIES = (
    *families(ROLLED, (*ROLLUP, "window", "scorer"), "rollup_", OVER_CELLS),
    Family(
        "evenkeel_rollup_rated_trials", "gauge", "Perturbed trials with a rating, over several cells", ROLLUP
    ),
    Family(
        "evenkeel_rollup_last_score_timestamp_seconds",
        "gauge",
        "Unix time of the latest rating among several cells",
        ROLLUP,
    ),
)


def _rollup(report: RollupReport) -> Samples:
    key = (report.key.level, report.key.route, report.key.model, report.key.category)
    samples: Samples = [[] for _ in _ROLLUP_FAMILIES]
    for number, rate in enumerate(ROLLED):
        for window, estimates in report.windows.items():
            add(samples, 4 * number, (*key, window, report.scorer), getattr(estimates, rate.field))
    samples[-2].append(Sample(key, report.trials))
    if report.last_scored_at is not None:
        samples[-1].append(Sample(key, report.last_scored_at))
    return samples


def _same_rollup(old: RollupReport, new: RollupReport) -> bool:
    return old.windows is new.windows and (old.trials, old.last_scored_at, old.scorer) == (
        new.trials,
        new.last_scored_at,
        new.scorer,
    )


ROLLUPS = Block(_ROLLUP_FAMILIES, _rollup, _same_rollup)
"""`level` says what is rolled up; the labels that it leaves open are empty."""


_CHANGE_FAMILIES = (
    Family(
        "evenkeel_changes",
        "counter",
        "Changes noticed on a route, by kind (model, prompt_version, traffic_mix and so on)",
        ("route", "kind"),
    ),
    Family(
        "evenkeel_last_change_timestamp_seconds",
        "gauge",
        "Unix time of the first verdict after the latest change of its kind",
        ("route", "kind"),
    ),
)


def _change(report: RouteChanges) -> Samples:
    latest = {mark.kind: mark.at for mark in report.latest}
    return [
        [Sample((report.route, kind), count) for kind, count in sorted(report.counts.items())],
        [Sample((report.route, kind), at) for kind, at in sorted(latest.items())],
    ]


CHANGES = Block(_CHANGE_FAMILIES, _change, lambda old, new: bool(old == new))
"""The changes of each route."""


def one_for_each_place(reports: Sequence[CellReport]) -> list[CellReport]:
    """One report of each route and model."""
    return list({(report.key.route, report.key.model): report for report in reports}.values())


def baselines(reports: Sequence[CellReport]) -> list[CellReport]:
    """The reports of identical resends."""
    return [report for report in reports if report.key.perturbation == BASELINE]
