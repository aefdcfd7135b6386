"""The page of checks."""

from __future__ import annotations

import re

from evenkeel.stores.changes import CheckedCategory, CheckedModel, CheckRun

RUN = CheckRun(
    "c1",
    5.0,
    "<b>prompt.txt",
    "gpt-x: general over the limit.",
    0.1,
    (
        CheckedModel(
            "gpt-x",
            "gpt-x: 95% [80, 100] of 30 answers moved when the question was another one, as they should.",
            (
                CheckedCategory("general", "over", "over the limit", "+31.0 [18, 44]", 0.71, 0.98),
                CheckedCategory("format", "unmeasured", "not measured", "–", None, None),
            ),
        ),
    ),
    80,
    560,
    0.42,
)


def words(page):
    return " ".join(re.sub("<[^>]*>", " ", page.text).split())


def test_checks_are_listed_with_standings_and_sensitivity(make_scene, console_client):
    """In the colours of cells; texts stay texts."""
    page = console_client(make_scene("quiet"), checks=lambda: [RUN]).get("/checks")
    said = words(page)
    assert "general over the limit +31.0 [18, 44] 71 resends 98" in said
    assert "of 30 answers moved when the question was another one" in said
    assert "Limit 10 points above noise; 80 rounds, 560 calls, $0.42" in said
    assert 'class="tag is-over"' in page.text
    assert "<b>prompt.txt" not in page.text


def test_without_a_check_the_page_says_how_to_make_one(make_scene, console_client):
    """The command, with the settings that name the store."""
    assert "evenkeel check prompt.txt" in words(console_client(make_scene("quiet")).get("/checks"))
