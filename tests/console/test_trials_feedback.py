"""Statements of people on verdicts: the form of a trial, trials drawn at random, the API."""

import re

import pytest

from evenkeel.console.access import Visitor
from evenkeel.console.labels import drawn, say
from evenkeel.core.verdict import BASELINE
from evenkeel.stores.labels import CountedLabels, LabelError, LabelStore
from tests.cases import cases
from tests.kit.records import altered

CASES = cases(__file__)


class Desk:
    """A console with labels, and a browser's view of it."""

    def __init__(self, client, store, scene):
        self.client, self.store, self.scene = client, store, scene
        self.verdict = next(verdict for verdict in reversed(scene.log.verdicts) if verdict.rating == 2)
        self.path = f"/verdicts/{self.verdict.id}"

    def form(self, path=None):
        html = self.client.get(path or self.path).text
        return html, re.search(r'name="_csrf_token" value="(\w+)"', html)[1]

    def send(self, headers=None, *, token=None, **fields):
        given = {"_csrf_token": token or self.form()[1], "verdict": self.verdict.id, "by": "ann"}
        return self.client.post(
            "/feedback", data={**given, **fields}, headers=headers, follow_redirects=False
        )


@pytest.fixture
def desk(make_scene, console_client, documents):
    """The alert scene, whose verdicts were decided by a judge."""
    scene = make_scene("alert")
    scene.log.verdicts = [
        altered(verdict, scorer="judge", judge_model="j-1", details={"decided_by": 2.0})
        for verdict in scene.log.verdicts
    ]
    store = LabelStore(documents)
    return Desk(console_client(scene, labels=store), store, scene)


def test_what_somebody_says_is_stored_with_all_that_it_needs(desk):
    """The page that the form leads back to shows it; texts are kept beside it."""
    response = desk.send(rating="3", quality="equal", note="Only the order differs.")
    assert response.status_code == 303
    assert response.headers["location"] == f"{desk.path}#feedback"
    (label,) = desk.store.select()
    assert (label.by, label.rating, label.quality) == ("ann", 3, "equal")
    assert label.note == "Only the order differs."
    assert (label.judge_rating, label.judge_model, label.at) == (2, "j-1", desk.scene.now)
    assert desk.store.texts(desk.verdict.id) == desk.scene.log.evidence(desk.verdict.id)
    html, _ = desk.form()
    for text in ("<b>ann</b>: the same; just as good", ">disagrees<", "Only the order differs."):
        assert text in html


def test_a_correction_replaces_and_taking_back_withdraws(desk):
    """The page shows the newest version, and that it was taken back."""
    desk.send(rating="3")
    desk.send(rating="2")
    html, _ = desk.form()
    assert "version 2" in html
    assert ">disagrees<" not in html
    assert desk.send(withdraw="1").status_code == 303
    html, _ = desk.form()
    assert "taken back" in html
    assert desk.store.select() == ()


@pytest.mark.parametrize(("fields", "said"), CASES["unsayable"])
def test_what_cannot_be_said_is_explained(make_scene, documents, fields, said):
    scene, store = make_scene("quiet"), LabelStore(documents)
    asked = {"verdict": scene.log.verdicts[0].id, "by": "ann", **fields}
    with pytest.raises(LabelError, match=said):
        say(altered(scene.sources(), labels=store), Visitor(), asked)
    assert store.revision() == 0


def test_a_verdict_drawn_by_chance_is_rated_without_seeing_its_rating(desk):
    """Neither chip nor scores nor explanation nor the other trials; the label says that it was drawn."""
    response = desk.client.get("/trials/drawn", follow_redirects=False)
    assert response.status_code == 303
    path = response.headers["location"]
    assert path == desk.client.get("/trials/drawn", follow_redirects=False).headers["location"]
    html, token = desk.form(path)
    for hidden in ('class="chip', "ROUGE-L", "Control", "Numbers of the original", "faithfulness"):
        assert hidden not in html
    verdict_id = path.removeprefix("/verdicts/").partition("?")[0]
    assert desk.send(token=token, verdict=verdict_id, rating="3", drawn="1").status_code == 303
    (label,) = desk.store.select()
    assert (label.verdict_id, label.drawn) == (verdict_id, True)
    # From now on its page shows everything, and another one is drawn.
    assert 'class="chip' in desk.form(path)[0]
    assert desk.client.get("/trials/drawn", follow_redirects=False).headers["location"] != path


def test_what_chance_drew_when_it_was_made_is_rated_first(desk):
    """Its page says what the rating is for; it can be taken back."""
    log = desk.scene.log
    chosen = next(
        verdict for verdict in log.verdicts if verdict.rating == 3 and verdict.perturbation != BASELINE
    )
    log.verdicts = [altered(verdict, label_share=float(verdict.id == chosen.id)) for verdict in log.verdicts]
    path = desk.client.get("/trials/drawn", follow_redirects=False).headers["location"]
    assert path == f"/verdicts/{chosen.id}?blind=1"
    html, token = desk.form(path)
    assert "your rating shows how often the judge is right" in html
    desk.send(token=token, verdict=chosen.id, rating="2", drawn="1")
    (label,) = desk.store.select()
    assert (label.verdict_id, label.rating) == (chosen.id, 2)
    desk.send(token=token, verdict=chosen.id, withdraw="1")
    assert [label.withdrawn_at for label in desk.store.history(chosen.id)] == [None, desk.scene.now]


def test_only_verdicts_that_can_be_rated_are_drawn(desk):
    """Only judged trials with texts and a rating are drawn; none is left without them."""
    log = desk.scene.log
    chosen = log.find(drawn(log, desk.store, CountedLabels(desk.store)))
    assert chosen.rating is not None
    assert chosen.perturbation != BASELINE
    # Hundreds that go first, whose texts are kept no longer, do not hide those that have texts.
    gone = [altered(chosen, id=f"gone-{number}", label_share=1.0) for number in range(300)]
    log.verdicts += gone
    assert drawn(log, desk.store, CountedLabels(desk.store)) in log.texts
    log.texts.clear()
    assert drawn(log, desk.store, CountedLabels(desk.store)) is None
    page = desk.client.get("/trials/drawn")
    assert (page.status_code, "No trial has a rating yet" in page.text) == (200, True)


def test_the_api_takes_and_gives_labels(desk):
    body = {"verdict": desk.verdict.id, "by": "ci", "rating": 2, "drawn": True}
    made = desk.client.post("/api/labels", json=body)
    assert (made.status_code, made.json()["label"]["rating"]) == (201, 2)
    shown = desk.client.get("/api/labels").json()
    assert [label["by"] for label in shown["labels"]] == ["ci"]
    (agreement,) = shown["agreement"]
    assert (agreement["judge"], agreement["source"]) == ("j-1", "drawn")
    assert (agreement["n"], agreement["value"]) == (1, 1.0)
    assert desk.client.get("/api/labels?route=none").json()["labels"] == []
    for options in ({"json": [1]}, {"content": b"{", "headers": {"content-type": "application/json"}}):
        assert desk.client.post("/api/labels", **options).status_code == 400
    assert desk.client.post("/api/labels", data=body).status_code == 415
    assert desk.client.post("/api/labels", json={"by": "ci"}).json()["error"]["status"] == 400
