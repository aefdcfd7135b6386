"""The pages of gate runs and of checks."""

from __future__ import annotations

from evenkeel.stores.changes import CheckedCategory, CheckedModel
from tests.kit.pages import words
from tests.kit.records import altered
from tests.stores.test_changes import CHECK, GATE

FOUND = {"verdict": "could_not_measure", "headline": "COULD NOT MEASURE: \u202eodd."}
ODD = altered(GATE, id="g2", route="", at=9.0, candidate="<script>m-3", reference="", **FOUND)
SENSITIVE = "gpt-x: 95% [80, 100] of 30 answers moved when the question was another one, as they should."
ROWS = (
    CheckedCategory("general", "over", "over the limit", "+31.0 [18, 44]", 0.71, 0.98),
    CheckedCategory("format", "unmeasured", "not measured", "–", None, None),
)
RUN = altered(CHECK, prompt="<b>prompt.txt", models=(CheckedModel("gpt-x", SENSITIVE, ROWS),))


def test_runs_are_listed_the_newest_first(make_scene, console_client):
    """A run has candidate, reference, verdict and reason, goldens, calls and dollars; texts stay texts."""
    page = console_client(make_scene("quiet"), gates=lambda: [GATE, ODD]).get("/runs")
    said = words(page)
    assert "m-2 against m-1, shop pass PASS: no excess. 1970-01-01" in said
    assert "40 80, $0.50" in said
    assert said.index("COULD NOT MEASURE") < said.index("PASS: no excess.")
    assert "without a reference" in said
    assert "<script>m-3" not in page.text


def test_without_runs_the_page_says_how_to_make_some(make_scene, console_client):
    """The commands, with the settings that name the store."""
    said = words(console_client(make_scene("quiet")).get("/runs"))
    assert "evenkeel gate --config evenkeel.yaml" in said
    assert "evenkeel check prompt.txt" in said


def test_checks_are_listed_with_standings_and_sensitivity(make_scene, console_client):
    """Standings have the colours of cells; texts stay texts."""
    page = console_client(make_scene("quiet"), checks=lambda: [RUN]).get("/runs")
    said = words(page)
    assert "general over the limit +31.0 [18, 44] 71 resends 98" in said
    assert "of 30 answers moved when the question was another one" in said
    assert "Limit 10 points above noise; 80 rounds, 560 calls, $0.42" in said
    assert 'class="tag is-over"' in page.text
    assert "<b>prompt.txt" not in page.text
