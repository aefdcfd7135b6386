"""The agreement of judge and people for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from evenkeel.monitor.labels.agreement import human_agreement
from evenkeel.stores.labels import CountedLabels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client.core import Metric

    from evenkeel.stores.labels import LabelStore

_LABELS = ("judge", "decided_by", "source")


class LabelCollector(Collector):
    """Exports `evenkeel_judge_human_agreement` with its interval and the number of verdicts behind it.

    Labels are read anew only when somebody has said something since.
    """

    def __init__(self, store: LabelStore | None = None) -> None:
        self._labels = CountedLabels(store)

    def describe(self) -> Iterable[Metric]:
        """The families without samples."""
        return _families()

    def collect(self) -> Iterator[Metric]:
        """All families, as of now."""
        value, lower, upper, observations = _families()
        for one in human_agreement(self._labels()):
            labels = [one.judge, one.decided_by, one.source]
            value.add_metric(labels, one.value)
            lower.add_metric(labels, one.lower)
            upper.add_metric(labels, one.upper)
            observations.add_metric(labels, one.n)
        yield from (value, lower, upper, observations)


def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily]:
    name, what = "evenkeel_judge_human_agreement", "the share of labelled verdicts rated as people rate them"
    return (
        GaugeMetricFamily(
            name, "Share of labelled verdicts whose rating is that of most people, in [0, 1]", labels=_LABELS
        ),
        GaugeMetricFamily(
            f"{name}_lower", f"Lower end of the 95 % interval of {what}, in [0, 1]", labels=_LABELS
        ),
        GaugeMetricFamily(
            f"{name}_upper", f"Upper end of the 95 % interval of {what}, in [0, 1]", labels=_LABELS
        ),
        GaugeMetricFamily(f"{name}_observations", f"Verdicts behind {what}", labels=_LABELS),
    )
