"""Export: which series there are, what they say, and that promtool has nothing to say about them."""

from __future__ import annotations

import random
import shutil
import subprocess
from dataclasses import replace
from itertools import pairwise

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from evenkeel.core.cells import (
    CellKey,
    CellReport,
    ChangeMark,
    Estimate,
    Limit,
    RollupEstimates,
    RollupKey,
    RollupReport,
    RouteChanges,
    WindowEstimates,
)
from evenkeel.core.verdict import BASELINE, QualityScore
from evenkeel.monitor.export import CellCollector, CellText, MonitorReading, SnapshotCollector
from evenkeel.monitor.export.snapshots import HELP, coverage
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.monitor.planted_verdicts import VERDICT

CELL = {"route": "chat", "model": 'odd "name"\\', "perturbation": "general.spelling"}
FULL = CellReport(
    key=CellKey(**CELL),
    scorer="judge",
    trials=100,
    effective=80,
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
    loss=Estimate(0.02, -0.01, 0.05, 90),
    limits={"similarity": Limit(0.04, "calibrated on 120 goldens, 2026-11-20")},
    blind=("content",),
    judge_noise=Estimate(0.03, 0.01, 0.2, 50),
    decided={"equality": 60, "judge": 40},
    windows={
        "1h": WindowEstimates(10, None, None, None),
        "24h": WindowEstimates(
            60, Estimate(0.2, 0.1, 0.3, 60), Estimate(0.8, 0.7, 0.9, 59), Estimate(0.1, 0.0, 0.2, 55)
        ),
    },
)
ROLLED = RollupEstimates(
    exchanges=40,
    content_delta=Estimate(0.25, 0.1, 0.4, 40),
    quality_delta=None,
    quality_worse=None,
    quality_better=None,
    robustness=Estimate(0.9, 0.8, 0.95, 40),
    noise_floor=Estimate(0.05, 0.01, 0.2, 40),
    excess=Estimate(-0.05, -0.1, 0.1, 40),
    judge_noise=None,
)
ROLLUPS = [
    RollupReport(RollupKey("all"), 160, 1234.5, "judge", {"all": ROLLED, "1h": ROLLED}),
    RollupReport(RollupKey("category", "chat", "m", "general"), 9, None, "metrics", {"all": ROLLED}),
]
CHANGES = [
    RouteChanges("chat", {"model": 2}, (ChangeMark("model", "a", "m", 77.0, 5),)),
    RouteChanges("still", {}, ()),
]
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
    assert registry.get_sample_value("evenkeel_effective_trials", CELL) == 80
    assert registry.get_sample_value("evenkeel_blind", CELL) == 1
    assert registry.get_sample_value("evenkeel_last_score_timestamp_seconds", CELL) == 1234.5
    assert registry.get_sample_value("evenkeel_alert", CELL) == 1
    assert registry.get_sample_value("evenkeel_excess_evidence_log10", CELL) == 4.5
    assert registry.get_sample_value("evenkeel_excess_alarm_log10", CELL) == 4.0
    assert registry.get_sample_value("evenkeel_excess_threshold", CELL) == 0.1


def test_limits_are_exported_by_the_first_word_of_their_source():
    """A calibration says more about itself than a label may hold."""
    registry = CollectorRegistry()
    registry.register(CellCollector(lambda: [FULL], version="1.2.3"))
    place = {"route": CELL["route"], "model": CELL["model"]}
    limit = {**place, "measure": "similarity", "source": "calibrated"}
    assert registry.get_sample_value("evenkeel_limit", limit) == 0.04


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
        "evenkeel_effective_trials",
        "evenkeel_blind",
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


def test_windows_and_rollups_say_what_they_look_back_on():
    """A label `window`, the level of a roll-up, and open labels left empty."""
    registry = CollectorRegistry()
    registry.register(
        CellCollector(MonitorReading(lambda: [FULL], lambda: ROLLUPS, lambda: CHANGES), version="1")
    )
    cell = {**CELL, "scorer": "judge"}
    for name, value in (("robustness_score", 0.8), ("content_delta", 0.2), ("excess", 0.1)):
        found = f"evenkeel_window_{name}"
        assert registry.get_sample_value(found, {**cell, "window": "24h"}) == value
        assert registry.get_sample_value(found, {**cell, "window": "1h"}) is None
    assert registry.get_sample_value("evenkeel_window_excess_observations", {**cell, "window": "24h"}) == 55
    whole = {"level": "all", "route": "", "model": "", "category": ""}
    rolled = {**whole, "window": "1h", "scorer": "judge"}
    assert registry.get_sample_value("evenkeel_rollup_robustness_score", rolled) == 0.9
    assert registry.get_sample_value("evenkeel_rollup_noise_floor_upper", rolled) == 0.2
    assert registry.get_sample_value("evenkeel_rollup_quality_delta", rolled) is None
    assert registry.get_sample_value("evenkeel_rollup_rated_trials", whole) == 160
    assert registry.get_sample_value("evenkeel_rollup_last_score_timestamp_seconds", whole) == 1234.5
    change = {"route": "chat", "kind": "model"}
    assert registry.get_sample_value("evenkeel_changes_total", change) == 2
    assert registry.get_sample_value("evenkeel_last_change_timestamp_seconds", change) == 77.0


def test_the_text_is_what_a_registry_makes_of_the_same_reports():
    """Byte for byte, escapes and large numbers included, at first and after some reports changed."""
    cells = [FULL, RESEND, YOUNG]
    rollups, changes = list(ROLLUPS), list(CHANGES)
    reading = MonitorReading(lambda: cells, lambda: rollups, lambda: changes)
    registry = CollectorRegistry()
    registry.register(CellCollector(reading, version="1.2.3"))
    text = CellText(reading, version="1.2.3")
    assert text.render() == generate_latest(registry)
    cells[1] = replace(
        RESEND, trials=12_345_678, last_scored_at=1.7e9, content_delta=Estimate(1e-9, 0.0, 1.0, 7)
    )
    rollups[0] = replace(ROLLUPS[0], trials=161)
    assert text.render() == generate_latest(registry)
    cells.insert(1, replace(YOUNG, key=CellKey("a\nb", "\\", "x.y"), evidence_log10=float("-inf")))
    changes.pop(0)
    text.refresh()
    assert text.render() == generate_latest(registry)
    del cells[0], rollups[:]
    assert text.render() == generate_latest(registry)
    cells.clear()
    assert text.render() == generate_latest(registry)


def test_the_text_follows_the_monitor():
    """Over a fold with windows that move, alerts and changes, kept lines never differ from fresh ones."""
    choice = random.Random(4)
    state = MonitorState(MonitorSettings(min_trials=5, mean_trials_between_false_alarms=30))
    reading = MonitorReading(state.reports, state.rollups, state.changes)
    text = CellText(reading, version="1")
    for number in range(1, 1201):
        rating = choice.choice([1, 3])
        verdict = replace(
            VERDICT,
            id=f"v{number}",
            exchange_id=f"e{number // 3}",
            scored_at=number * 20.0,
            model="m" if number < 700 else "n",
            perturbation=choice.choice([BASELINE, "general.casing", "format.json"]),
            scorer=choice.choice(["judge", "metrics"]),
            rating=rating,
            baseline_rating=choice.choice([3, 3, 2]),
            quality=(QualityScore("faithfulness", 1, 3, choice.choice([1, 3])),) if rating < 3 else (),
        )
        state.apply(LoggedVerdict(number, verdict))
        if number % 60 == 0:
            registry = CollectorRegistry()
            registry.register(CellCollector(reading, version="1"))
            assert text.render() == generate_latest(registry)
    assert b'evenkeel_changes_total{kind="model",route="chat"} 1.0' in text.render()
    assert b'window="since_change"' in text.render()


def test_coverage_is_the_share_of_forwarded_requests_that_were_scored():
    """Per route, over all classes of status; never above 1, and absent without requests."""
    counters = [
        ["proxy_requests", {"route": "a", "status_class": "2xx"}, 60],
        ["proxy_requests", {"route": "a", "status_class": "5xx"}, 20],
        ["exchanges_scored", {"route": "a"}, 8],
        ["proxy_requests", {"route": "b", "status_class": "2xx"}, 3],
        ["exchanges_scored", {"route": "b"}, 4],
        ["exchanges_scored", {"route": "c"}, 4],
        ["proxy_requests", {"route": "d", "status_class": "2xx"}, 0],
    ]
    assert coverage({"counters": counters}) == {"a": 0.1, "b": 1.0}


@pytest.mark.service
def test_promtool_has_nothing_to_say():
    """`promtool check metrics` accepts the exposition in silence."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed: apt-get install prometheus")
    cells = CellText(
        MonitorReading(lambda: [FULL, RESEND, YOUNG], lambda: ROLLUPS, lambda: CHANGES), version="1"
    )
    registry = CollectorRegistry()
    registry.register(SnapshotCollector(lambda: [*SNAPSHOTS, EVERY_NAME]))
    text = cells.render() + generate_latest(registry)
    result = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
