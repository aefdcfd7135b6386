"""The page of challengers: what its forms start and keep."""

from dataclasses import replace

import pytest

from evenkeel.console import RouteSetup
from evenkeel.core.challenge import ChallengeTexts
from evenkeel.release.challenge.board import ChallengeBoard
from evenkeel.stores.challenges import ChallengeStore
from tests.kit.pages import form_token
from tests.release.challenge.test_challenge_figures import CHALLENGE

SUPPORT = RouteSetup("support", "http://127.0.0.1:8100/v1", "https://a.example/v1", 0.1, 2, 9)


@pytest.fixture
def store(documents):
    return ChallengeStore(documents, kept_s=1e9)


@pytest.fixture
def client(store, make_scene, console_client):
    scene = make_scene("quiet")
    return console_client(scene, challengers=ChallengeBoard(store, lambda: scene.now), setup=(SUPPORT,))


def send(client, path, **fields):
    """Send a form of the page as ann."""
    given = {"_csrf_token": form_token(client, "/challengers"), "by": "ann", **fields}
    return client.post(path, data=given, follow_redirects=False)


def test_a_challenger_is_started_and_stopped_on_a_route_that_is_there(client, store):
    refused = send(client, "/challengers", route="suport", model="small")
    assert (refused.status_code, store.all()) == (400, [])
    assert "Nothing was started" in refused.text
    assert "<option>support</option>" in client.get("/challengers").text
    assert send(client, "/challengers", route="support", model="small", share="5").status_code == 303
    (running,) = store.all()
    assert (running.model, running.share, running.stopped_at) == ("small", 0.05, None)
    assert send(client, f"/challengers/{running.id}/stop").status_code == 303
    assert store.all()[0].stopped_at is not None


def test_a_person_judges_a_pair_without_knowing_whose_answer_is_first(client, store):
    """Whichever is shown first, the label says which side was better."""
    store.start(replace(CHALLENGE, started_at=1.0))
    path = f"/challengers/{CHALLENGE.id}/label"
    for number in range(6):
        exchange = str(number)
        answers = {"served": "ours", "again": "ours", "candidate": "theirs"}
        store.add_texts(
            ChallengeTexts(challenge=CHALLENGE.id, exchange=exchange, time=1.0, question="q", **answers)
        )
        shown = client.get(path).text
        first = "first" if shown.index("ours") < shown.index("theirs") else "second"
        assert send(client, path, exchange=exchange, better=first).status_code == 303
    assert set(store.labels(CHALLENGE.id).values()) == {-1}
    # Kept since the judge found it worse: labels of such pairs alone would say that it is too strict.
    lost = {**answers, "candidate": "lost", "drawn": False}
    store.add_texts(ChallengeTexts(challenge=CHALLENGE.id, exchange="7", time=1.0, question="q", **lost))
    assert "lost" not in client.get(path).text
    assert send(client, path, exchange="7", better="first").status_code == 400
