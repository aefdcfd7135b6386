"""Changes and golden scores for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.monitor.export.prometheus import ListedCollector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.fold import SilentReport
    from evenkeel.stores.changes import GoldenRun

GOLDENS_SHOWN: Final = 50
"""Of a route, as labels."""
CHANGES_SHOWN: Final = 3
"""Of a route, the latest."""


class ChangeCollector(ListedCollector):
    """Exports the latest golden scores, and what the latest changes did to the answers."""

    block = "regression"

    def __init__(
        self,
        reports: Callable[[], Sequence[ChangeReport]],
        runs: Callable[[], Mapping[str, GoldenRun]],
    ) -> None:
        """Build it.

        Args:
            reports: The changes, the newest first.
            runs: The last run of each route's goldens.
        """
        self._reports = reports
        self._runs = runs

    def fill(self, *metrics: GaugeMetricFamily | CounterMetricFamily) -> None:
        """As `ListedCollector`."""
        score, asked_at, effect, changed_at = metrics
        for route, run in sorted(self._runs().items()):
            asked_at.add_metric([route], run.at)
            for result in run.results[:GOLDENS_SHOWN]:
                for metric, value in sorted(result.scores.items()):
                    score.add_metric([route, run.model, result.golden, metric], value)
        shown: dict[str, int] = {}
        for report in self._reports():
            for route in report.routes:
                shown[route] = shown.get(route, 0) + 1
                if shown[route] <= CHANGES_SHOWN:
                    labels = [route, report.id, report.cause.value]
                    effect.add_metric([*labels, report.effect], 1.0)
                    changed_at.add_metric(labels, report.at)


class SilentCollector(ListedCollector):
    """Exports the evidence of changes that nobody announced, and those that are open."""

    block = "silent"

    def __init__(self, reports: Callable[[], Sequence[SilentReport]]) -> None:
        """Build it; `reports` says where the tests stand, by route and requested model."""
        self._reports = reports

    def fill(self, *metrics: GaugeMetricFamily | CounterMetricFamily) -> None:
        """As `ListedCollector`."""
        open_, opened_at, evidence, alarm, reserve, answers = metrics
        for report in self._reports():
            labels = [report.route, report.requested_model]
            for one in filter(None, (report.suspected, report.found)):
                change = one.incident or one.change
                state = "found" if one.found else "unconfirmed" if one.raised else "suspected"
                open_.add_metric([*labels, change, state], 1.0)
                opened_at.add_metric([*labels, change], one.at)
            for detector, found, level in (
                ("traits", report.trait_evidence_log10, report.trait_level_log10),
                ("references", report.reference_evidence_log10, report.reference_level_log10),
            ):
                evidence.add_metric([*labels, detector], max(0.0, found))
                alarm.add_metric([*labels, detector], level)
            reserve.add_metric(labels, report.reserve)
            answers.add_metric(labels, report.compared)
