"""The page of a trial: its trace, and what a missing key leaves out."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Evidence, Verdict
from evenkeel.stores.sealing import KEY_VARIABLE, payload_keys, seal_of
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.security.desk import console_over

TRACE = "9f3c2ab45d6e7f8091a2b3c4d5e6f708"


@pytest.fixture
def page(make_scene, make_verdict, console_client):
    """The page of a trial with this trace id, in a console that knows this place for traces."""

    def get(trace_id, trace_url, **changes):
        scene = make_scene("empty")
        verdict, evidence = make_verdict(1)
        scene.log.append(replace(verdict, trace_id=trace_id, **changes), evidence)
        return console_client(scene, trace_url=trace_url).get(f"/verdicts/{verdict.id}").text

    return get


def test_a_traced_trial_links_to_its_trace(page):
    """The id stands where the setting says, and its other characters are no markup."""
    shown = page(TRACE, 'https://tempo.example/explore?id={trace_id}&x="<b>')
    assert f'href="https://tempo.example/explore?id={TRACE}&amp;x=&#34;&lt;b&gt;"' in shown


def test_an_id_is_shown_where_nobody_said_where_traces_are(page):
    """It can be pasted into any tool; a trial without a trace has neither a row nor a link."""
    assert f"<dd><code>{TRACE}</code></dd>" in page(TRACE, None)
    assert "<dt>Trace</dt>" not in page("", "https://tempo.example/{trace_id}")


@pytest.mark.parametrize(("rating", "words"), [(2, "some details differ"), (None, "unsure")])
def test_the_comparison_with_the_free_answer_stands_among_the_facts(page, rating, words):
    """Its rating in words and its similarity; a trial without one has no such row."""
    shown = page(TRACE, None, free_rating=rating, free_similarity=0.634)
    assert f"<dt>against the free answer</dt><dd>{words}, similarity 0.63</dd>" in shown
    assert "against the free answer" not in page(TRACE, None)


KEY = base64.b64encode(bytes(32)).decode()
VERDICT = Verdict(
    *("v1", "e1", 999.0, "main", "m", "general.tone", 1, 0.5, 7, "judge", 2, None), explanation="a word"
)


def test_a_page_that_needs_a_missing_key_names_it(tmp_path):
    """503 with the key's id and the variable; the overview does without."""
    path = tmp_path / "evenkeel.db"
    sealed = Database(path, seal=seal_of({KEY_VARIABLE: KEY}))
    SqliteVerdictLog(sealed).append(VERDICT, Evidence("asked", "asked", Answer("said"), Answer("told")))
    sealed.close()
    database = Database(path, seal=seal_of({}))
    with TestClient(create_app(console_over(database))) as client:
        assert client.get("/").status_code == 200
        page = client.get("/verdicts/v1")
    database.close()
    assert page.status_code == 503
    assert f"the key {payload_keys(KEY)[0].id.hex()}, which is not in {KEY_VARIABLE}" in page.text
