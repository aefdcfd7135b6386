"""The page of gate runs."""

from __future__ import annotations

import re

from evenkeel.stores.changes import GateRun

FIRST = GateRun("g1", "shop", 5.0, "m-2", "m-1", "pass", "PASS: no excess.", 40, 80, 0.5)
ODD = GateRun(
    "g2", "", 9.0, "<script>m-3", "", "could_not_measure", "COULD NOT MEASURE: \u202eodd.", 0, 3, 0.0
)


def words(page):
    return " ".join(re.sub("<[^>]*>", " ", page.text).split())


def test_runs_are_listed_the_newest_first(make_scene, console_client):
    """With candidate, reference, verdict and its reason, goldens, calls and dollars; texts stay texts."""
    page = console_client(make_scene("quiet"), gates=lambda: [FIRST, ODD]).get("/gates")
    said = words(page)
    assert "m-2 against m-1, shop pass PASS: no excess. 1970-01-01" in said
    assert "40 80, $0.50" in said
    assert said.index("COULD NOT MEASURE") < said.index("PASS: no excess.")
    assert "without a reference" in said
    assert "<script>m-3" not in page.text


def test_without_a_run_the_page_says_how_to_make_one(make_scene, console_client):
    """The command, and where goldens are."""
    assert "evenkeel gate --config evenkeel.yaml" in words(console_client(make_scene("quiet")).get("/gates"))
