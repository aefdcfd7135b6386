"""The first hour: what is missing for the first number, and what holds it up."""

import pytest

from evenkeel.console import PipelineView, RouteSetup
from evenkeel.console.now import first_hour
from evenkeel.core.cells import CellKey
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.measuring import Measuring
from evenkeel.stores.counters import RouteFlow
from tests.cases import cases
from tests.console.planted_trials import cell
from tests.console.scenes import Scene
from tests.kit.cells import cell_report
from tests.kit.records import altered

CASES = cases(__file__)

URL = "http://127.0.0.1:8100/v1"
SHOP = RouteSetup("shop", URL, "https://a.example/v1", 0.1, trials_per_exchange=2, rewordings=4)
WORD = "general.casing"


def read(reports=(), verdicts=(), setup=SHOP, **flow):
    """The first hour of one route with these counters."""
    counted = {"eligible": 0, "sampled": 0, "queued": 0, "scored": 0, **flow}
    scene = Scene(
        reports=list(reports), pipeline=altered(PipelineView(URL), routes=(RouteFlow("shop", **counted),))
    )
    scene.log.verdicts = list(verdicts)
    return first_hour(altered(scene.sources(), setup=(setup,)))


def control(trials, effective=None, **more):
    return cell_report(CellKey("shop", "m", BASELINE), "metrics", trials, effective or trials, **more)


def test_before_any_traffic_the_settings_say_how_much_is_needed():
    """30 trials of two in four rewordings, of 10 % of the requests, are 600 requests."""
    (found,) = read()
    said = "about 600 more requests if all 4 rewordings apply, fewer if some do not"
    assert (found.have, found.need, found.outlook) == (0, 30, said)
    assert found.problem == "No request that can be replayed has come."
    assert URL in found.next_step


def test_with_traffic_the_yield_is_what_was_seen():
    """Ten exchanges gave five trials of a rewording: 25 more take 50 exchanges, which are 500 requests."""
    reports = [control(10), cell_report(CellKey("shop", "m", WORD), "metrics", 5, 5, pairs={0: 4, 1: 1})]
    (found,) = read(reports, eligible=100, sampled=10, queued=10, scored=10, requests={"2xx": 100})
    assert (found.have, found.outlook, found.problem) == (5, "about 500 more requests", "")


def test_without_a_judge_trials_count_that_only_similarity_measures():
    """Nothing rates them, and yet the first figure comes after thirty."""
    unsure = cell_report(CellKey("shop", "m", WORD), "metrics", 5, 5, pairs={}, ratings={0: 5})
    (found,) = read([control(10), unsure], **SEEN)
    assert (found.have, found.outlook) == (5, "about 500 more requests")


def test_it_is_over_once_a_rewording_has_a_number():
    assert read([cell("shop", "m", WORD)]) == []


SEEN = {"eligible": 100, "sampled": 10, "queued": 10, "requests": {"2xx": 100}}


@pytest.mark.parametrize(("given", "problem", "step"), CASES["problems"])
def test_what_holds_it_up_is_said_with_the_next_step(given, problem, step):
    (found,) = read(**given | {"setup": SHOP._replace(**given.get("setup", {}))})
    assert problem in found.problem
    assert step in found.next_step


def test_no_estimate_where_nothing_comes_in():
    """Ten exchanges without a rated control, or no sampling, are no ground for a number of requests."""
    (failing,) = read([control(0, failures={"unauthorized": 10})], **SEEN)
    (silent,) = read(setup=SHOP._replace(sampling_rate=0.0))
    assert failing.outlook == silent.outlook
    assert failing.outlook.startswith("no estimate: no rewording could be rated yet")


def test_the_page_shows_it_until_there_is_a_number(make_scene, console_client):
    """The first page has it with a link to the set-up page, unless a scene has numbers."""
    setup = (SHOP,)
    scene = make_scene("empty")
    scene.measuring = Measuring("learning", scene.now)
    page = console_client(scene, setup=setup).get("/").text
    assert "about 600 more requests" in page
    assert page.count("<h2") == 1
    assert page.count("OpenAI(base_url=") == 1
    assert 'href="/setup"' in page
    assert "The first numbers" not in console_client(make_scene("quiet"), setup=setup).get("/").text
