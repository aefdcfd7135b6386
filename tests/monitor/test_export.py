"""Export: which series there are, what they say, and that promtool has nothing to say about them."""

from itertools import pairwise

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from evenkeel.core.cells import (
    CellKey,
    ChangeMark,
    Estimate,
    Limit,
    RollupReport,
    RouteChanges,
    WindowEstimates,
)
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.export import CellCollector, SnapshotCollector
from evenkeel.monitor.export.snapshots import HELP, coverage
from tests.kit.cells import ROLLED, cell_report, with_figures
from tests.kit.records import altered

CELL = {"route": "chat", "model": 'odd "name"\\', "perturbation": "general.spelling"}
FULL = cell_report(
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
    since_change=WindowEstimates(
        60, Estimate(0.2, 0.1, 0.3, 60), Estimate(0.8, 0.7, 0.9, 59), Estimate(0.1, 0.0, 0.2, 55)
    ),
)
CHANGES = [
    RouteChanges("chat", {"model": 2}, (ChangeMark("model", "a", "m", 77.0, 5),)),
    RouteChanges("still", {}, ()),
]
RESEND = cell_report(
    key=CellKey("chat", "m", BASELINE),
    scorer="metrics",
    trials=200,
    ratings={1: 0, 2: 4, 3: 196},
    content_delta=Estimate(0.02, 0.0, 0.1, 200),
    noise_floor=Estimate(0.02, 0.0, 0.1, 200),
)
YOUNG = cell_report(key=CellKey("chat", "m", "general.casing"), scorer="metrics", trials=3, ratings={3: 3})

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
NO_COUNTERS = {"proxy_first_byte_seconds", "proxy_overhead_seconds", "proxy_in_flight"}
GAUGES = [name for name in HELP if name.startswith(("queue_", "handoff_", "monitor_last"))]
EVERY_NAME = {
    "counters": [[name, {"route": "a"}, 1] for name in HELP if name not in NO_COUNTERS.union(GAUGES)],
    "gauges": [[name, {}, 1] for name in GAUGES],
}


def registry_of(*reports, snapshots=None, rollups=()):
    registry = CollectorRegistry()
    registry.register(CellCollector(lambda: list(reports), lambda: rollups, version="1.2.3"))
    if snapshots is not None:
        registry.register(SnapshotCollector(lambda: snapshots))
    return registry


def names(registry):
    """Names of the samples."""
    text = generate_latest(registry).decode()
    return {line.split("{")[0] for line in text.splitlines() if not line.startswith("#")}


def test_a_route_and_model_has_its_estimates_with_interval_and_number():
    """Estimates are of the time since the last change, where there is enough of it, else over everything."""
    since = altered(ROLLED, content_delta=None, excess=Estimate(0.42, 0.29, 0.57, 121))
    rollup = RollupReport("chat", "m", 160, 1234.5, "judge", {"all": ROLLED, "since_change": since})
    registry = registry_of(RESEND, rollups=[rollup])
    place = {"route": "chat", "model": "m"}
    values = {
        "above_noise_ratio": 0.42,
        "above_noise_lower_ratio": 0.29,
        "above_noise_upper_ratio": 0.57,
        "above_noise_observations": 121,
        "content_delta_ratio": 0.25,
        "noise_floor_upper_ratio": 0.2,
        "robustness_ratio": 0.9,
        "quality_worse_ratio": None,
        "rated_trials": 160,
        "last_score_timestamp_seconds": 1234.5,
    }
    for name, value in values.items():
        assert registry.get_sample_value(f"evenkeel_{name}", place) == value, name
    assert registry.get_sample_value("evenkeel_build_info", {"version": "1.2.3"}) == 1


def test_ratings_are_counted_over_all_rewordings_and_apart_for_controls():
    """10 + 0 ratings of 1 under two rewordings, 196 of 3 of the control; every rating from the start."""
    young = with_figures(YOUNG, key=CellKey("chat", CELL["model"], "general.tone"), ratings={3: 3})
    control = altered(RESEND, key=CellKey("chat", CELL["model"], BASELINE))
    registry = registry_of(FULL, young, control)
    place = {"route": "chat", "model": CELL["model"]}

    def rated(trial, rating):
        labels = {**place, "trial": trial, "rating": rating}
        return registry.get_sample_value("evenkeel_ratings_total", labels)

    assert [rated("perturbed", rating) for rating in ("1", "2", "3", "unsure")] == [10, 0, 93, 0]
    assert [rated("control", rating) for rating in ("1", "2", "3")] == [0, 4, 196]
    failed = {**place, "reason": "timeout"}
    assert registry.get_sample_value("evenkeel_rating_failures_total", failed) == 2


def test_a_perturbation_has_two_gauges():
    """Points above noise, and evidence as a share of what raises an alert: 4.5 of 4 is 112.5 %."""
    registry = registry_of(FULL, RESEND, YOUNG)
    assert registry.get_sample_value("evenkeel_cell_above_noise_ratio", CELL) == 0.1
    assert registry.get_sample_value("evenkeel_cell_evidence_ratio", CELL) == 1.125
    young = {"route": "chat", "model": "m", "perturbation": "general.casing"}
    assert registry.get_sample_value("evenkeel_cell_above_noise_ratio", young) is None
    assert registry.get_sample_value("evenkeel_cell_evidence_ratio", young) == 0
    assert BASELINE not in generate_latest(registry).decode()


def test_a_model_that_was_last_rated_a_day_before_its_route_is_left_out():
    """A retired model is in no gauge; one that was never rated still counts its failures."""
    old = altered(RESEND, key=CellKey("chat", "old", BASELINE), last_scored_at=1.0)
    new = altered(RESEND, key=CellKey("chat", "new", BASELINE), last_scored_at=86_402.0)
    failing = cell_report(
        key=CellKey("chat", "failing", "x.y"), scorer="judge", trials=0, failures={"timeout": 9}
    )
    other = altered(RESEND, key=CellKey("quiet", "old", BASELINE), last_scored_at=1.0)
    text = generate_latest(registry_of(old, new, failing, other)).decode()
    assert 'model="old",rating="3",route="chat"' not in text
    assert 'model="new",rating="3",route="chat"' in text
    assert 'model="failing",reason="timeout",route="chat"' in text
    assert 'model="old",rating="3",route="quiet"' in text


def test_the_limit_is_exported():
    place = {"route": CELL["route"], "model": CELL["model"]}
    limited = with_figures(FULL, limits={"content": Limit(0.2, "settings")})
    found = registry_of(limited).get_sample_value("evenkeel_above_noise_limit_ratio", place)
    assert found == 0.2


def test_an_unknown_estimate_is_absent():
    """A cell below the minimum has its counters and no estimate, not 0 and not NaN."""
    assert names(registry_of(YOUNG)) == {
        "evenkeel_build_info",
        "evenkeel_ratings_total",
        "evenkeel_cell_evidence_ratio",
    }


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


def test_no_family_is_exported_twice():
    """Cells and snapshots share no name, and a strict OpenMetrics reader accepts the whole."""
    registry = registry_of(FULL, RESEND, YOUNG, snapshots=[*SNAPSHOTS, EVERY_NAME])
    families = sorted(family.name for family in registry.collect())
    assert all(first != second for first, second in pairwise(families))
    parsed = list(text_string_to_metric_families(generate_openmetrics(registry).decode()))
    assert sorted(family.name for family in parsed) == families


def test_changes_are_counted_by_their_kind():
    registry = CollectorRegistry()
    registry.register(CellCollector(list, tuple, lambda: CHANGES, version="1"))
    change = {"route": "chat", "kind": "model"}
    assert registry.get_sample_value("evenkeel_changes_total", change) == 2
    assert registry.get_sample_value("evenkeel_last_change_timestamp_seconds", change) == 77.0


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
