"""The trial explorer: what it finds, how it pages, and that it reads no more than it may."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.console.trial_search import OUTCOMES, RATINGS, Labelled, Limits, TrialFilter, each_page, search
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import BASELINE, Evidence, Failure, QualityScore, Verdict
from evenkeel.monitor.changes import Cause
from evenkeel.monitor.changes.report import ChangeReport
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.console.scenes import Scene

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
        scorer="judge",
        rating=rating,
        baseline_rating=None if kind == BASELINE else (3, 2)[number % 7 == 0],
        quality=(QualityScore("faithfulness", 1, 2, (1, 2, 3)[number % 3]),) if rating in {1, 2} else (),
        failure=None if rating else Failure("replay", 1, ("timeout", "rate_limited")[number % 4 == 0]),
        explanation=f"Reason {number} of Many.",
        task="case_summary" if number % 2 else None,
        wanted_format="json" if kind == "format.json" else None,
        wanted_language="de" if kind == "multilingual.de" else None,
        prompt_language="en",
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
        return search(log, chosen, before=before, labelled=labelled, limits=limits)

    return [one.verdict.id for one in each_page(page, most=10**6, scanned=10**6)]


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


@settings(max_examples=60)
@given(chosen=choices, shown=st.integers(1, 40), scanned=st.integers(1, 200), texts=st.integers(1, 200))
def test_pages_together_hold_every_trial_of_a_choice_once(log, chosen, shown, scanned, texts):
    """Newest first, whatever fits a page and however little is read for one."""
    since, until = chosen.span
    expected = [
        verdict.id
        for number, verdict in reversed(list(enumerate(VERDICTS)))
        if chosen.admits(verdict)
        and (since is None or verdict.scored_at >= since)
        and (until is None or verdict.scored_at <= until)
        and (
            not chosen.text
            or chosen.text.casefold() in verdict.explanation.casefold()
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
        ({"outcome": "excess"}, lambda one: one.rating in {1, 2} and one.baseline_rating == 3),
        ({"outcome": "noise"}, lambda one: one.baseline_rating == 2),
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


def test_a_page_reads_a_bounded_number_of_verdicts_and_says_where_it_stopped(log):
    """What was not looked at is looked at by the next page."""
    found = search(log, TrialFilter(model="none"), limits=Limits(scanned=50, seconds=60.0))
    assert (found.trials, found.looked_at, found.full) == ((), 50, False)
    assert found.older == 71
    assert found.reached_s == VERDICTS[70].scored_at
    assert search(log, TrialFilter(model="none"), before=found.older).older is None


def test_a_page_reads_a_bounded_number_of_texts(log):
    """Texts are the dearest to read."""
    found = search(log, TrialFilter(text="nowhere"), limits=Limits(texts=7, seconds=60.0))
    assert found.older == 114
    assert not found.full


def test_a_page_takes_a_bounded_time(log):
    """After half a second no further piece is read, and the search goes on with the next page."""
    ticks = iter((0.0, 0.1, 0.6))
    found = search(log, TrialFilter(model="none"), clock=lambda: next(ticks), limits=Limits(scanned=110))
    assert found.looked_at == 110  # two pieces: the first is not yet late
    assert found.older == 11
    ticks = iter((0.0, 0.6))
    assert search(log, TrialFilter(model="none"), clock=lambda: next(ticks)).looked_at == 100


def test_late_trials_are_skipped_without_reading_them(log):
    """A search that ends long ago begins there."""
    found = search(log, TrialFilter.of({"until": "1970-01-01T00:10", "text": "nowhere"}))
    assert 0 < found.looked_at < 60


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


def test_a_choice_survives_its_own_address():
    """Every part is in the query."""
    chosen = TrialFilter.of(
        {
            "route": "a&b=c",
            "rating": "shifted",
            "change": "c1",
            "side": "before",
            "since": "2026-08-12T14:20",
            "text": "50 % \u202e",
            "labels": "any",
        }
    )
    assert TrialFilter.of({name: value for name, value in chosen.parts().items() if value}) == chosen


@pytest.fixture(scope="module")
def client(log):
    """A console over the log."""
    scene = Scene(now=7200.0)
    sources = replace(scene.sources(), log=log, change_reports=lambda: (change(),))
    with TestClient(create_app(sources)) as opened:
        yield opened


def rows(response):
    return re.findall(r'<tr role="row" id="t-(\d+)"', response.text)


def test_the_explorer_pages_backwards_by_links(client):
    """Fifty a page; each trial once; every row links to its trial."""
    seen, path = [], "/trials?rating=shifted"
    while path:
        response = client.get(path)
        assert response.status_code == 200
        seen += rows(response)
        older = re.search(r'rel="next" href="([^"]+)"', response.text)
        path = older[1].replace("&amp;", "&") if older else None
        assert path is None or parse_qs(urlsplit(path).query)["rating"] == ["shifted"]
    assert seen == [str(number + 1) for number in range(119, -1, -1) if VERDICTS[number].rating in {1, 2}]
    assert client.get("/verdicts/v3").status_code == 200
    assert 'href="/verdicts/v119"' in client.get("/trials").text


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


def test_only_the_newest_trials_are_kept_fresh(client):
    """A page further back, a search through texts and an unknown change load no script."""
    assert 'data-source="/fragments/trials?rating=3"' in client.get("/trials?rating=3").text
    for path in ("/trials?before=30", "/trials?text=zebra", "/trials?change=gone"):
        assert "live.js" not in client.get(path).text
    assert "no longer stored" in client.get("/trials?change=gone").text
    part = client.get("/fragments/trials?rating=3")
    again = client.get("/fragments/trials?rating=3", headers={"if-none-match": part.headers["etag"]})
    assert (part.status_code, again.status_code) == (200, 304)


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


def test_a_place_that_is_none_is_no_error(client):
    """The newest, or the end."""
    for before in ("0", "-1", "x", "9" * 30, "²"):
        assert client.get(f"/trials?before={before}").status_code == 200


def test_the_page_of_a_failed_trial_says_what_the_upstream_said(make_scene, console_client):
    """The sentence of the failure, as text; the list of trials shows its reason as well."""
    scene = make_scene("quiet")
    said = "the upstream answered 400 to the variant (invalid_request_error: no <b>tools</b>)"
    failed = replace(
        scene.log.verdicts[-1], id="refused", rating=None, failure=Failure("replay", 1, "rejected", said)
    )
    scene.log.append(failed, None)
    client = console_client(scene)
    page = client.get("/verdicts/refused").text
    assert "replay: rejected. the upstream answered 400 to the variant (invalid_request_error: " in page
    assert "no &lt;b&gt;tools&lt;/b&gt;)" in page
    assert "answered 400 to the variant" in client.get("/trials?reason=rejected").text


def test_of_a_long_prompt_the_page_shows_what_surrounds_the_changes(make_scene, console_client):
    """The whole of it is folded away below; a short prompt is shown as it is."""
    scene = make_scene("quiet")
    verdict = replace(scene.log.verdicts[-1], id="long")
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
