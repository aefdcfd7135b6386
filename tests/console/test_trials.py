"""The list of trials: what it finds, how it pages, and that it reads no more than it may."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.console.trial_search import (
    NO_LABELS,
    OUTCOMES,
    RATINGS,
    Labelled,
    Limits,
    TrialFilter,
    badness,
    each_page,
    search,
)
from evenkeel.core.pair import Answer, Wanted
from evenkeel.core.verdict import (
    BASELINE,
    Control,
    Evidence,
    Failure,
    Origin,
    QualityScore,
    Scoring,
    Verdict,
)
from evenkeel.monitor.changes import Cause
from evenkeel.monitor.changes.report import ChangeReport
from evenkeel.stores.monitor_state import AlertEvent
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.console.memory_stores import MemoryLog
from tests.console.scenes import Scene
from tests.kit.records import altered

KINDS = (BASELINE, "general.spelling", "general.tone", "format.json", "multilingual.de")


def made(number):
    """One of a set in which every choice has some trials and none has all."""
    rating = (3, 3, 2, 1, None, 2)[number % 6]
    kind = KINDS[number % 5]
    return Verdict(
        id=f"v{number}",
        exchange_id=f"x{number // 5}",
        scored_at=60.0 * number,
        route=("desk", "shop", "lab")[number % 3],
        model="m-1" if number < 60 else "m-2",
        perturbation=kind,
        perturbation_version=1,
        severity=0.3,
        seed=1,
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
        wanted=Wanted(
            format="json" if kind == "format.json" else None,
            language="de" if kind == "multilingual.de" else None,
        ),
    )


VERDICTS = [made(number) for number in range(120)]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """All of them, with texts; the word Zebra is in the answer of one of ten."""
    filled = SqliteVerdictLog(Database(tmp_path_factory.mktemp("log") / "evenkeel.db"))
    for number, verdict in enumerate(VERDICTS):
        word = "Zebra" if number % 10 == 3 else "horse"
        filled.append(verdict, Evidence("How?", "Hwo?", Answer(f"A {word}."), Answer("None.")))
    return filled


def every(log, chosen, limits=None, labelled=None):
    """Ids over all pages."""

    def page(before, _wanted):
        return search(
            log,
            chosen.narrow,
            text=chosen.text,
            labels=chosen.labels,
            labelled=labelled or NO_LABELS,
            before=before,
            limits=limits,
        )

    return [logged.verdict.id for logged in each_page(page, most=10**6, scanned=10**6)]


choices = st.builds(
    TrialFilter,
    route=st.sampled_from(("", "desk", "lab", "none")),
    model=st.sampled_from(("", "m-1", "m-2")),
    perturbation=st.sampled_from(("", *KINDS)),
    category=st.sampled_from(("", "general", "format")),
    rating=st.sampled_from(("", *RATINGS)),
    outcome=st.sampled_from(("", *OUTCOMES)),
    task=st.sampled_from(("", "case_summary")),
    language=st.sampled_from(("", "de", "en")),
    since=st.sampled_from(("", "1970-01-01T00:30")),
    until=st.sampled_from(("", "1970-01-01T01:29", "1970-01-01T00:10")),
    text=st.sampled_from(("", "zEbRa", "reason 7", "nowhere")),
)


@given(chosen=choices, shown=st.integers(1, 40), scanned=st.integers(1, 200), texts=st.integers(1, 200))
def test_pages_together_hold_every_trial_of_a_choice_once(log, chosen, shown, scanned, texts):
    """Newest first, whatever fits a page and however little is read for one."""
    expected = [
        verdict.id
        for number, verdict in reversed(list(enumerate(VERDICTS)))
        if chosen.narrow.admits(verdict)
        and (
            not chosen.text
            or chosen.text.casefold() in verdict.scoring.explanation.casefold()
            or (chosen.text == "zEbRa" and number % 10 == 3)
        )
    ]
    assert every(log, chosen, Limits(shown, scanned, texts)) == expected


@pytest.mark.parametrize(
    ("chosen", "rule"),
    [
        ({"rating": "shifted"}, lambda one: one.rating in {1, 2}),
        ({"rating": "failed"}, lambda one: one.rating is None),
        ({"reason": "timeout"}, lambda one: one.failure is not None and one.failure.reason == "timeout"),
        ({"outcome": "worse"}, lambda one: one.direction == "worse"),
        (
            {"rating": "shifted", "control": "held"},
            lambda one: one.rating in {1, 2} and one.control.rating == 3,
        ),
        ({"control": "changed"}, lambda one: one.control.rating == 2),
        ({"control": "none"}, lambda one: one.control.rating is None),
        ({"prompt_version": "p-1"}, lambda one: one.origin.prompt_version == "p-1"),
        ({"client": "c-3"}, lambda one: one.origin.client == "c-3"),
        ({"rating": "open"}, lambda one: one.rating != 3),
        ({"format": "json"}, lambda one: one.perturbation == "format.json"),
        ({"language": "de"}, lambda one: one.perturbation == "multilingual.de"),
        (
            {"category": "general", "model": "m-2"},
            lambda one: "general." in one.perturbation and one.model == "m-2",
        ),
    ],
)
def test_a_choice_means_what_it_says(log, chosen, rule):
    """Some trials are of it, and exactly those are found."""
    expected = [one.id for one in reversed(VERDICTS) if rule(one)]
    assert expected
    assert every(log, TrialFilter.of(chosen)) == expected


@pytest.fixture(scope="module")
def unindexed():
    """The same trials in a log without an index, as on Redis."""
    log = MemoryLog()
    for verdict in VERDICTS:
        log.append(verdict, Evidence("How?", "Hwo?", Answer("A horse."), Answer("None.")))
    return log


def test_a_page_reads_a_bounded_number_of_verdicts_and_says_where_it_stopped(unindexed):
    """What was not looked at is looked at by the next page."""
    narrow = TrialFilter(model="none").narrow
    found = search(unindexed, narrow, limits=Limits(scanned=50, seconds=60.0))
    assert (found.trials, found.looked_at, found.older, found.full) == ((), 50, 71, False)
    assert found.reached_s == VERDICTS[70].scored_at
    assert search(unindexed, narrow, before=found.older).older is None


def test_a_page_reads_a_bounded_number_of_texts(log):
    """Texts are the dearest to read."""
    found = search(log, TrialFilter().narrow, text="nowhere", limits=Limits(texts=7, seconds=60.0))
    assert (found.older, found.full) == (114, False)
    assert found.reached_s == VERDICTS[113].scored_at


def test_an_index_reads_no_trial_in_vain(log):
    """A rare trial of long ago is found by reading nothing else."""
    found = search(log, TrialFilter.of({"until": "1970-01-01T00:10", "client": "c-3"}).narrow)
    assert [logged.verdict.id for logged in found.trials] == ["v7", "v3"]
    assert (found.looked_at, found.older) == (2, None)


def test_labels_narrow_the_search(log):
    """Labelled at all, not labelled, disputed."""
    labelled = Labelled({"v7": True, "v8": False, "v9": None})
    assert every(log, TrialFilter(labels="any"), labelled=labelled) == ["v9", "v8", "v7"]
    assert every(log, TrialFilter(labels="disputed"), labelled=labelled) == ["v8"]
    assert len(every(log, TrialFilter(labels="none"), labelled=labelled)) == 117


def change(**given):
    nothing = dict.fromkeys(("candidates", "evidence", "ruled_out", "findings", "marks"), ())
    about = {"id": "c1", "route": "desk", "at": 3600.0, "cause": Cause.MODEL, "effect": "unknown"}
    return ChangeReport(**{**nothing, **about, "comparison": None, "goldens": None, **given})


def test_a_change_stands_for_its_route_and_its_time(log):
    """The trial that shows the change is after it; together both sides are the route."""
    sides = [
        TrialFilter.of({"change": "c1", "side": side}).beside([change()]) for side in ("before", "after")
    ]
    before, after = (every(log, chosen) for chosen in sides)
    assert after[-1] == "v60"
    assert before[0] == "v57"
    assert after + before == every(log, TrialFilter(route="desk"))
    assert TrialFilter.of({"change": "gone"}).beside([change()]) is None


@pytest.mark.parametrize(
    "query",
    [
        {"rating": "4"},
        {"outcome": "x"},
        {"since": "yesterday"},
        {"until": "1e9"},
        {"labels": "x"},
        {"side": "before"},
        {"other": "x"},
    ],
)
def test_what_is_not_known_means_anything(query):
    """Links that somebody typed wrong show everything."""
    assert TrialFilter.of(query) == TrialFilter()


@pytest.fixture(scope="module")
def client(log):
    """A console over the log."""
    scene = Scene(now=7200.0)
    sources = altered(scene.sources(), log=log, change_reports=lambda: (change(),))
    with TestClient(create_app(sources)) as opened:
        yield opened


def rows(response):
    return re.findall(r'<tr role="row" id="t-(\d+)"', response.text)


def test_the_list_pages_backwards_by_links(client):
    """Thirty a page; each trial once; every row links to its trial."""
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
    """As browsers without script send it; the place in the log is kept."""
    response = client.get("/trials?route=desk&model=&text=&before=50", follow_redirects=False)
    assert response.status_code == 303
    assert response.headers["location"] == "/trials?route=desk&before=50"
    assert len(rows(client.get(response.headers["location"]))) == 17


def test_every_choice_can_be_taken_back(client):
    """A chip for each part that is set, linking to the rest."""
    html = client.get("/trials?route=desk&rating=1&change=c1&side=before").text
    chips = re.findall(r'<a href="(/trials\?[^"]*)">([^<]+) <span aria-hidden', html)
    assert ("/trials?rating=1&amp;change=c1&amp;side=before", "route: desk") in chips
    (undone,) = [text for href, text in chips if href == "/trials?route=desk&amp;rating=1"]
    assert undone.startswith("change: desk, 01:00: ")


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
    assert shown == [one.id for one in order]


def test_the_worst_are_paged_and_those_that_held_follow(client):
    """Each trial once: the changed and unclear ones by rank, then the others, newest first."""
    seen, path = [], "/trials"
    while path:
        response = client.get(path)
        seen += rows(response)
        older = re.search(r'rel="next" href="([^"]+)"', response.text)
        path = older[1].replace("&amp;", "&") if older else None
    assert sorted(map(int, seen)) == list(range(1, 121))
    open_ones = [VERDICTS[int(place) - 1] for place in seen[: sum(one.rating != 3 for one in VERDICTS)]]
    assert {one.rating for one in open_ones} == {1, 2, None}
    ranks = [badness(one) for one in open_ones]
    assert ranks == sorted(ranks)


def test_a_row_shows_the_question_and_both_answers_where_they_differ(console_client):
    """Of the prompt, what the user put in."""
    scene = Scene(now=7200.0)
    for number, word in enumerate(("order", "invoice", "parcel")):
        prompt = f"user: Answer the customer below, and keep every number.\n\nWhere is my {word} 4711?"
        answer = Answer("We are sorry for the trouble. Your goods left the store on Monday at nine.")
        other = Answer(answer.text.replace("Monday", "Friday"))
        verdict = ranked(number, prompt_version=None)
        asked = ((prompt.index("Where"), len(prompt)),)
        scene.log.append(verdict, Evidence(prompt, prompt.replace("Where", "Wehre"), answer, other, asked))
    html = console_client(scene).get("/trials?text=invoice").text
    row = html.partition('<tbody role="rowgroup"')[2].partition("</tr>")[0]
    assert "><del>Where</del><ins>Wehre</ins> is my invoice 4711?</td>" in row
    assert "Answer the customer below" not in html
    assert "on <del>Monday </del>at nine." in row
    assert "on <ins>Friday </ins>at nine." in row
    assert "control held" in row


def incident_event(**changes):
    """An alert of the incident c1."""
    said = {"what": "excess", "measure": "content", "incident": "c1", "change": "c1", "run_trials": 20}
    event = AlertEvent("e1", 5400.0, "raised", "desk", "m-2", "general.tone", 90, 40, 0.3, **said)
    return altered(event, **changes)


def found_by(client, query):
    """Ids of the trials on a page, in order."""
    return re.findall(r'href="/verdicts/(v\d+)"', client.get(f"/trials?{query}").text)


def test_an_incident_stands_for_its_cells_since_its_change_until_it_was_closed(log, console_client):
    """The trials of the alerting cells from the change on; a closed one ends with its closing."""
    scene = Scene(now=7200.0)
    scene.store.history = [incident_event(), incident_event(id="e2", route="lab", at=5500.0)]
    client = console_client(scene, log=log, change_reports=lambda: (change(),))
    cells = {("desk", "m-2", "general.tone"), ("lab", "m-2", "general.tone")}
    expected = [
        one
        for one in reversed(VERDICTS)
        if (one.route, one.model, one.perturbation) in cells and one.scored_at >= 3600
    ]
    assert found_by(client, "incident=c1&order=newest") == [one.id for one in expected]
    assert '<option value="c1">desk, lab, ' in client.get("/trials").text
    scene.store.history += [
        incident_event(id=f"o{route}", route=route, at=6600.0, kind="resolved", reason="retired")
        for route in ("desk", "lab")
    ]
    before = [one.id for one in expected if one.scored_at <= 6600]
    assert 0 < len(before) < len(expected)
    assert found_by(client, "incident=c1&order=newest") == before


def test_an_incident_without_a_change_begins_with_the_trials_behind_its_alert(log, console_client):
    """The run of the alert, as far as the log has it."""
    scene = Scene(now=7200.0)
    scene.store.history = [incident_event(change="", run_trials=2)]
    cell = ("desk", "m-2", "general.tone")
    tones = [one for one in VERDICTS if (one.route, one.model, one.perturbation) == cell]
    first = [one for one in tones if int(one.id[1:]) < 90 and one.rating][-2]
    assert found_by(console_client(scene, log=log), "incident=c1&order=newest") == [
        one.id for one in reversed(tones) if one.scored_at >= first.scored_at
    ]


def test_hostile_texts_neither_run_nor_break_the_list(make_scene, console_client):
    """Markup, overrides of direction, NUL and lines of 300,000 characters are inert and cut."""
    scene = make_scene("hostile")
    for number in range(30):
        said = f"<script>alert({number})</script>\u202e\x00{'x' * 300_000}"
        scene.log.append(
            ranked(number, exchange_id=f"x{number}"),
            Evidence(f"user: {said} a", f"user: {said} b", Answer(f"{said} yes"), Answer(f"{said} no")),
        )
    client = console_client(scene)
    for page in (client.get("/trials"), client.get("/verdicts/r3")):
        assert page.status_code == 200
        assert not re.search("<script>|\u202e|\x00|<img src=x", page.text)
    assert len(client.get("/trials").content) < 150_000


def test_a_change_that_is_no_longer_stored_is_said_to_be(client):
    """And no trial is shown for it."""
    page = client.get("/trials?change=gone").text
    assert "This change is no longer stored" in page
    assert "This incident is no longer stored" in client.get("/trials?incident=gone").text


def test_what_is_chosen_can_be_downloaded(client):
    """All of it, not only what fits the page, as CSV and as JSON."""
    expected = [one.id for one in reversed(VERDICTS) if one.rating in {1, 2}]
    response = client.get("/downloads/trials.csv?rating=shifted")
    read = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["id"] for row in read] == expected
    assert read[0]["quality"] == {"worse": "worse", "better": "better", None: "same"}[VERDICTS[119].direction]
    records = client.get("/downloads/trials.json?rating=shifted").json()["trials"]
    assert [row["id"] for row in records] == expected
    assert "A horse" not in response.text


def test_programs_page_by_the_place_they_are_given(client):
    """The same as the page, as JSON."""
    first = client.get("/api/trials?route=desk&rating=3").json()
    assert [one["id"] for one in first["trials"]] == [
        one.id for one in reversed(VERDICTS) if one.route == "desk" and one.rating == 3
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
