"""Requests that are not replayed: why, and what to do."""

from __future__ import annotations

import re

from evenkeel.console.pipeline import not_replayed, skipped_because, untried_lines
from evenkeel.console.sources import PipelineView
from evenkeel.core.cells import CellKey
from evenkeel.core.rewordings import why_untried
from evenkeel.core.verdict import BASELINE
from evenkeel.stores.counters import RouteFlow, UntriedPerturbation
from tests.house import ROOT
from tests.kit.cells import cell_report

PAGE = ROOT / "docs" / "replays.md"


def test_every_reason_of_the_page_about_replays_is_said_in_words():
    listed = PAGE.read_text(encoding="utf-8").partition("**WebSockets.**")[2].partition("## What is tried")[0]
    reasons = set(re.findall(r"^\| `(\w+)` \|", listed, re.MULTILINE)) - {"too_many_parts"}
    assert len(reasons) > 15
    assert {reason for reason in reasons if skipped_because(reason) == why_untried(reason)} == set()


def test_what_is_not_replayed_is_listed_with_what_to_do():
    """Sampled requests and those of other APIs, most frequent first."""
    flow = RouteFlow(
        "shop", 9, 9, 9, 0, skipped={"stateful": 2, "echo": 0}, unread={"interactions": 3, "other": 1}
    )
    lines = not_replayed([flow], ())
    assert [(line.requests, line.step) for line in lines] == [
        (3, "Use generateContent."),
        (2, "Send the earlier turns with the request, or previous_response_id."),
        (1, "Nothing."),
    ]
    assert lines[0].reason == "requests of another API (interactions) are forwarded and not read"
    failures = {"previous_response_unknown": 4, "timeout": 1}
    controls = [cell_report(CellKey("shop", "m", name), failures=failures) for name in (BASELINE, "a.b")]
    assert not_replayed([flow], controls)[0].requests == 4


def test_a_reason_that_requests_were_skipped_for_is_told_once():
    """A spent budget skips whole exchanges, and so every rewording of each."""
    flow = RouteFlow("shop", 40, 40, 40, 0, skipped={"budget": 40, "nothing_to_change": 0})
    untried = []
    for reason in ("budget", "nothing_to_change"):
        untried.append(UntriedPerturbation("shop", "general.casing", reason, 40))
    lines = untried_lines(PipelineView("http://x/v1", (flow,), untried=tuple(untried)))
    assert [row.reason for row in lines] == [why_untried("nothing_to_change")]


def test_kinds_of_one_category_and_reason_share_a_line():
    """80 pairs of languages that need a rewriter are one line, and it says what to set."""
    untried = [
        UntriedPerturbation("r", f"crosslingual.de_to_{number}", "no_rewriter", None) for number in range(80)
    ]
    untried.append(UntriedPerturbation("r", "positional.context", "no_context", 7))
    untried.append(UntriedPerturbation("r", "positional.mixed", "no_context", 5))
    lines = untried_lines(PipelineView("http://x/v1", untried=tuple(untried)))
    assert [(line.route, line.kinds, line.times) for line in lines] == [
        ("r", "80 rewordings of crosslingual", "always"),
        ("r", "positional: context and positional: mixed", "12 times"),
    ]
    assert "replays.rewriter.model" in lines[0].reason
