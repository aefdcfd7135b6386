"""The pages about incidents: what happened, the worst trials whose control held, decisions."""

import pytest

from evenkeel.console import JudgeSetup
from evenkeel.console.chart import incident_trend
from evenkeel.console.incidents import case_lines
from evenkeel.core.incidents import DECIDED
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.monitor.incidents import worst_trials
from evenkeel.monitor.measuring import HoldUp, Measuring
from evenkeel.monitor.notify import Contact, Writer
from evenkeel.stores.audit_log import ActionLog
from tests.cases import cases
from tests.kit.pages import form_token, words
from tests.kit.records import altered
from tests.monitor.notify.scene import BILLING, FOUND, SPELLING, TONE, decided, incidents_of, over

CASES = cases(__file__)

WRITER = Writer({"support": Contact("@support-ml", "", "helm rollback support")})
FIRST = "support: answers became fragile at 1 Jan 1970 00:16 UTC, after helpdesk-1 → helpdesk-2."
"""Of the alert alone; reference prompts say that it began earlier."""
HEADLINE = "support: answers became fragile at 1 Jan 1970 00:16 UTC, after helpdesk-1 → helpdesk-2."


@pytest.fixture
def served(make_scene, console_client):
    """The console over events, with its log."""

    def serve(*events, **sources):
        scene = make_scene("quiet")
        scene.store.history = list(events)
        client = console_client(scene, writer=WRITER, **sources)
        return client, scene

    return serve


def test_the_list_has_what_is_open_and_what_is_over(served):
    """An incident is one entry, however many alerts it has."""
    client, _ = served(SPELLING, TONE, FOUND, BILLING, over(BILLING, reason="retired"))
    page = client.get("/incidents").text
    assert HEADLINE in page
    assert page.count(f">{HEADLINE}</a>") == 1
    assert "1 open incident" in page
    assert "▲ 1 · Incidents · evenkeel" in page
    assert "billing: resolved after 16 min, helpdesk-2 no longer answers." in page


def test_the_page_says_what_happened_and_what_to_do(served):
    client, _ = served(SPELLING, TONE, FOUND)
    page = client.get("/incidents/cafe").text
    for text in (
        HEADLINE,
        "42 points above noise when the alert was raised (limit 10, spelling, 20 trials)",
        "Owner: @support-ml",
        "helm rollback support",
    ):
        assert text in page
    for name in DECIDED:
        assert f'value="{name}"' in page


def test_what_is_over_has_no_buttons(served):
    client, _ = served(SPELLING, over(SPELLING))
    page = client.get("/incidents/cafe").text
    assert "resolved after 16 min, the change helpdesk-1 → helpdesk-2 was reversed." in page
    assert FIRST in page
    assert "Acknowledge" not in page


def test_the_same_as_json(served):
    client, _ = served(SPELLING, BILLING, over(BILLING))
    found = client.get("/api/incidents").json()["incidents"]
    assert {incident["id"]: incident["state"] for incident in found} == {"cafe": "open", "beef": "resolved"}
    assert [incident["id"] for incident in client.get("/api/incidents?state=open").json()["incidents"]] == [
        "cafe"
    ]
    assert [
        incident["id"] for incident in client.get("/api/incidents?route=billing").json()["incidents"]
    ] == ["beef"]
    one = client.get("/api/incidents/cafe").json()["incident"]
    assert one["headline"] == FIRST
    assert one["facts"] == [
        "42 points above noise when the alert was raised (limit 10, spelling, 20 trials), 1 of 1 rewordings."
    ]
    assert client.get("/api/incidents/none").status_code == 404


def test_a_decision_is_noted_in_the_log_and_on_record(served, documents):
    actions = ActionLog(documents)
    client, scene = served(SPELLING, actions=actions)
    answer = client.post(
        "/api/incidents/cafe", json={"decided": "rolled_back", "by": "ana", "note": "helm rollback"}
    )
    assert answer.json() == {"incident": "cafe", "decided": "rolled_back", "by": "ana"}
    (decision,) = scene.log.notes
    assert (decision.route, decision.decided, decision.note) == ("support", "rolled_back", "helm rollback")
    (action,) = actions.latest(10)
    assert (action.what, action.subject, action.detail) == (
        "incident_decided", "cafe", "rolled back: helm rollback",
    )  # fmt: skip


@pytest.mark.parametrize(("said", "why"), CASES["undecidable"])
def test_what_cannot_be_decided_is_refused(served, said, why):
    client, scene = served(SPELLING)
    answer = client.post("/api/incidents/cafe", json=said)
    assert answer.status_code == 400
    assert why in answer.text
    assert scene.log.notes == []


def test_an_acknowledged_incident_names_who_is_on_it(served):
    client, _ = served(SPELLING, decided("acknowledged"))
    assert "ana is on it" in client.get("/incidents").text
    page = client.get("/incidents/cafe").text
    assert "acknowledged by ana" in page
    assert '<span class="tag warn">acknowledged</span>' in page
    assert "1 open incident, 1 acknowledged" in client.get("/incidents").text


def test_the_worst_trials_are_of_different_exchanges_and_their_control_held(make_scene, make_verdict):
    """The lowest rating first, then the least similar; a trial whose control moved, too, is no example."""
    scene = make_scene("quiet")
    kinds = [(1, 3, "a"), (2, 3, "b"), (1, 1, "c"), (3, 3, "d"), (1, 3, "a"), (2, 3, "e")]
    scene.log.verdicts = [
        altered(
            make_verdict(place)[0],
            id=f"v{place}",
            exchange_id=exchange,
            route="support",
            model="helpdesk-2",
            perturbation="general.spelling",
            rating=rating,
            control_rating=control,
            failure=None,
            similarity=0.9 - place / 10,
        )
        for place, (rating, control, exchange) in enumerate(kinds)
    ]
    (incident,) = incidents_of([altered(SPELLING, offset=6, run_trials=6)])
    found = worst_trials(scene.log, incident)
    assert [verdict.exchange_id for verdict in found] == ["a", "e", "b"]


def test_incidents_with_one_cause_stand_together():
    """Two routes share a sentence with a link to the incident of each; another cause has its own."""
    other = altered(SPELLING, id="e9", route="chat", at=1100.0, incident="f00d", change="f00d")
    lines = case_lines(incidents_of([SPELLING, other, BILLING]), WRITER)
    assert [[route.id for route in line.routes] for line in lines] == [["cafe", "f00d"], []]
    assert lines[0].notice.headline.startswith("support and chat: answers became fragile")


def test_whether_it_is_real_is_answered_in_words(served, make_cell):
    """Noise floor, clients, judge and queue; a judge that is down is never said to be none."""
    event = altered(SPELLING, clients={"a": 15, "b": 5})
    client, scene = served(event, judge=JudgeSetup("referee-2", "https://judge.example/v1"))
    scene.reports = [make_cell("support", "helpdesk-2", "general.spelling")]
    text = words(client.get("/incidents/cafe"))
    assert "Trials 20 since it began to show; chance raises one alert in 10,000 trials of all" in text
    assert "Noise floor 4" in text
    assert "Clients 2 affected. 15 of 20 trials come from client a, 5 from 1 other client" in text
    assert "Judge referee-2 answers Scoring nothing waits" in text
    cause = HoldUp("judge_key", "The judge rejected its key (401)", "Set judge.api_key_env.", 1.0)
    scene.measuring = Measuring("held_up", 1.0, (cause,))
    said = "The judge rejected its key (401). Set judge.api_key_env."
    assert f"Judge look {said} Scoring look {said}" in words(client.get("/incidents/cafe"))
    without, _ = served(event, thresholds=MonitorSettings())
    text = words(without.get("/incidents/cafe"))
    assert (
        "chance raises one alert in 10,000 trials of all cells together, on average, "
        "if blocks of 40 exchanges are exchangeable" in text
    )
    assert "none is set: similarity only, contradictions cannot be seen" in text


@pytest.mark.parametrize(("routes", "told"), [((), True), (("support",), True), (("other",), False)])
def test_a_budget_that_is_held_back_is_told_where_it_hides_the_end(served, routes, told):
    """A rollback shows late on a route that is measured in part; other routes have nothing to do with it."""
    client, scene = served(SPELLING)
    cause = HoldUp("budget_pace", "The budget is held back so that it lasts the day", "Wait.", 1.0, routes)
    scene.measuring = Measuring("measuring", 1.0, thinned=(cause,))
    assert ("a rollback too, is noticed later" in words(client.get("/incidents/cafe"))) is told


def test_the_chart_marks_the_change(make_scene):
    """Both models are drawn under the rewording that moved furthest; when it was opened is marked, too."""
    scene = make_scene("alert")
    (incident,) = incidents_of(scene.store.history)
    worst = next(part for part in incident.parts if part.raised.perturbation == "general.spelling")
    drawn = incident_trend(incident, worst, scene.reports, scene.store, scene.now)
    assert [mark.kind for mark in drawn.chart.marks] == ["change", "raised"]
    assert (drawn.report.key.model, drawn.earlier) == ("swift-2026-08", ("steady-2026-05 (before)",))
    assert incident_trend(incident, worst, [], scene.store, scene.now) is None


def test_a_decision_leads_back_to_the_page(served):
    """Which says that it was noted, and who is on it once the monitor has read it."""
    client, scene = served(SPELLING)
    form = {"decided": "acknowledged", "by": "ana", "note": "on it"}
    form["_csrf_token"] = form_token(client, "/incidents/cafe")
    sent = client.post("/incidents/cafe", data=form, follow_redirects=False)
    assert (sent.status_code, sent.headers["location"]) == (303, "/incidents/cafe?decided=1")
    assert "Noted." in client.get(sent.headers["location"]).text
    assert [note.by for note in scene.log.notes] == ["ana"]


def many(count):
    """Incidents that are over, so many, the first one first."""
    for number in range(count):
        name = f"i{number:03}"
        event = altered(SPELLING, id=name, incident=name, change=name, at=1_000.0 + number, marks=())
        yield event
        yield over(event, 5_000.0 + number)


def test_two_hundred_incidents_are_given_a_page_at_a_time(served):
    """Newest first; each page names where the next one begins, and the last none."""
    client, _ = served(*many(200))
    seen, before = [], ""
    for size in (90, 90, 20):
        found = client.get(f"/api/incidents?state=resolved&limit=90&before={before}").json()
        assert (found["count"], len(found["incidents"])) == (200, size)
        seen += [incident["id"] for incident in found["incidents"]]
        before = found["next"]
    assert before is None
    assert seen == [f"i{number:03}" for number in range(199, -1, -1)]
    assert len(client.get("/api/incidents").json()["incidents"]) == 100
    assert client.get("/api/incidents?limit=0").status_code == 400
