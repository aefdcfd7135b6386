"""The first page: what state it is in, and what each cell says of its limit."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evenkeel.console import JudgeSetup, PipelineView
from evenkeel.console.incidents import incident_lines, next_step
from evenkeel.console.now import blind_notices, state_of
from evenkeel.console.overview import counted, overview
from evenkeel.console.rendering import trials_left
from evenkeel.core import figures
from evenkeel.core.cells import CellKey, ChangeMark, Estimate, Limit, WindowEstimates
from evenkeel.core.challenge import Challenge
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.measuring import HoldUp, Measuring
from evenkeel.monitor.notify import Contact, Writer
from evenkeel.release.challenge.board import ChallengeBoard
from evenkeel.stores.challenges import ChallengeStore
from evenkeel.stores.counters import RouteFlow
from tests.kit.cells import cell_report
from tests.kit.pages import words
from tests.kit.records import altered
from tests.monitor.notify.scene import SPELLING, incidents_of

NOW = 1_786_544_400.0
FINE = Measuring("measuring", NOW)
PAIRS = {1: 8, -1: 2, 0: 90}
JUDGE = JudgeSetup("referee-2", "https://judge.example/v1")


def cell(kind="general.spelling", excess=None, route="shop", **figures_):
    given = {"pairs": PAIRS, "limits": {"content": Limit(0.1)}, "threshold": 0.1, "scorer": "judge"}
    key = CellKey(route, "m", kind)
    return cell_report(key, excess=excess, **({"trials": 100} | given | figures_))


WITHIN = cell(excess=Estimate(0.04, -0.02, 0.1, 400))
OVER = cell("general.tone", Estimate(0.3, 0.12, 0.5, 100))
UNKNOWN = cell("general.filler", Estimate(0.04, -0.08, 0.16, 100))
BLIND = cell(
    "general.casing",
    Estimate(0.0, -0.1, 0.1, 200),
    blind=("content",),
    noise_floor=Estimate(0.84, 0.8, 0.88, 200),
)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (WITHIN, "within its limit"),
        (OVER, "over its limit"),
        (UNKNOWN, "not known yet"),
        (BLIND, "unmeasured (blind)"),
        (cell(pairs={}, scorer="metrics"), "unmeasured (no judge)"),
        (cell(pairs={}), "unmeasured (no rated control)"),
        (cell(pairs={}, failures={"timeout": 900}), "unmeasured (failing: timeout)"),
        (cell(trials=0, pairs={}), "unmeasured (no trial yet)"),
    ],
)
def test_a_cell_says_what_its_interval_says(report, said):
    """Never what its value says; what is not measured says why."""
    assert report.standing_words == said
    assert trials_left(report) == ("~300 more" if report is UNKNOWN else "")


def test_the_overview_counts_what_cells_say():
    """The noise floor is no cell of a rewording."""
    floor = cell(BASELINE, pairs={})
    assert counted([WITHIN, OVER, UNKNOWN, BLIND, floor]) == (
        "4 cells: 1 within its limit, 1 over, 1 not known yet, 1 unmeasured"
    )
    assert counted([floor]) == ""


def test_routes_with_an_incident_come_first_and_retired_models_are_named():
    alert, gone = cell(route="b", alert=True), replace(cell(route="c"), retired=True, last_scored_at=5.0)
    found = overview([cell(route="a"), alert, gone], {alert.key.parts})
    assert [row.route for row in found.rows] == ["b", "a"]
    assert found.retired == [("c", "m", 5.0)]


HELD = Measuring("held_up", NOW - 600, (HoldUp("judge", "The judge j is down", "Check it.", NOW - 600),))


@pytest.mark.parametrize(
    ("reports", "eligible", "measuring", "state"),
    [
        ([WITHIN], 9, FINE, "measuring"),
        ([WITHIN], 9, HELD, "held_up"),
        ([], 0, Measuring("learning", NOW), "empty"),
        ([], 9, Measuring("learning", NOW), "learning"),
        ([cell(trials=3)], 0, Measuring("learning", NOW), "learning"),
    ],
)
def test_the_page_is_about_what_matters_most(reports, eligible, measuring, state):
    """An incident before all else; traffic that waits for its replays is traffic."""
    flow = RouteFlow("chat", eligible=eligible, sampled=0, queued=0, scored=0)
    view = PipelineView("http://127.0.0.1:8100/v1", routes=(flow,))
    assert state_of(reports, view, measuring, ()) == state
    (incident,) = incidents_of([SPELLING])
    assert state_of(reports, view, measuring, incident_lines([incident], Writer())) == "incident"


def test_a_tick_is_for_cells_that_are_all_within_their_limits(make_scene, console_client):
    """Nothing is known without a cell, or with the noise floor alone, to be good."""
    scene = make_scene("quiet")
    for reports, tone in (([], "learning"), ([cell(BASELINE)], "learning"), ([WITHIN], "measuring")):
        scene.reports = reports
        assert f'class="status {tone}"' in console_client(scene).get("/").text


def test_a_page_that_is_held_up_says_what_since_when_and_what_to_do(make_scene, console_client):
    """First of all, also beside an incident; the word "steady" is nowhere."""
    for name in ("quiet", "alert"):
        scene = make_scene(name)
        scene.measuring = HELD
        text = words(console_client(scene).get("/"))
        assert (
            "Held up: The judge j is down Next: Check it. Runbook Nothing has been measured since 14:10 ."
            in text
        )
        assert text.index("Held up:") < text.index("Points above noise")
        assert "teady" not in text.replace("steady-2026-05", "")


def test_the_page_of_a_route_says_what_holds_it_up_and_no_other(make_scene, console_client):
    """Its figures would pass for present ones."""
    scene = make_scene("quiet")
    route = scene.reports[0].key.route
    for routes, told in (((), True), ((route,), True), (("other",), False)):
        scene.measuring = replace(HELD, causes=(replace(HELD.causes[0], routes=routes),))
        assert ("The judge j is down" in words(console_client(scene).get(f"/routes/{route}"))) is told


def test_wide_intervals_are_explained_where_they_are_seen(make_scene, console_client):
    """Only while one of them leaves its limit open."""
    wide = Estimate(0.05, -0.23, 0.36, 38)
    young = cell(excess=wide, since_change=WindowEstimates(40, None, None, wide))
    scene = make_scene("quiet")
    for reports, explained in (([young], True), ([UNKNOWN], False), ([WITHIN], False)):
        scene.reports = reports
        client = console_client(scene)
        for path in ("/", "/routes/shop"):
            assert (figures.WIDE in words(client.get(path))) is explained
        # The number of trials is that of the figures beside it.
        assert ("40 of 100" in words(client.get("/routes/shop"))) is explained


def test_without_a_judge_every_page_with_content_says_so(make_scene, console_client):
    scene = make_scene("quiet")
    for path in ("/", "/trials", "/incidents", f"/routes/{scene.reports[0].key.route}"):
        assert "Without a judge, contradictions cannot be seen." in console_client(scene).get(path).text
    assert "no-judge" not in console_client(scene, judge=JUDGE).get("/").text


def test_a_blind_cell_is_said_with_its_floor_and_what_to_do():
    (said,) = blind_notices([BLIND, WITHIN])
    assert said == (
        "m on shop is blind under different capitalisation: at a noise floor of "
        f"{figures.percent(0.84)} even answers to another question would raise no alert. "
        "Lower the temperature, use a judge, or watch similarity."
    )
    assert blind_notices([WITHIN]) == []


def test_a_model_that_retires_is_said_until_another_one_is_tried(make_scene, console_client, documents):
    """The first page and its route's page say it, with the command."""
    scene = make_scene("quiet")
    route, scene.now = "shop", datetime(2026, 11, 27, tzinfo=UTC).timestamp()
    scene.reports = [replace(WITHIN, key=CellKey(route, "gpt-4.1-2025-04-14", "general.spelling"))]
    store = ChallengeStore(documents, kept_s=100.0)
    client = console_client(scene, challengers=ChallengeBoard(store, lambda: scene.now))
    for path in ("/", f"/routes/{route}"):
        text = words(client.get(path))
        assert "OpenAI stops serving gpt-4.1-2025-04-14 on 14 Jan 2027" in text
        assert f"evenkeel challenge --route {route} --model gpt-6-luna" in text
    store.start(Challenge(route=route, model="gpt-6-luna"))
    for path in ("/", f"/routes/{route}"):
        assert "stops serving" not in words(client.get(path))


def test_the_next_step_depends_on_what_is_known():
    """A command of the route's owner before all else; then what changed; then what can be tried."""
    plain, owned = Contact("", "", ""), Contact("@ml", "", "helm rollback")
    mark = ChangeMark("model", "m-1", "m-2", 1.0, 1)
    (named,) = incidents_of([altered(SPELLING, marks=(mark,))])
    assert next_step(named, owned) == "Roll back: helm rollback"
    assert next_step(named, plain) == "If the answers are worse, go back to m-1."


def test_colours_follow_what_a_cell_says_and_never_its_value(make_scene, console_client):
    """A large value with a wide interval is not known; a small one over its limit is over."""
    loud, low = Estimate(0.6, 0.05, 0.9, 40), Estimate(0.12, 0.11, 0.13, 9000)
    scene = make_scene("quiet")
    scene.reports = [cell(excess=loud), cell("general.tone", low), cell(BASELINE), cell("general.filler")]
    html = console_client(scene).get("/").text
    found = re.findall(r'<a id="cell-[^>]+class="cell ([^"]+)"', html)
    assert found == ["floor", "is-unknown", "is-over", "is-unknown"]
    # The table has headers for all cells, reachable by keyboard.
    assert html.count('scope="row"') == 1
    assert "in 9,000 trials; limit 10" in html


def test_cells_are_drawn_with_their_course_in_whole_rows(make_scene, console_client, monkeypatch):
    """Half a row of lines would look like missing data; a long page has none below."""
    for most, lines in ((150, 16), (9, 4)):
        monkeypatch.setattr("evenkeel.console.overview._SPARKS", most)
        assert console_client(make_scene("quiet")).get("/").text.count('class="spark"') == lines
