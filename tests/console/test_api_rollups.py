"""The admin API: roll-ups, changes, and how stale a report is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.core.cells import (
    ChangeMark,
    Estimate,
    RollupEstimates,
    RollupKey,
    RollupReport,
    RouteChanges,
    WindowEstimates,
)

ROLLED = RollupEstimates(
    exchanges=40,
    content_delta=Estimate(0.25, 0.1, 0.4, 40),
    quality_delta=None,
    quality_worse=None,
    quality_better=None,
    robustness=None,
    noise_floor=None,
    excess=None,
    judge_noise=None,
)


def test_rollups_are_given_flat_with_their_windows(make_scene):
    """Level, route, model and category beside the estimates of each window."""
    scene = make_scene("quiet")
    report = RollupReport(RollupKey("route", "chat"), 160, scene.now - 30, "judge", {"all": ROLLED})
    sources = replace(scene.sources(), rollups=lambda: [report])
    with TestClient(create_app(sources)) as client:
        (found,) = client.get("/api/rollups").json()["rollups"]
    assert (found["level"], found["route"], found["model"], found["trials"]) == ("route", "chat", "", 160)
    assert found["windows"]["all"]["content_delta"] == {"value": 0.25, "lower": 0.1, "upper": 0.4, "n": 40}
    assert found["windows"]["all"]["robustness"] is None
    assert found["stale_s"] == pytest.approx(30)


def test_cells_are_given_with_windows_and_age(make_scene):
    """A cell's windows, the age of its latest rating, and nothing of how it is kept."""
    scene = make_scene("quiet")
    windows = {"1h": WindowEstimates(3, None, None, None)}
    cells = [
        replace(scene.reports[0], last_scored_at=scene.now - 5, windows=windows, revision=7),
        replace(scene.reports[0], last_scored_at=scene.now + 5),
        replace(scene.reports[0], last_scored_at=None),
    ]
    scene.reports = cells
    with TestClient(create_app(scene.sources())) as client:
        found = client.get("/api/cells").json()["cells"]
    assert [cell["stale_s"] for cell in found] == [pytest.approx(5), 0.0, None]
    assert found[0]["windows"]["1h"]["trials"] == 3
    assert "revision" not in found[0]


def test_changes_are_given_by_route(make_scene):
    """Counts by kind and the last ones, each with what was before and after."""
    change = ChangeMark("model", "a", "b", 77.0, 5)
    sources = replace(
        make_scene("quiet").sources(), changes=lambda: [RouteChanges("chat", {"model": 2}, (change,))]
    )
    with TestClient(create_app(sources)) as client:
        assert client.get("/api/changes").json() == {
            "routes": [
                {
                    "route": "chat",
                    "counts": {"model": 2},
                    "latest": [
                        {"kind": "model", "before": "a", "after": "b", "at": 77.0, "offset": 5, "run": 0}
                    ],
                }
            ],
            "changes": [],
        }
