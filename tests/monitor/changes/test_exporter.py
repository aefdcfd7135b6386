"""Changes for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import ChangeRecord, kinds
from evenkeel.monitor.changes.exporter import ChangeCollector, SilentCollector
from evenkeel.monitor.changes.goldens import history_of
from evenkeel.monitor.changes.record import Tally
from evenkeel.monitor.changes.report import reports_of
from evenkeel.monitor.fold import SilentReport
from evenkeel.monitor.fold.silent import OpenChange
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


def test_open_silent_changes_and_their_evidence_are_exported():
    """A suspicion and a finding of one model, under the incident that they belong to."""
    found = OpenChange("c2", 9.0, found=True, raised=True, incident="c1")
    suspected = OpenChange("c3", 11.0, found=False)
    report = SilentReport("chat", "gpt-4o", -0.5, 7.0, 120, 3.2, 4.9, 44, suspected, found)
    registry = CollectorRegistry()
    registry.register(SilentCollector(lambda: [report]))
    at = {"route": "chat", "requested_model": "gpt-4o"}

    def value(name, **labels):
        return registry.get_sample_value(f"evenkeel_{name}", at | labels)

    assert value("silent_change", change="c1", state="found") == 1
    assert value("silent_change", change="c3", state="suspected") == 1
    assert value("silent_change_timestamp_seconds", change="c1") == 9
    assert value("silent_evidence_log10", detector="traits") == 0
    assert value("silent_evidence_log10", detector="references") == 3.2
    assert value("silent_alarm_log10", detector="references") == 4.9
    assert (value("trait_reserve"), value("reference_answers_total")) == (120, 44)


def test_a_suspicion_that_nothing_could_settle_is_told_apart():
    """It is one that an alert was raised for."""
    suspected = OpenChange("c3", 11.0, found=False, raised=True, incident="c3")
    report = SilentReport("chat", "gpt-4o", 0.0, 7.0, 120, 0.0, 4.9, 0, suspected)
    registry = CollectorRegistry()
    registry.register(SilentCollector(lambda: [report]))
    labels = {"route": "chat", "requested_model": "gpt-4o", "change": "c3", "state": "unconfirmed"}
    assert registry.get_sample_value("evenkeel_silent_change", labels) == 1
