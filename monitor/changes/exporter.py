"""Changes and golden scores for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from prometheus_client.core import Metric

    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.changes import GoldenRun

GOLDENS_SHOWN: Final = 50
"""Of a route, as labels."""
CHANGES_SHOWN: Final = 3
"""Of a route, the latest."""


class ChangeCollector(Collector):
    """Exports the latest golden scores, and whether the latest changes made answers worse."""

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

    def describe(self) -> Iterable[Metric]:
        """The families without samples."""
        return _families()

    def collect(self) -> Iterator[Metric]:
        """All families, as of now."""
        score, asked_at, regression, changed_at = _families()
        for route, run in sorted(self._runs().items()):
            asked_at.add_metric([route], run.at)
            for result in run.results[:GOLDENS_SHOWN]:
                for metric, value in sorted(result.scores.items()):
                    score.add_metric([route, run.model, result.golden, metric], value)
        shown: dict[str, int] = {}
        for report in self._reports():
            shown[report.route] = shown.get(report.route, 0) + 1
            if shown[report.route] <= CHANGES_SHOWN:
                labels = [report.route, report.id, report.cause.value]
                regression.add_metric(labels, float(report.effect == "worse"))
                changed_at.add_metric(labels, report.at)
        yield from (score, asked_at, regression, changed_at)


def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily]:
    return (
        GaugeMetricFamily(
            "evenkeel_golden_score",
            "Latest score of an approved golden, asked again, in [0, 1], 1 = as approved",
            labels=["route", "model", "golden", "metric"],
        ),
        GaugeMetricFamily(
            "evenkeel_goldens_asked_timestamp_seconds",
            "Unix time of the last round of a route's goldens",
            labels=["route"],
        ),
        GaugeMetricFamily(
            "evenkeel_change_regression",
            "Whether answers got worse with one of the latest changes of a route (1) or not (0)",
            labels=["route", "change", "cause"],
        ),
        GaugeMetricFamily(
            "evenkeel_change_timestamp_seconds",
            "Unix time at which one of the latest changes of a route was noticed",
            labels=["route", "change", "cause"],
        ),
    )
