"""Every query of every dashboard against a real Prometheus, filled by a real run."""

import math
from dataclasses import replace

import pytest

from tests.grafana.filled_prometheus import ROUTES, filled
from tests.grafana.scene import DASHBOARDS, targets

NEED_MORE = {
    ("Worker errors", "A"): "the worker met no error",
    ("Traces", "B"): "no span was lost",
}
"""Queries without an answer in a short run where little goes wrong, and why."""


def has_data(scene, target):
    """Tell whether a query has a number among its answers."""
    ask = scene.now if target.get("instant") else scene.over_time
    answers = ask(target["expr"])
    return any(math.isfinite(value) for answer in answers for _, value in answer.points)


@pytest.mark.service("prometheus")
def test_every_query_returns_data_on_a_real_prometheus(tmp_path):
    """After traffic, a model swap and some faults, no panel but those listed is empty."""
    empty, answered = {}, set()
    with filled(tmp_path) as (scene, running):
        for dashboard in DASHBOARDS.values():
            chosen = scene.with_defaults(dashboard)
            # Both routes have an incident, so either may be the one that the board opens on.
            scenes = [replace(chosen, chosen={**chosen.chosen, "route": route}) for route in ROUTES]
            for title, target in targets(dashboard):
                key = (title, target["refId"])
                if any(has_data(scene, target) for scene in (chosen, *scenes)):
                    answered.add(key)
                elif key not in NEED_MORE:
                    empty[key] = chosen.interpolated(target["expr"])
        route = scene.with_defaults(DASHBOARDS["evenkeel-route"]).chosen
        assert (route["route"] in ROUTES, route["model"]) == (True, "simulated-2")
        for path in ("/", "/incidents", "/goldens", "/routes/support"):
            running.page(path)
    assert empty == {}
    assert answered.isdisjoint(NEED_MORE)
