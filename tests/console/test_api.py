"""The admin API: cells, roll-ups, changes, alerts, verdicts, the pipeline, and the probes."""

import json

import pytest
from litestar.testing import TestClient

from evenkeel.console import create_probes
from evenkeel.core.cells import ChangeMark, RollupReport, RouteChanges
from evenkeel.monitor.measuring import HoldUp, Measuring
from tests.kit.cells import ROLLED, with_figures
from tests.kit.records import altered


def test_a_process_that_only_forwards_says_that_it_does_not_know_whether_answers_are_measured():
    with TestClient(create_probes(bytes, None, "")) as client:
        response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "ready")
    assert "ask /readyz" in response.json()["measuring"]
    assert "scoring" not in response.json()


def test_cells_are_given_flat_with_their_estimates(make_scene, console_client):
    """Each cell is an object of key, counts and estimates with interval and n."""
    scene = make_scene("alert")
    cells = console_client(scene).get("/api/cells").json()["cells"]
    assert len(cells) == len(scene.reports)
    cell = next(found for found in cells if found["alert"] and found["perturbation"] == "general.spelling")
    assert (cell["route"], cell["model"], cell["trials"]) == ("case-summaries", "swift-2026-08", 96)
    assert cell["excess"]["value"] == pytest.approx(0.42)
    assert set(cell["excess"]) == {"value", "lower", "upper", "n"}
    assert "key" not in cell


def test_alerts_are_what_is_raised_and_what_happened(make_scene, console_client):
    body = console_client(make_scene("alert")).get("/api/alerts?limit=1").json()
    assert {cell["perturbation"] for cell in body["active"]} == {"general.spelling", "general.casing"}
    assert [event["id"] for event in body["events"]] == ["raised-casing"]


@pytest.mark.parametrize("limit", ["0", "501", "many"])
def test_a_senseless_limit_is_refused(make_scene, console_client, limit):
    response = console_client(make_scene("quiet")).get(f"/api/trials?limit={limit}")
    assert response.status_code == 400
    assert response.json()["error"]["status"] == 400


def test_json_is_strict_whatever_is_in_the_stores(make_scene, console_client):
    """Infinite and undefined numbers become null; half a surrogate pair survives as an escape."""
    scene = make_scene("hostile")
    scene.reports = [with_figures(scene.reports[0], evidence_log10=float("-inf"), alarm_log10=float("nan"))]
    client = console_client(scene)

    def refuse(constant):
        raise AssertionError(constant)

    for path in ("/api/cells", "/api/alerts", "/api/trials"):
        json.loads(client.get(path).content, parse_constant=refuse)
    assert client.get("/api/cells").json()["cells"][0]["evidence_log10"] is None
    assert "\ud83d" in client.get("/api/trials").json()["trials"][0]["route"]


def test_metrics_are_passed_on_as_prometheus_text(make_scene, console_client):
    """Bytes unchanged, with the content type a scraper expects."""
    scene = make_scene("quiet")
    response = console_client(scene).get("/metrics")
    assert response.content == scene.sources().exposition()
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")


def test_health_and_readiness_differ(make_scene, console_client):
    """A process that is not ready is still alive, and says what is missing."""
    scene = make_scene("quiet")
    client = console_client(scene)
    assert (client.get("/readyz").status_code, client.get("/readyz").json()["status"]) == (200, "ready")
    cause = HoldUp("queue", "The store cannot be reached", "Free some disk space.", 0.0)
    scene.measuring = Measuring("held_up", 0.0, (cause,))
    response = client.get("/readyz")
    assert response.status_code == 503
    said = "The store cannot be reached. Free some disk space. Since 1970-01-01T00:00:00Z."
    assert response.json()["missing"] == {"queue": said}
    assert client.get("/healthz").status_code == 200


def test_an_alert_leads_to_its_verdicts_and_traces(make_scene, console_client):
    scene = make_scene("alert")
    client = console_client(scene)
    event = next(event for event in scene.store.history if event.id == "raised-casing")
    body = client.get("/api/alerts/raised-casing").json()
    assert body["alert"]["route"] == event.route
    assert all(set(verdict) >= {"id", "exchange_id", "rating"} for verdict in body["verdicts"])
    missing = client.get("/api/alerts/nothing")
    assert missing.status_code == 404
    assert "nothing" in missing.json()["error"]["message"]


def test_rollups_are_given_flat_with_their_windows(make_scene, console_client):
    scene = make_scene("quiet")
    windows = {"all": altered(ROLLED, robustness=None)}
    report = RollupReport("chat", "m", 160, scene.now - 30, "judge", windows)
    (found,) = console_client(scene, rollups=lambda: [report]).get("/api/rollups").json()["rollups"]
    assert (found["route"], found["model"], found["trials"]) == ("chat", "m", 160)
    assert found["windows"]["all"]["content_delta"] == {"value": 0.25, "lower": 0.1, "upper": 0.4, "n": 40}
    assert found["windows"]["all"]["robustness"] is None
    assert found["stale_s"] == pytest.approx(30)


def test_changes_are_given_by_route(make_scene, console_client):
    """Counts by kind and the last ones, each with what was before and after."""
    change = ChangeMark("model", "a", "b", 77.0, 5)
    routes = [RouteChanges("chat", {"model": 2}, (change,))]
    latest = {"kind": "model", "before": "a", "after": "b", "at": 77.0, "offset": 5, "run": 0, "began": None}
    assert console_client(make_scene("quiet"), changes=lambda: routes).get("/api/changes").json() == {
        "routes": [{"route": "chat", "counts": {"model": 2}, "latest": [latest]}],
        "changes": [],
        "scoring": "judge: none, contradictions cannot be seen; similarity only",
    }
