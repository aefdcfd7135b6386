"""Goldens and silent changes for Prometheus."""

from prometheus_client import CollectorRegistry

from evenkeel.monitor.export.prometheus import GoldenCollector, SilentCollector
from evenkeel.monitor.fold import SilentReport
from evenkeel.stores.changes import GoldenResult, GoldenRun


def test_goldens_are_one_series_a_metric_however_many_there_are():
    """The mean of twenty at 0.5 and of one at 1 is 11 / 21; no label names a golden."""
    results = (
        *(GoldenResult(f"g{number}@1", {}, {"similarity": 0.5}) for number in range(20)),
        GoldenResult("h@2", {}, {"similarity": 1.0, "graph_f1": 0.25}),
    )
    run = GoldenRun("r", "chat", 9.0, "c1", "m", ("content_shift",), False, results)
    registry = CollectorRegistry()
    registry.register(GoldenCollector(lambda: {"chat": run}))
    samples = {
        (sample.name, sample.labels.get("metric")): sample
        for family in registry.collect()
        for sample in family.samples
    }
    assert len(samples) == 3
    mean = samples["evenkeel_goldens_score_ratio", "similarity"]
    assert (mean.value, mean.labels) == (11 / 21, {"route": "chat", "model": "m", "metric": "similarity"})
    assert samples["evenkeel_goldens_score_ratio", "graph_f1"].value == 0.25
    assert samples["evenkeel_goldens_asked_timestamp_seconds", None].value == 9.0


def test_evidence_of_silent_changes_is_a_share_of_what_raises_an_alert():
    """3.5 of 7 is half."""
    report = SilentReport("chat", "gpt-4o", 3.5, 7.0, 44)
    registry = CollectorRegistry()
    registry.register(SilentCollector(lambda: [report]))
    at = {"route": "chat", "requested_model": "gpt-4o"}

    def value(name):
        return registry.get_sample_value(f"evenkeel_{name}", at)

    assert (value("silent_evidence_ratio"), value("reference_answers_total")) == (0.5, 44)
