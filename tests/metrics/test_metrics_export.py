"""Export: which series there are, what they say, and that promtool has nothing to say about them."""

from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from metrics.cells import CellKey, CellReport, Estimate
from metrics.export import CellCollector, SnapshotCollector
from metrics.export.snapshots import HELP
from metrics.verdict import BASELINE

CELL = {"route": "chat", "model": 'odd "name"\\', "perturbation": "general.spelling"}
FULL = CellReport(
    key=CellKey(**CELL),
    scorer="judge",
    trials=100,
    failures={"timeout": 2, "quality_missing": 1},
    ratings={1: 10, 3: 90},
    last_scored_at=1234.5,
    content_delta=Estimate(0.1, 0.05, 0.2, 100),
    quality_delta=Estimate(0.5, 0.2, 0.8, 30),
    quality_worse=Estimate(0.4, 0.1, 0.7, 30),
    quality_better=Estimate(0.0, 0.0, 0.1, 30),
    robustness=Estimate(0.95, 0.9, 0.99, 98),
    noise_floor=Estimate(0.02, 0.0, 0.1, 200),
    excess=Estimate(0.08, -0.01, 0.17, 90),
    evidence_log10=4.5,
    alarm_log10=4.0,
    threshold=0.1,
    alert=True,
)
RESEND = CellReport(
    key=CellKey("chat", "m", BASELINE),
    scorer="metrics",
    trials=200,
    ratings={1: 0, 2: 4, 3: 196},
    content_delta=Estimate(0.02, 0.0, 0.1, 200),
    noise_floor=Estimate(0.02, 0.0, 0.1, 200),
)
YOUNG = CellReport(key=CellKey("chat", "m", "general.casing"), scorer="metrics", trials=3, ratings={3: 3})

SNAPSHOTS = [
    {
        "counters": [
            ["proxy_requests", {"route": "a", "status_class": "2xx"}, 3],
            ["trials", {"route": "a", "perturbation": "x", "outcome": "rated"}, 1],
        ],
        "gauges": [["proxy_in_flight", {"route": "a"}, 2]],
        "histograms": [["proxy_first_byte_seconds", {"route": "a"}, [0.1, 1], [1, 2, 3], 9.5]],
    },
    {
        "counters": [
            ["proxy_requests", {"status_class": "2xx", "route": "a"}, 4],
            ["proxy_requests", {"route": "a", "status_class": "5xx"}, 1],
            ["unheard_of", {}, 7],
        ],
        "gauges": [["proxy_in_flight", {"route": "a"}, 5]],
        "histograms": [["proxy_first_byte_seconds", {"route": "a"}, [0.1, 1], [0, 1, 0], 0.5]],
    },
    {},
]
EVERY_NAME = {
    "counters": [
        [name, {"route": "a"}, 1]
        for name in HELP
        if not name.startswith(("queue_", "handoff_", "monitor_last"))
    ],
    "gauges": [[name, {}, 1] for name in HELP if name.startswith(("queue_", "handoff_", "monitor_last"))],
}
EVERY_NAME["counters"] = [
    row
    for row in EVERY_NAME["counters"]
    if row[0] not in {"proxy_first_byte_seconds", "proxy_overhead_seconds", "proxy_in_flight"}
]


def registry_of(*reports: CellReport, snapshots: list[dict] | None = None) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(CellCollector(lambda: list(reports), version="1.2.3"))
    if snapshots is not None:
        registry.register(SnapshotCollector(lambda: snapshots))
    return registry


def test_a_cell_exports_its_estimates_with_interval_and_number():
    """Value, both ends and the number of observations, labelled with the scorer."""
    registry = registry_of(FULL, RESEND)
    labels = {**CELL, "scorer": "judge"}
    estimates = {
        "robustness_score": FULL.robustness,
        "content_delta": FULL.content_delta,
        "quality_delta": FULL.quality_delta,
        "quality_worse": FULL.quality_worse,
        "quality_better": FULL.quality_better,
        "excess": FULL.excess,
    }
    for name, estimate in estimates.items():
        for suffix, value in {
            "": estimate.value,
            "_lower": estimate.lower,
            "_upper": estimate.upper,
            "_observations": estimate.n,
        }.items():
            assert registry.get_sample_value(f"evenkeel_{name}{suffix}", labels) == value, name
    floor = {"route": "chat", "model": "m", "scorer": "metrics"}
    assert registry.get_sample_value("evenkeel_noise_floor", floor) == 0.02
    assert registry.get_sample_value("evenkeel_noise_floor_upper", floor) == 0.1
    assert registry.get_sample_value("evenkeel_build_info", {"version": "1.2.3"}) == 1


def test_a_cell_exports_its_counters_and_its_alert():
    """Every rating has a counter from the start; alert, evidence and threshold carry no scorer."""
    registry = registry_of(FULL)
    assert [
        registry.get_sample_value("evenkeel_verdicts_total", {**CELL, "rating": rating}) for rating in "123"
    ] == [10, 0, 90]
    assert registry.get_sample_value("evenkeel_verdict_failures_total", {**CELL, "reason": "timeout"}) == 2
    assert registry.get_sample_value("evenkeel_rated_trials", CELL) == 100
    assert registry.get_sample_value("evenkeel_last_score_timestamp_seconds", CELL) == 1234.5
    assert registry.get_sample_value("evenkeel_alert", CELL) == 1
    assert registry.get_sample_value("evenkeel_excess_evidence_log10", CELL) == 4.5
    assert registry.get_sample_value("evenkeel_excess_alarm_log10", CELL) == 4.0
    assert registry.get_sample_value("evenkeel_excess_threshold", CELL) == 0.1


def test_an_unknown_estimate_is_absent():
    """A cell below the minimum has its counters and no estimate, not 0 and not NaN."""
    text = generate_latest(registry_of(YOUNG)).decode()
    names = {line.split("{")[0] for line in text.splitlines() if not line.startswith("#")}
    assert names == {
        "evenkeel_build_info",
        "evenkeel_verdicts_total",
        "evenkeel_rated_trials",
        "evenkeel_alert",
        "evenkeel_excess_evidence_log10",
        "evenkeel_excess_alarm_log10",
        "evenkeel_excess_threshold",
    }


def test_the_baseline_has_no_alert():
    """The identical resend is what the others are compared with: nothing to exceed, no alert."""
    text = generate_latest(registry_of(RESEND)).decode()
    assert "evenkeel_alert{" not in text
    assert "evenkeel_excess_threshold{" not in text
    assert (
        f'evenkeel_content_delta{{model="m",perturbation="{BASELINE}",route="chat",scorer="metrics"}} 0.02'
        in text
    )


def test_snapshots_of_several_processes_are_summed():
    """Counters, gauges and histogram buckets add up series by series, in whatever order of labels."""
    registry = registry_of(snapshots=SNAPSHOTS)
    route = {"route": "a"}
    assert registry.get_sample_value("evenkeel_proxy_requests_total", {**route, "status_class": "2xx"}) == 7
    assert registry.get_sample_value("evenkeel_proxy_requests_total", {**route, "status_class": "5xx"}) == 1
    assert registry.get_sample_value("evenkeel_proxy_in_flight", route) == 7
    buckets = [
        registry.get_sample_value("evenkeel_proxy_first_byte_seconds_bucket", {**route, "le": bound})
        for bound in ("0.1", "1.0", "+Inf")
    ]
    assert buckets == [1, 4, 7]
    assert registry.get_sample_value("evenkeel_proxy_first_byte_seconds_count", route) == 7
    assert registry.get_sample_value("evenkeel_proxy_first_byte_seconds_sum", route) == 10.0


def test_an_unknown_name_is_exported_with_a_generic_help():
    """A counter that nobody described is still worth having."""
    text = generate_latest(registry_of(snapshots=SNAPSHOTS)).decode()
    assert "# HELP evenkeel_unheard_of_total Unheard of, as published by a process" in text
    assert "evenkeel_unheard_of_total 7.0" in text


def test_no_family_is_exported_twice():
    """Cells and snapshots share no name, and a strict OpenMetrics reader accepts the whole."""
    registry = registry_of(FULL, RESEND, YOUNG, snapshots=[*SNAPSHOTS, EVERY_NAME])
    families = sorted(family.name for family in registry.collect())
    assert all(first != second for first, second in pairwise(families))
    parsed = list(text_string_to_metric_families(generate_openmetrics(registry).decode()))
    assert sorted(family.name for family in parsed) == families


def test_a_registry_refuses_a_second_collector_of_cells():
    """The names are declared up front, so a mistake in wiring fails at start."""
    registry = registry_of()
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        registry.register(CellCollector(list, version="1"))


@pytest.mark.service
def test_promtool_has_nothing_to_say():
    """`promtool check metrics` accepts the exposition in silence."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    text = generate_latest(registry_of(FULL, RESEND, YOUNG, snapshots=[*SNAPSHOTS, EVERY_NAME]))
    result = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
