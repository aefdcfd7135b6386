"""From a trial's page to its trace."""

from __future__ import annotations

from dataclasses import replace

import pytest
from litestar.testing import TestClient

from evenkeel.console import create_app

TRACE = "9f3c2ab45d6e7f8091a2b3c4d5e6f708"


@pytest.fixture
def page(make_scene, make_verdict):
    """The page of a trial with this trace id, in a console that knows this place for traces."""

    def get(trace_id, trace_url):
        scene = make_scene("empty")
        verdict, evidence = make_verdict(1)
        scene.log.append(replace(verdict, trace_id=trace_id), evidence)
        with TestClient(create_app(replace(scene.sources(), trace_url=trace_url))) as client:
            return client.get(f"/verdicts/{verdict.id}").text

    return get


def test_a_traced_trial_links_to_its_trace(page):
    """The id stands where the setting says, and its other characters are no markup."""
    shown = page(TRACE, 'https://tempo.example/explore?id={trace_id}&x="<b>')
    assert f'href="https://tempo.example/explore?id={TRACE}&amp;x=&#34;&lt;b&gt;"' in shown


def test_the_id_is_shown_where_nobody_said_where_traces_are(page):
    """It can be pasted into any tool."""
    shown = page(TRACE, None)
    assert f"<dd><code>{TRACE}</code></dd>" in shown
    assert "<dt>Trace</dt>" in shown


def test_a_trial_without_trace_says_nothing_of_one(page):
    """Neither a row nor a link."""
    assert "<dt>Trace</dt>" not in page("", "https://tempo.example/{trace_id}")
