"""The pages about changes, the same as JSON and Markdown, and that nothing in them becomes markup."""

import re
from contextlib import ExitStack

import pytest
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.console.changes import effect_words
from evenkeel.core import rewordings
from evenkeel.core.cells import ChangeMark
from evenkeel.core.pair import Answer
from evenkeel.monitor.changes import ChangeRecord, kinds
from evenkeel.monitor.changes.record import change_id
from evenkeel.monitor.changes.report import Names, history_of, reports_of
from evenkeel.monitor.changes.stay import End
from evenkeel.stores.changes import GoldenResult, GoldenRun
from evenkeel.stores.references import KeptAnswer
from tests.console.whole_scene import change_report, references, silent_change
from tests.docs.documentation import ROOT
from tests.kit.records import altered
from tests.monitor.changes.tallies import tally
from tests.monitor.notify.scene import SPELLING, incidents_of, over

NOW = 1_786_544_400.0
TRIED = ("general.spelling",)
HOSTILE = '<script>alert("x")</script>{{ 7*7 }}\u202e | `'


def record(kind, before, after, route="chat"):
    """A change of ten minutes ago, since when every answer to a rewording has moved."""
    mark = ChangeMark(kind, before, after, NOW - 600, 7)
    before_it = tally(200, 0.0, quality=(), tried=TRIED)
    since = tally(200, 1.0, quality=(), tried=TRIED, language="de")
    return ChangeRecord(change_id(route, mark), route, (mark,), before_it, since, 90)


def golden_run(change, breached, goldens=60):
    results = tuple(
        GoldenResult(f"g{number}@1", {"content_shift": breached}, {"similarity": 0.5})
        for number in range(goldens)
    )
    return GoldenRun("r", "chat", NOW, change, "m", ("content_shift",), False, results)


@pytest.fixture
def client(make_scene):
    """The console over the reports of some records."""
    with ExitStack() as stack:

        def serve(*records, runs=()):
            reports = reports_of(records, history_of(runs))
            sources = altered(make_scene("quiet").sources(), change_reports=lambda: reports)
            return stack.enter_context(TestClient(create_app(sources)))

        yield serve


@pytest.fixture
def sources(documents):
    """Reference prompts and archived answers on both sides of the silent change."""
    return references(documents, NOW)


def test_a_report_shows_both_sides_evidence_and_goldens(client):
    one = record(kinds.PROMPT, "v1", "v2")
    served = client(one, runs=[golden_run(one.id, breached=True)])
    page = served.get(f"/changes/{one.id}").text
    spelling = rewordings.label("general.spelling")
    for said in ("Another prompt version", "regression", spelling, "answers are more fragile"):
        assert said in page
    body = served.get(f"/api/changes/{one.id}").json()["change"]
    assert (body["effect"], body["goldens"]["verdict"]) == ("fragile", "regression")
    assert body["cause"] == "unclear", "a silent change at that time is not ruled out"
    assert [candidate["cause"] for candidate in body["candidates"]] == [
        "prompt",
        "traffic",
        "provider",
        "judge",
    ]
    assert served.get("/api/changes").json()["changes"] == [body]


def test_a_change_that_was_reversed_says_when_and_keeps_what_was_measured(client):
    """Ten minutes and ninety exchanges later."""
    end = End("reversed", NOW, 400, "v1", 90)
    one = altered(record(kinds.PROMPT, "v1", "v2"), end=end)
    served = client(one)
    said = "Reversed at 12 Aug 2026 14:20 UTC, after 10 min and 90 sampled exchanges."
    listed = served.get("/incidents").text
    assert f'href="/changes/{one.id}"' in listed
    assert "v1 → v2" in listed
    for path in ("/incidents", f"/changes/{one.id}"):
        text = served.get(path).text
        assert said in text
        assert "answers were more fragile, until it was reversed" in text
        assert '<span class="tag warn">answers' not in text
    page = served.get(f"/changes/{one.id}").text
    assert "200 exchanges before, 200 until it was reversed." in page
    (listed,) = served.get("/api/changes").json()["changes"]
    assert listed["end"] == {"how": "reversed", "at": NOW, "offset": 400, "by": "v1", "exchanges": 90}


def test_names_from_clients_stay_text(client):
    one = record(kinds.MODEL, HOSTILE, "b", route=HOSTILE)
    served = client(one)
    for path in ("/incidents", f"/changes/{one.id}"):
        page = served.get(path)
        assert page.status_code == 200
        assert "<script>" not in page.text
        assert "\u202e" not in page.text
        assert "{{ 7*7 }}" in page.text


def test_an_unknown_change_is_not_found(client):
    served = client()
    assert "None yet. A new model" in served.get("/incidents").text
    assert served.get("/changes/0123456789ab").status_code == 404
    assert served.get("/api/changes/0123456789ab").json()["error"]["status"] == 404


def test_a_silent_change_is_shown_with_everything_that_is_known(console_client, make_scene, sources):
    served = console_client(make_scene("quiet"), change_reports=lambda: (silent_change(NOW),), **sources)
    page = served.get("/changes/s-1").text
    for said in (
        "Found: the same requests get different answers than before.",
        "between 12 Aug 2026",
        "no change was noticed",
        "those that moved furthest, were scored by the judge",
        "the same request",
        "A judge that rates differently: none took part",
    ):
        assert said in page, said
    body = served.get("/api/changes/s-1").json()
    assert body["change"]["silent"]["state"] == "found"
    assert body["examples"][0]["before"].startswith("Certainly!")
    assert "a silent change by the provider" in served.get("/incidents").text


def test_reference_prompts_are_on_the_page_of_their_route(console_client, make_scene, sources):
    """The page has the calls of the day, and no prompt and no answer."""
    served = console_client(make_scene("quiet"), **sources)
    page = served.get("/routes/chat").text
    for said in (
        "4 reference prompts, 3 of them with enough answers",
        "53 calls, $0.083; 22 of them",
    ):
        assert said in page, said
    assert "printer" not in page.partition('id="references"')[2]
    assert '<a href="/changes/s-1">found</a>' in page
    assert "of the evidence that opens an incident" in page
    chat = next(route for route in served.get("/api/references").json()["routes"] if route["route"] == "chat")
    assert (chat["references"], chat["calls_today"], chat["usd_today"]) == (4, 53, 0.083)
    assert (chat["ready"], chat["asked_at"]) == (3, NOW - 700)


def test_every_member_of_a_silent_change_is_documented(console_client, make_scene, sources):
    """The page of the documentation names the members of the JSON, and no others in its table."""
    reports = (silent_change(NOW),)
    served = console_client(make_scene("quiet"), change_reports=lambda: reports, **sources)
    body = served.get("/api/changes/s-1").json()
    text = (ROOT / "docs" / "changes.md").read_text(encoding="utf-8").partition("## As data")[2]
    in_table = [
        cell
        for line in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
        for cell in re.findall(r"`(\w+)`", line)
    ]
    silent = body["change"]["silent"]
    assert sorted(in_table) == sorted(silent)
    said = set(re.findall(r"`(\w+)`", text))
    members = [silent["references"], body["examples"][0], silent["scores"], silent["scores"]["results"][0]]
    assert {name for member in members for name in member} <= said


def test_what_models_and_clients_say_of_a_silent_change_stays_text(console_client, make_scene, sources):
    """Names, examples and beginnings are text on the page and in Markdown."""
    report = silent_change(NOW)
    silent = altered(report.silent, requested_model="", models=Names(HOSTILE, (HOSTILE,)))
    former = (KeptAnswer(Answer(HOSTILE), NOW - 13_000, "m", "asked"),)
    sources["references"].update(
        "kept-1", lambda reference: altered(reference, former=former, request=HOSTILE)
    )
    reports = (altered(report, silent=silent),)
    served = console_client(make_scene("quiet"), change_reports=lambda: reports, **sources)
    page = served.get("/changes/s-1")
    assert page.status_code == 200
    assert page.text.count("{{ 7*7 }}") >= 4
    assert "\u202e" not in page.text
    assert "<script>" not in page.text


def test_a_change_has_the_effect_of_its_incident_where_too_little_was_compared():
    """The effect is in the present while the incident is open; what was compared comes first."""
    worse = change_report("support", NOW)
    unclear = altered(worse, effect="unknown", end=None)
    (going,), (ended,) = incidents_of([SPELLING]), incidents_of([SPELLING, over(SPELLING)])
    assert effect_words(unclear, None) == "too little was measured to tell"
    assert effect_words(unclear, going) == "answers are more fragile"
    assert effect_words(unclear, ended) == "answers had become fragile"
    assert effect_words(worse, going) == "answers got worse"
