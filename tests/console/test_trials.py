"""The list of trials: what it finds, how it pages, and the page of a trial."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.console.trials import CONTROLS, RATINGS, TrialFilter, badness, search
from evenkeel.core.pair import Answer, AnswerForm
from evenkeel.core.verdict import (
    BASELINE,
    Control,
    Evidence,
    Failure,
    Origin,
    QualityScore,
    Scoring,
    ToolStep,
)
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.console.memory_stores import MemoryLog
from tests.console.scenes import Scene
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

KINDS = (BASELINE, "general.spelling", "general.tone", "format.json", "multilingual.de")


def made(number):
    """Trial of a set in which every choice has some trials and none has all."""
    rating = (3, 3, 2, 1, None, 2)[number % 6]
    kind = KINDS[number % 5]
    return altered(
        VERDICT,
        id=f"v{number}",
        exchange_id=f"x{number // 5}",
        scored_at=60.0 * number,
        route=("desk", "shop", "lab")[number % 3],
        model="m-1" if number < 60 else "m-2",
        perturbation=kind,
        scoring=Scoring("judge", explanation=f"Reason {number} of Many."),
        rating=rating,
        failure=None if rating else Failure("replay", 1, ("timeout", "rate_limited")[number % 4 == 0]),
        quality=(QualityScore("faithfulness", 1, 2, (1, 2, 3)[number % 3]),) if rating in {1, 2} else (),
        control=Control(rating=None if kind == BASELINE else (3, 2)[number % 7 == 0]),
        origin=Origin(
            prompt_version=f"p-{number % 2}",
            task="case_summary" if number % 2 else None,
            prompt_language="en",
            client=f"c-{number % 4}",
        ),
        wanted=AnswerForm(
            format="json" if kind == "format.json" else None,
            language="de" if kind == "multilingual.de" else None,
        ),
    )


VERDICTS = [made(number) for number in range(120)]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    filled = SqliteVerdictLog(Database(tmp_path_factory.mktemp("log") / "evenkeel.db"))
    for verdict in VERDICTS:
        filled.append(verdict, Evidence("How?", "Hwo?", Answer("A horse."), Answer("None.")))
    return filled


@pytest.fixture(scope="module")
def unindexed():
    """The same trials in a log without an index, as on Redis."""
    log = MemoryLog()
    for verdict in VERDICTS:
        log.append(verdict, Evidence("How?", "Hwo?", Answer("A horse."), Answer("None.")))
    return log


def every(log, narrow, most=20):
    ids, before = [], None
    while True:
        found = search(log, narrow, most=most, before=before)
        ids += [logged.verdict.id for logged in found.trials]
        before = found.older
        if before is None:
            return ids


choices = st.builds(
    TrialFilter,
    route=st.sampled_from(("", "desk", "lab", "none")),
    model=st.sampled_from(("", "m-1", "m-2")),
    perturbation=st.sampled_from(("", *KINDS)),
    rating=st.sampled_from(("", *RATINGS)),
    control=st.sampled_from(("", *CONTROLS)),
    client=st.sampled_from(("", "c-3")),
    prompt_version=st.sampled_from(("", "p-1")),
    since=st.sampled_from(("", "1970-01-01T00:30")),
    until=st.sampled_from(("", "1970-01-01T01:29", "1970-01-01T00:10")),
)


@given(chosen=choices, worst=st.booleans(), most=st.integers(1, 40))
def test_pages_together_hold_every_trial_of_a_choice_once(log, unindexed, chosen, worst, most):
    """Newest first, whatever fits a page, with an index and without one."""
    narrow = chosen.narrow(worst=worst)
    expected = [verdict.id for verdict in reversed(VERDICTS) if narrow.admits(verdict)]
    assert every(log, narrow, most) == expected
    assert every(unindexed, narrow, most) == expected


@pytest.mark.parametrize(
    ("chosen", "rule"),
    [
        ({"rating": "shifted"}, lambda trial: trial.rating in {1, 2}),
        ({"rating": "failed"}, lambda trial: trial.rating is None),
        (
            {"rating": "shifted", "control": "held"},
            lambda trial: trial.rating in {1, 2} and trial.control.rating == 3,
        ),
        ({"control": "changed"}, lambda trial: trial.control.rating == 2),
        ({"control": "none"}, lambda trial: trial.control.rating is None),
        ({"prompt_version": "p-1"}, lambda trial: trial.origin.prompt_version == "p-1"),
        (
            {"client": "c-3", "model": "m-2"},
            lambda trial: trial.origin.client == "c-3" and trial.model == "m-2",
        ),
    ],
)
def test_a_choice_means_what_it_says(log, chosen, rule):
    expected = [verdict.id for verdict in reversed(VERDICTS) if rule(verdict)]
    assert expected
    assert every(log, TrialFilter.of(chosen).narrow()) == expected


def test_a_page_reads_a_bounded_number_of_verdicts(unindexed, monkeypatch):
    """The next page looks at what this one did not."""
    monkeypatch.setattr("evenkeel.console.trials.SCANNED", 50)
    narrow = TrialFilter(model="none").narrow()
    found = search(unindexed, narrow, most=20)
    assert (found.trials, found.older) == ((), 71)
    assert search(unindexed, narrow, most=20, before=found.older).older == 21


@pytest.mark.parametrize("query", [{"rating": "4"}, {"since": "yesterday"}, {"until": "1e9"}, {"other": "x"}])
def test_what_is_not_known_means_anything(query):
    """Links that somebody typed wrong show everything."""
    assert TrialFilter.of(query) == TrialFilter()


@pytest.fixture(scope="module")
def client(log):
    scene = Scene(now=7200.0)
    sources = altered(scene.sources(), log=log)
    with TestClient(create_app(sources)) as opened:
        yield opened


def rows(response):
    return re.findall(r'<tr role="row" id="t-(\d+)"', response.text)


def test_the_list_pages_backwards_by_links(client):
    """Forty a page; each trial once; every row links to its trial."""
    seen, path = [], "/trials?rating=shifted&order=newest"
    while path:
        response = client.get(path)
        assert response.status_code == 200
        seen += rows(response)
        older = re.search(r'rel="next" href="([^"]+)"', response.text)
        path = older[1].replace("&amp;", "&") if older else None
        assert path is None or parse_qs(urlsplit(path).query)["rating"] == ["shifted"]
    assert seen == [str(number + 1) for number in range(119, -1, -1) if VERDICTS[number].rating in {1, 2}]
    assert client.get("/verdicts/v3").status_code == 200


def test_a_form_that_sends_empty_fields_ends_at_a_clean_address(client):
    response = client.get("/trials?route=desk&model=&until=", follow_redirects=False)
    assert response.status_code == 303
    assert response.headers["location"] == "/trials?route=desk"


def test_the_form_says_what_is_chosen(client):
    """Also while it is folded; a link shows all trials again."""
    html = client.get("/trials?route=desk&rating=1&client=c-3").text
    assert "<summary>Filter: desk, 1 different message, c-3</summary>" in html
    assert html.count(" selected>") == 2
    assert '<a href="/trials">all trials</a>' in html
    assert "<summary>Filter</summary>" in client.get("/trials").text


def ranked(number, **changes):
    """A trial of the desk whose answer moved and whose control held, unless it says otherwise."""
    facts = {"route": "desk", "perturbation": "general.tone", "rating": 2, "control_rating": 3}
    facts |= {"similarity": 0.5, "control_similarity": 0.9, "failure": None, "quality": ()}
    return altered(made(number), id=f"r{number}", **{**facts, **changes})


def test_the_worst_come_first_and_counter_examples_last(console_client):
    """Furthest from the original first; then what is not clear; then what chance explains, and what held."""
    worse = (QualityScore("faithfulness", 1, 3, 1),)
    order = [
        ranked(1, rating=1, similarity=0.1),
        ranked(2, similarity=0.3, quality=worse),
        ranked(3, similarity=0.3),
        ranked(0, rating=1, similarity=0.1, quality=(QualityScore("faithfulness", 1, 1, 3),)),
        ranked(4, rating=1, control_rating=None, control_similarity=None),
        ranked(5, rating=None, unsure=True, similarity=0.6),
        ranked(6, rating=None, failure=Failure("judge", 1, "timeout"), similarity=None),
        ranked(7, rating=1, control_rating=1),
        ranked(8, rating=1, perturbation=BASELINE, control_rating=None, control_similarity=None),
        ranked(9, rating=3, similarity=1.0),
    ]
    mixed = order[::2] + order[1::2]
    assert sorted(mixed, key=badness) == [*order[:8], order[9], order[8]]
    scene = Scene(now=7200.0)
    for verdict in mixed:
        scene.log.append(verdict, None)
    shown = re.findall(r'href="/verdicts/(r\d)"', console_client(scene).get("/trials").text)
    assert shown == [verdict.id for verdict in order[:-1]]


def test_a_row_is_one_line_with_the_users_own_words(console_client):
    """The row shows what the user put into the prompt; the answers are on the trial's page."""
    scene = Scene(now=7200.0)
    prompt = "user: Answer the customer below, and keep every number.\n\nWhere is my order 4711?"
    asked = ((prompt.index("Where"), len(prompt)),)
    texts = Evidence(prompt, prompt.replace("Where", "Wehre"), Answer("On Monday."), Answer("No."), asked)
    scene.log.append(ranked(1), texts)
    html = console_client(scene).get("/trials").text
    row = html.partition('<tbody role="rowgroup"')[2].partition("</tr>")[0]
    assert ">Where is my order 4711?</td>" in row
    assert ">held</td>" in row
    assert "Answer the customer below" not in html
    page = console_client(scene).get("/verdicts/r1").text
    assert "<del>Where</del><ins>Wehre</ins> is my order 4711?" in page


def test_hostile_texts_neither_run_nor_break_the_list(make_scene, console_client):
    """Markup, overrides of direction, NUL and lines of 200,000 characters are inert and cut."""
    scene = make_scene("hostile")
    for number in range(10):
        said = f"<script>alert({number})</script>\u202e\x00{'x' * 200_000}"
        scene.log.append(
            ranked(number, exchange_id=f"x{number}"),
            Evidence(f"user: {said} a", f"user: {said} b", Answer(f"{said} yes"), Answer(f"{said} no")),
        )
    client = console_client(scene)
    for page in (client.get("/trials"), client.get("/verdicts/r3")):
        assert page.status_code == 200
        assert not re.search("<script>|\u202e|\x00|<img src=x", page.text)
    assert len(client.get("/trials").content) < 150_000


def test_programs_page_by_the_place_they_are_given(client):
    first = client.get("/api/trials?route=desk&rating=3").json()
    assert [trial["id"] for trial in first["trials"]] == [
        verdict.id for verdict in reversed(VERDICTS) if verdict.route == "desk" and verdict.rating == 3
    ]
    assert first["before"] is None
    page = client.get("/api/trials").json()
    assert len(page["trials"]) == 50
    assert page["before"] == 71
    assert client.get("/api/trials?before=71").json()["trials"][0]["id"] == "v69"


def test_of_a_long_prompt_the_page_shows_what_surrounds_the_changes(make_scene, console_client):
    """The whole of it is folded away below; a short prompt is shown as it is."""
    scene = make_scene("quiet")
    verdict = altered(scene.log.verdicts[-1], id="long")
    words = " ".join(f"w{number}" for number in range(2_000))
    scene.log.append(verdict, Evidence(words, words.replace("w999 ", "W999 "), Answer("a"), Answer("b")))
    client = console_client(scene)
    html = client.get("/verdicts/long").text
    assert html.count("<ins>W999</ins>") == 2
    around, _, whole = html.partition("The whole prompt")
    assert " w960 " in around
    assert " w1500 " not in around
    assert " w1500 " in whole
    assert "The whole prompt" not in client.get(f"/verdicts/{scene.log.verdicts[0].id}").text


def test_a_step_of_a_run_shows_the_steps_around_it(make_scene, console_client):
    """Tools that were called before it and after it, and how its own call changed."""
    scene = make_scene("quiet")
    base = altered(
        scene.log.verdicts[-1], rating=2, failure=None, unsure=False, control=Control(3, tools=ToolStep())
    )
    for number, tool in enumerate(("find", "lookup", "pay", "")):
        origin = Origin(session="run", tool=tool, prompt_chars=100 * number)
        step = altered(base, id=f"c{number}", exchange_id=f"s{number}", perturbation=BASELINE, origin=origin)
        scene.log.append(step, None)
        if number == 1:
            switch = ToolStep("tool", "lookup", "refund")
            moved = altered(step, id="moved", perturbation="general.spelling", tools=switch)
            scene.log.append(moved, None)
    page = console_client(scene).get("/verdicts/moved").text.replace("</li>", " ")
    html = " ".join(re.sub("<[^>]+>", "", page).split())
    assert "This answer calls `refund` where it called `lookup`; the control calls the same." in html
    assert "Step 2 of 4 of its run" in html
    assert "The answer moved here; the run went on for 2 more steps." in html
    assert "calls find calls lookup (this step) calls pay answers in text" in html
