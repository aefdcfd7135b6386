"""Changes for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import ChangeRecord, kinds
from evenkeel.monitor.changes.exporter import ChangeCollector
from evenkeel.monitor.changes.goldens import history_of
from evenkeel.monitor.changes.record import Tally
from evenkeel.monitor.changes.report import reports_of
from evenkeel.stores.changes import GoldenResult, GoldenRun


def test_gauges_are_bounded_however_many_goldens_and_changes_there_are():
    """Fifty goldens of a route, and its three latest changes."""
    results = tuple(GoldenResult(f"g{number}@1", {}, {"similarity": 0.5}) for number in range(80))
    run = GoldenRun("r", "chat", 9.0, "canary", "", "m", "m", ("content_shift",), "metrics", False, results)
    records = [
        ChangeRecord(
            f"c{number}",
            "chat",
            (ChangeMark(kinds.MODEL, "a", "b", float(number), number),),
            Tally(),
            Tally(),
            0,
        )
        for number in range(6)
    ]
    registry = CollectorRegistry()
    registry.register(ChangeCollector(lambda: reports_of(records, history_of([])), lambda: {"chat": run}))
    samples = [sample for family in registry.collect() for sample in family.samples]
    scores = [sample for sample in samples if sample.name == "evenkeel_golden_score"]
    assert len(scores) == 50
    assert scores[0].labels == {"route": "chat", "model": "m", "golden": "g0@1", "metric": "similarity"}
    effects = [sample for sample in samples if sample.name == "evenkeel_change_effect"]
    assert [sample.labels["change"] for sample in effects] == ["c5", "c4", "c3"]
    said = {(sample.labels["cause"], sample.labels["effect"], sample.value) for sample in effects}
    assert said == {("model", "unknown", 1.0)}
    labels = {"route": "chat", "change": "c5", "cause": "model"}
    assert registry.get_sample_value("evenkeel_change_timestamp_seconds", labels) == 5.0
