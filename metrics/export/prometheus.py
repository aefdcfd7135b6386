"""Gauges, evidence and counters of every cell, for Prometheus.

An estimate that is None is absent, never 0 or NaN: a rule on it then has nothing to fire on. The
label `scorer` says who decided the ratings, and is on the estimates only: on a counter or an alert,
a change of scorer would look like a new series, that is a jump or a second alert.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from metrics.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prometheus_client.core import Metric

    from metrics.cells import CellReport

_CELL = ("route", "model", "perturbation")


class _Estimate(NamedTuple):
    """An estimate that is exported as four gauges: value, interval and number of observations."""

    name: str
    field: str
    what: str
    observed: str


_ESTIMATES = (
    _Estimate(
        "robustness_score",
        "robustness",
        "One minus the rate of answers that shifted and changed in quality, in [0, 1]",
        "rated trials of which that is known",
    ),
    _Estimate(
        "content_delta", "content_delta", "Share of answers whose content shifted, in [0, 1]", "rated trials"
    ),
    _Estimate(
        "quality_delta",
        "quality_delta",
        "Share of shifted answers that changed in quality, in [0, 1]",
        "shifted trials with quality scores",
    ),
    _Estimate(
        "quality_worse",
        "quality_worse",
        "Share of shifted answers that changed in quality, only for the worse, in [0, 1]",
        "shifted trials with quality scores",
    ),
    _Estimate(
        "quality_better",
        "quality_better",
        "Share of shifted answers that changed in quality, only for the better, in [0, 1]",
        "shifted trials with quality scores",
    ),
    _Estimate(
        "excess",
        "excess",
        "Share of shifted answers minus that of identical resends of the same exchanges, in [-1, 1]",
        "pairs of a trial and the identical resend of its exchange",
    ),
)
_NOISE_FLOOR = _Estimate(
    "noise_floor",
    "content_delta",
    "Share of identical resends whose content shifted, in [0, 1]",
    "rated identical resends",
)
_JUDGE_ESTIMATES = (
    _Estimate(
        "judge_noise_rate",
        "judge_noise",
        "Share of pairs that got another rating when they were judged again, in [0, 1]",
        "pairs judged again",
    ),
    _Estimate(
        "judge_swap_consistency",
        "swap_consistency",
        "Share of pairs that got the same rating with their sides swapped, in [0, 1]",
        "pairs judged with their sides swapped",
    ),
    _Estimate(
        "cascade_agreement",
        "cascade_agreement",
        "Share of audited pairs to which the judge said what the cheap scores had decided, in [0, 1]",
        "audited pairs",
    ),
)


class CellCollector(Collector):
    """Exports what `read` returns at each scrape.

    The noise floor and what is known of the judge belong to a route and model, so they have no
    label `perturbation`; join with `on(route, model)`.
    """

    def __init__(self, read: Callable[[], list[CellReport]], *, version: str) -> None:
        """Build a collector.

        Args:
            read: gives the reports, as `Monitor.reports` does; called once a scrape.
            version: of evenkeel, for `evenkeel_build_info`.
        """
        self._read = read
        self._version = version

    def describe(self) -> Iterable[Metric]:
        """The families without samples, so that a registry can refuse a name that is taken."""
        return self._families([])

    def collect(self) -> Iterable[Metric]:
        """All families, as of the monitor's last commit."""
        return self._families(self._read())

    def _families(self, reports: list[CellReport]) -> Iterator[Metric]:
        info = GaugeMetricFamily(
            "evenkeel_build_info", "Version of evenkeel; the value is always 1", labels=("version",)
        )
        info.add_metric((self._version,), 1)
        yield info
        for estimate in _ESTIMATES:
            yield from _estimate_gauges(estimate, reports, _CELL)
        baselines = [report for report in reports if report.key.perturbation == BASELINE]
        yield from _estimate_gauges(_NOISE_FLOOR, baselines, _CELL[:2])
        places = _one_for_each_place(reports)
        for estimate in _JUDGE_ESTIMATES:
            yield from _estimate_gauges(estimate, places, _CELL[:2], scorer=False)
        yield _decided(places)
        yield from _counters(reports)
        yield from _alert_gauges([report for report in reports if report.key.perturbation != BASELINE])


def _labels(report: CellReport) -> tuple[str, str, str]:
    return report.key.route, report.key.model, report.key.perturbation


def _one_for_each_place(reports: list[CellReport]) -> list[CellReport]:
    """One report of each route and model: they agree in what belongs to both."""
    return list({(report.key.route, report.key.model): report for report in reports}.values())


def _estimate_gauges(
    estimate: _Estimate, reports: list[CellReport], labels: tuple[str, ...], *, scorer: bool = True
) -> Iterator[Metric]:
    name, what = f"evenkeel_{estimate.name}", estimate.what
    names = (*labels, "scorer") if scorer else labels
    value = GaugeMetricFamily(name, what, labels=names)
    lower = GaugeMetricFamily(f"{name}_lower", f"{what}: lower end of the interval", labels=names)
    upper = GaugeMetricFamily(f"{name}_upper", f"{what}: upper end of the interval", labels=names)
    observations = GaugeMetricFamily(
        f"{name}_observations", f"Number of {estimate.observed} behind evenkeel_{estimate.name}", labels=names
    )
    for report in reports:
        known = getattr(report, estimate.field)
        if known is not None:
            values = _labels(report)[: len(labels)] + ((report.scorer,) if scorer else ())
            value.add_metric(values, known.value)
            lower.add_metric(values, known.lower)
            upper.add_metric(values, known.upper)
            observations.add_metric(values, known.n)
    yield from (value, lower, upper, observations)


def _decided(places: list[CellReport]) -> Metric:
    decided = CounterMetricFamily(
        "evenkeel_ratings_decided",
        "Ratings of a scorer with a judge, by who decided: equality and bands saved a call of the judge",
        labels=(*_CELL[:2], "stage"),
    )
    for report in places:
        for stage, count in report.decided.items():
            decided.add_metric((*_labels(report)[:2], stage), count)
    return decided


def _counters(reports: list[CellReport]) -> Iterator[Metric]:
    verdicts = CounterMetricFamily(
        "evenkeel_verdicts",
        "Trials rated, by similarity rating (3 = same content)",
        labels=(*_CELL, "rating"),
    )
    failures = CounterMetricFamily(
        "evenkeel_verdict_failures",
        "Trials of which the rating or the quality could not be scored, by reason",
        labels=(*_CELL, "reason"),
    )
    # Not evenkeel_trials: the worker's counter of trials made is that family.
    rated = GaugeMetricFamily("evenkeel_rated_trials", "Trials with a rating", labels=_CELL)
    scored_at = GaugeMetricFamily(
        "evenkeel_last_score_timestamp_seconds", "Unix time of the latest rating", labels=_CELL
    )
    for report in reports:
        cell = _labels(report)
        ratings = Counter({1: 0, 2: 0, 3: 0})
        ratings.update(report.ratings)
        for rating in sorted(ratings):
            verdicts.add_metric((*cell, str(rating)), ratings[rating])
        for reason, count in sorted(report.failures.items()):
            failures.add_metric((*cell, reason), count)
        rated.add_metric(cell, report.trials)
        if report.last_scored_at is not None:
            scored_at.add_metric(cell, report.last_scored_at)
    yield from (verdicts, failures, rated, scored_at)


def _alert_gauges(reports: list[CellReport]) -> Iterator[Metric]:
    alert = GaugeMetricFamily(
        "evenkeel_alert",
        "Whether the excess is, by the evidence, above the threshold (1) or not (0)",
        labels=_CELL,
    )
    evidence = GaugeMetricFamily(
        "evenkeel_excess_evidence_log10",
        "log10 of the evidence that the excess is above the threshold; held while the alert is up",
        labels=_CELL,
    )
    alarm = GaugeMetricFamily(
        "evenkeel_excess_alarm_log10",
        "Evidence that raises the alert: log10 of the mean trials between false alarms",
        labels=_CELL,
    )
    threshold = GaugeMetricFamily(
        "evenkeel_excess_threshold", "Largest excess that is tolerated", labels=_CELL
    )
    for report in reports:
        cell = _labels(report)
        alert.add_metric(cell, int(report.alert))
        evidence.add_metric(cell, report.evidence_log10)
        alarm.add_metric(cell, report.alarm_log10)
        threshold.add_metric(cell, report.threshold)
    yield from (alert, evidence, alarm, threshold)
