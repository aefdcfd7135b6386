import json

import pytest

from evenkeel.proxy.counters import Counters, Histogram


def test_histogram_counts_by_upper_bound():
    """A value on a bound belongs to it, a value above all to the last bucket."""
    histogram = Histogram((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 1.0, 7.0):
        histogram.observe(value)
    assert histogram.counts == [2, 2, 1]
    assert histogram.total_s == pytest.approx(8.65)


def test_snapshot_is_json_with_the_agreed_names():
    """Every series the exporter knows is there, labelled, and survives JSON."""
    counters = Counters()
    route = counters.of("r")
    route.requests[2] = 3
    route.requests[0] = 1
    route.skip("status")
    route.skip("status")
    route.fail("upstream_refused")
    route.first_byte[4].observe(0.02)
    route.failovers = 2
    counters.connections = 4
    snapshot = json.loads(json.dumps(counters.snapshot(99)))
    assert ["proxy_requests", {"route": "r", "status_class": "2xx"}, 3] in snapshot["counters"]
    assert ["proxy_requests", {"route": "r", "status_class": "aborted"}, 1] in snapshot["counters"]
    assert ["proxy_connections", {}, 4] in snapshot["counters"]
    assert ["exchanges_skipped", {"route": "r", "reason": "status"}, 2] in snapshot["counters"]
    assert ["proxy_upstream_errors", {"route": "r", "reason": "upstream_refused"}, 1] in snapshot["counters"]
    names = "requests disconnects retries failovers upstream_errors connections connections_refused"
    expected = {f"proxy_{name}" for name in names.split()}
    expected |= {f"exchanges_{name}" for name in ("eligible", "sampled", "queued", "skipped")}
    assert {name for name, _, _ in snapshot["counters"]} == expected
    assert ["handoff_bytes", {}, 99] in snapshot["gauges"]
    assert ["proxy_in_flight", {"route": "r"}, 0] in snapshot["gauges"]
    assert ["proxy_failovers", {"route": "r"}, 2] in snapshot["counters"]
    assert [(name, labels) for name, labels, *_ in snapshot["histograms"]] == [
        ("proxy_first_byte_seconds", {"route": "r", "status_class": "2xx"}),
        ("proxy_first_byte_seconds", {"route": "r", "status_class": "4xx"}),
        ("proxy_overhead_seconds", {"route": "r"}),
    ]
    for _, _, bounds, counts, total in snapshot["histograms"]:
        assert len(counts) == len(bounds) + 1
        assert total >= 0
    assert snapshot["histograms"][1][3].index(1) == 2
