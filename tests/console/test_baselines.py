"""Approving baselines in the console: what is shown is what is approved, once, in somebody's name."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from litestar.testing import TestClient
from playwright.sync_api import expect

from evenkeel.console import create_app
from evenkeel.core.cells import (
    ChangeMark,
    DriftReport,
    Estimate,
    RouteChanges,
    WindowEstimates,
)
from evenkeel.stores.audit_log import ActionLog
from tests.console.reading import words
from tests.kit.cells import with_figures
from tests.kit.chromium import served

ROUTE, MODEL, KIND = "case-summaries", "swift-2026-08", "general.spelling"
ADDRESS = f"/baselines?route={ROUTE}&model={MODEL}&perturbation={KIND}"


def since_change(report, n, mean=0.46):
    window = WindowEstimates(n, Estimate(mean, mean - 0.05, mean + 0.05, n), None, None)
    return replace(report, windows={"since_change": window})


@pytest.fixture
def scene(make_scene):
    """One cell drifts, and has 240 trials since the last change; the others have too few."""
    made = make_scene("alert")
    drift = DriftReport("risen", 0.05, 500, provisional=True, lower=0.0, upper=0.1, evidence_log10=4.0)
    made.reports = [
        since_change(with_figures(one, drift=drift), 240) if one.key.parts == (ROUTE, MODEL, KIND) else one
        for one in made.reports
    ]
    made.store.history = [
        replace(event, what="drift", direction="risen", measure="drift")
        for event in made.store.history
        if event.perturbation == KIND
    ]
    return made


@pytest.fixture
def actions(documents):
    return ActionLog(documents)


@pytest.fixture
def changes():
    """Of the routes; a test may add some while the console serves."""
    return []


@pytest.fixture
def app(scene, actions, changes):
    return create_app(replace(scene.sources(), actions=actions, changes=lambda: changes))


@pytest.fixture
def client(app):
    with TestClient(app) as opened:
        yield opened


def fields(page):
    return {
        name: re.search(rf'name="{name}" value="([^"]*)"', page.text)[1]
        for name in ("_csrf_token", "route", "model", "perturbation", "seen_at")
    }


def test_a_drift_alert_leads_to_what_would_be_approved(client):
    """From 5 % in the first 500 trials to 46 % of the 240 since the change."""
    assert ADDRESS.replace("&", "&amp;") in client.get("/incidents/c-7").text
    text = words(client.get(ADDRESS))
    assert "spelling swift-2026-08 5.0 % in the first 500 trials 46.0 % [41.0, 51.0] 240" in text
    assert "Approve this baseline" in text
    assert "Too few" not in text
    assert "Too few trials since the last change, unchanged: " in words(
        client.get(f"/baselines?route={ROUTE}")
    )


def test_the_present_level_is_approved_once(client, scene, actions):
    """However often the form is sent; then it is shown as approved."""
    form = {**fields(client.get(ADDRESS)), "by": "ann", "note": "agreed"}
    scene.now += 60
    for _ in range(2):
        sent = client.post("/baselines", data=form, follow_redirects=False)
        assert sent.status_code == 303
    (approval,) = scene.log.notes
    assert (approval.by, approval.note, approval.route, approval.at) == (
        "ann",
        "agreed",
        ROUTE,
        scene.now - 60,
    )
    (cell,) = approval.cells
    assert (cell.model, cell.perturbation, cell.mean, cell.n) == (MODEL, KIND, 0.46, 240)
    shown = client.get(sent.headers["location"])
    assert "Approved baselines case-summaries Approved by ann" in words(shown)
    assert 'name="seen_at"' not in shown.text
    assert "approved by ann" in words(client.get("/calibration"))
    (action,) = actions.latest(5)
    assert (action.by, action.known_by, action.what, action.subject) == (
        "ann",
        "typed",
        "baseline_approved",
        ROUTE,
    )
    assert action.detail == f"1 cell, approval {approval.id}"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda form, _: form.update(by=" "), "say your name"),
        (lambda form, _: form.update(by="a\u202en"), "say your name"),
        (lambda form, _: form.update(seen_at="soon"), "shown too long ago"),
        (lambda form, _: form.pop("seen_at"), "shown too long ago"),
        (lambda _, scene: setattr(scene, "now", scene.now + 901), "shown too long ago"),
        (lambda _, scene: setattr(scene, "now", scene.now - 1), "shown too long ago"),
        (lambda _, scene: setattr(scene, "reports", []), "there is nothing to approve"),
    ],
)
def test_what_no_longer_fits_is_not_approved(client, scene, actions, spoil, said):
    """Nobody's, not as shown, of long ago, or of before a change."""
    form = {**fields(client.get(ADDRESS)), "by": "ann"}
    spoil(form, scene)
    response = client.post("/baselines", data=form)
    assert response.status_code == 400
    assert said in words(response)
    assert (scene.log.notes, actions.latest(5)) == ([], [])


def test_what_was_shown_before_a_change_is_not_approved_after_it(client, scene, changes):
    """Not even if the cell has as many trials again by then; a change of another route does not matter."""
    form = {**fields(client.get(ADDRESS)), "by": "ann"}
    scene.reports = [since_change(one, 900) for one in scene.reports]
    mark = ChangeMark("model", "a", "b", scene.now + 1.0, 7)
    changes.append(RouteChanges(ROUTE, {"model": 1}, (mark,)))
    response = client.post("/baselines", data=form)
    assert (response.status_code, "the route has changed since" in words(response)) == (400, True)
    changes[:] = [
        RouteChanges("another", {"model": 1}, (mark,)),
        RouteChanges(ROUTE, {"model": 1}, (replace(mark, at=scene.now - 1.0),)),
    ]
    assert client.post("/baselines", data=form, follow_redirects=False).status_code == 303


def test_a_route_without_cells_has_no_baselines(client):
    """And says so."""
    assert client.get("/baselines?route=nowhere").status_code == 404
    assert client.get("/baselines").status_code == 404
    assert "No baseline has been approved" in client.get("/calibration").text
    nothing = client.get(f"/baselines?route={ROUTE}&perturbation=general.casing")
    assert "There is nothing to approve" in words(nothing)
    assert 'name="seen_at"' not in nothing.text


@pytest.mark.service("chromium")
def test_a_baseline_is_approved_in_a_browser(app, scene, chromium):
    """From the alert by its link, under the page's own security policy, on a small screen."""
    complaints = []
    with served(app) as address:
        page = chromium.new_page(viewport={"width": 400, "height": 800})
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.goto(f"{address}/incidents/c-7")
        page.get_by_role("link", name="Approve as baseline").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Approve baselines")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_label("Your name").fill("ann")
        page.get_by_role("button", name="Approve this baseline").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Approved baselines")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.close()
    assert complaints == []
    assert [one.by for one in scene.log.notes] == ["ann"]
