"""The parts of `benchmarks.live_changes` that start nothing."""

from __future__ import annotations

import json

import pytest

from benchmarks.live_changes.cases import CASES, KINDS, SUMMARIES, settings
from benchmarks.live_changes.outcome import Outcome
from benchmarks.live_changes.requests import Manner, requests_of
from benchmarks.live_changes.table import case_row, expected_alerts, head, most_alerts, quiet_line
from evenkeel.settings import load


def outcome(*causes, noticed=20, other=()):
    return Outcome(
        seed=1,
        causes=causes,
        other_reports=other,
        raised=(),
        other_alerts=(),
        noticed_after=noticed,
        trials=20_000,
        watched=18_000,
        cells=40,
        least=500,
        seconds=10.0,
    )


def test_the_same_seed_asks_the_same_questions():
    """Another seed asks others; a route that asks seldom asks about every third case."""
    manners = {"desk": SUMMARIES, "mail": Manner({"chat_summary": 1.0}, every=3)}
    found = requests_of(manners, range(6), 1)
    assert found == requests_of(manners, range(6), 1)
    assert found != requests_of(manners, range(6), 2)
    assert [request.route for request in found].count("mail") == 2
    assert found[0].headers == {"x-evenkeel-prompt-version": "p1"}


def test_the_bound_on_false_alerts_is_that_of_the_setting():
    """18,000 looks at one false alert in 10,000: 1.8; Poisson: P(≤ 5) = 0.9896 and P(≤ 6) = 0.9974."""
    assert expected_alerts(18_000) == pytest.approx(1.8)
    assert most_alerts(1.8) == 6
    assert most_alerts(0.0) == 0
    assert "0 alerts (promised: 1.8 on average at most" in quiet_line(outcome())


def test_a_run_is_right_only_if_nothing_else_was_said():
    """Right once, silent once, one further cause once; the row has as many columns as the head."""
    case = CASES[0]
    right = outcome(case.cause.value)
    row = case_row(
        case, [right, outcome(noticed=None), outcome(case.cause.value, "traffic_moved", noticed=60)]
    )
    assert "| 1 of 3 | 1 | model_swapped + traffic_moved | 0 | 0 | 60 (60) | 10 |" in row
    assert row.count("|") == head().splitlines()[0].count("|")
    assert right.clean
    assert not outcome(case.cause.value, other=("mail: traffic_moved",)).clean


def test_the_settings_are_ones_that_up_takes(tmp_path):
    """Names and values are checked as those of any settings file."""
    path = tmp_path / "evenkeel.json"
    path.write_text(json.dumps(settings("http://127.0.0.1:9", ("desk", "mail"), KINDS)))
    assert [route.name for route in load(path, {}, {}).routes] == ["desk", "mail"]
