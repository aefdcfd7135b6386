"""The page of gates and checks."""

from __future__ import annotations

from tests.kit.pages import words
from tests.kit.records import altered
from tests.stores.test_changes import CHECK, GATE

FOUND = {"verdict": "could not measure", "headline": "COULD NOT MEASURE: \u202eodd.", "standing": "unknown"}
ODD = altered(GATE, id="g2", at=9.0, subject="<script>m-3", beside="without a reference", **FOUND)


def test_runs_are_listed_the_newest_first(make_scene, console_client):
    """A run says what was asked, its verdict and why, its lines, size, calls, dollars; texts stay texts."""
    page = console_client(make_scene("quiet"), releases=lambda: [GATE, CHECK, ODD]).get("/runs")
    said = words(page)
    assert "m-2 gate, against m-1 pass PASS: no excess. content_shift: pass 1970-01-01" in said
    assert "40 goldens 80, $0.50" in said
    assert said.index("COULD NOT MEASURE") < said.index("p.txt check, m") < said.index("PASS: no excess.")
    assert "<script>m-3" not in page.text
    assert 'class="tag is-within"' in page.text


def test_without_runs_the_page_says_how_to_make_some(make_scene, console_client):
    """The commands, with the settings that name the store."""
    said = words(console_client(make_scene("quiet")).get("/runs"))
    assert "evenkeel gate --config evenkeel.yaml" in said
    assert "evenkeel check prompt.txt" in said
