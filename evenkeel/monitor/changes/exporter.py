"""Golden scores, and evidence of changes that nobody announced, for Prometheus."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from evenkeel.monitor.export.prometheus import ListedCollector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    from evenkeel.monitor.fold import SilentReport
    from evenkeel.stores.changes import GoldenRun


class GoldenCollector(ListedCollector):
    """Collector of the similarity between a route's latest golden answers and the approved ones."""

    block = "goldens"

    def __init__(self, runs: Callable[[], Mapping[str, GoldenRun]]) -> None:
        """Build the collector; `runs` gives the last run of each route's goldens."""
        self._runs = runs

    def fill(self, *metrics: GaugeMetricFamily | CounterMetricFamily) -> None:
        """Fill the metrics as `ListedCollector.fill` describes."""
        score, asked_at = metrics
        for route, run in sorted(self._runs().items()):
            asked_at.add_metric([route], run.at)
            scores: dict[str, list[float]] = {}
            for result in run.results:
                for metric, value in result.scores.items():
                    scores.setdefault(metric, []).append(value)
            for metric, values in sorted(scores.items()):
                score.add_metric([route, run.model, metric], fmean(values))


class SilentCollector(ListedCollector):
    """Collector of the evidence for changes that nobody announced."""

    block = "silent"

    def __init__(self, reports: Callable[[], Sequence[SilentReport]]) -> None:
        """Build the collector; `reports` gives the state of the tests by route and requested model."""
        self._reports = reports

    def fill(self, *metrics: GaugeMetricFamily | CounterMetricFamily) -> None:
        """Fill the metrics as `ListedCollector.fill` describes."""
        evidence, answers = metrics
        for report in self._reports():
            labels = [report.route, report.requested_model]
            evidence_log10, level = report.evidence_log10, report.level_log10
            evidence.add_metric(labels, max(0.0, evidence_log10) / level if level > 0 else 0.0)
            answers.add_metric(labels, report.compared)
