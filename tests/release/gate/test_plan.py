"""What a gate would find, before anything is asked."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.core.cells import CellKey, Estimate
from evenkeel.monitor.detect.gate import GateRules, least_clusters
from evenkeel.release.gate.plan import (
    Scenario,
    noise_of,
    outlooks,
    sentence,
)
from tests.kit.cells import cell_report

QUIET = Scenario(0.0)


def test_without_noise_a_pass_takes_as_many_goldens_as_the_rules_say():
    """No run passes with one golden fewer, every run with as many."""
    least = least_clusters(GateRules())
    before, at = outlooks(QUIET, 0.0, (least - 1, least))
    assert (before.passed, at.passed) == (0.0, 1.0)
    assert (at.regression, at.asked) == (0.0, least)


def test_a_regression_is_found_as_often_as_its_goldens_say():
    """Without noise 50 goldens find 15 points as often as five or more of them are hit: in 88.8 %."""
    (found,) = outlooks(QUIET, 0.15, (50,))
    assert found.regression == pytest.approx(0.888, abs=0.04)


def test_false_regressions_stay_below_alpha():
    """At every noise and number of goldens."""
    for noise in (0.0, 0.1, 0.3):
        assert all(one.regression <= 0.06 for one in outlooks(Scenario(noise), 0.0, (20, 50, 100)))


def test_the_sentence_says_runs():
    """With the clusters where there are any."""
    assert sentence(QUIET, 50) == (
        "With 50 goldens at 0\u202f% noise, the gate finds a regression of 15 points in 9 of 10 runs, and "
        "passes an equal candidate in 10 of 10. To pass it in 80\u202f% of them takes 40 goldens."
    )
    assert sentence(QUIET, 100, 5).startswith("With 100 goldens in 5 clusters at 0\u202f% noise")
    assert "in 0 of 10 runs, and passes an equal candidate in 0 of 10" in sentence(QUIET, 100, 5)


def test_the_noise_is_that_of_the_routes_cells():
    """Each model's floor counts once, by its observations: (0.1 · 100 + 0.4 · 50) / 150 = 0.2."""

    def report(model, kind, floor):
        return cell_report(CellKey("chat", model, kind), "judge", 10, noise_floor=floor)

    first, second = Estimate(0.1, 0.0, 0.2, 100), Estimate(0.4, 0.3, 0.5, 50)
    reports = [report("a", "typos", first), report("a", "case", first), report("b", "typos", second)]
    assert noise_of(reports, "chat") == pytest.approx(0.2)
    assert noise_of(reports, "other") is None


def plan(*options, code=0):
    done = CliRunner().invoke(main, ["gate", "--plan", *map(str, options)])
    assert done.exit_code == code, done.output
    return done.output.replace("\u202f", " ")


def test_a_plan_asks_nothing_and_needs_neither_goldens_nor_an_endpoint():
    """The table shows each size; without a noise it says where one could come from."""
    output = plan("--noise", "0.04")
    assert "Noise 4 % (as stated)" in output
    assert all(f"{points} points worse: found" in output for points in (5, 10, 15, 30))
    assert "no noise floor is known" in plan(code=2)
    assert "--noise: is a share" in plan("--noise", "1", code=2)


def test_a_plan_says_calls(tmp_path):
    """Both sides of each golden."""
    goldens = tmp_path / "goldens.jsonl"
    goldens.write_text(
        json.dumps({"id": "kettle", "prompt": "A used kettle?", "answer": "No.", "model": "m"})
    )
    output = plan(goldens, "--noise", "0.25", "--base-url", "http://127.0.0.1:9/v1", "--model", "n")
    assert "An equal candidate takes about 2 of 2 calls." in output
