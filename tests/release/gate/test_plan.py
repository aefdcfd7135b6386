"""Forecasts of what a gate would find, before anything is asked."""

import json

import pytest

from evenkeel.monitor.detect.gate import Gate, GateMeasure, GateRules, Shares
from evenkeel.release.gate.plan import chances
from tests.kit.commands import run_command

RULES = GateRules()


def verdict(differences):
    gate = Gate(RULES, [GateMeasure(name="worse")], goldens=len(differences))
    for difference in differences:
        gate.take({"worse": Shares(float(difference > 0), float(difference < 0))})
    return gate.report().verdict.value


@pytest.mark.parametrize("clusters", [20, 50])
def test_without_noise_an_equal_candidate_passes_as_the_gate_has_it(clusters):
    """All runs are alike then: no golden differs."""
    passed = chances(0.0, 0.0, clusters, RULES, measures=1).passed
    assert passed == float(verdict([0] * clusters) == "pass")


def test_without_noise_a_regression_is_found_as_often_as_enough_goldens_are_hit():
    """The gate itself says how many of 50 have to get worse; the binomial says how often they do."""
    least = next(hit for hit in range(51) if verdict([1] * hit + [0] * (50 - hit)) == "regression")
    rest = [0.15**hit * 0.85 ** (50 - hit) * _choose(50, hit) for hit in range(least)]
    assert chances(0.0, 0.15, 50, RULES, measures=1).regression == pytest.approx(1 - sum(rest), abs=0.05)


def _choose(n, k):
    product = 1
    for place in range(k):
        product = product * (n - place) // (place + 1)
    return product


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_false_regressions_stay_below_alpha(noise):
    assert all(chances(noise, 0.0, n, RULES, measures=1).regression <= 0.07 for n in (20, 50, 100))


def plan(*options, code=0):
    done = run_command("gate", "--plan", *options, code=code)
    return done.output.replace("\u202f", " ")


def test_a_plan_asks_nothing_and_needs_neither_goldens_nor_an_endpoint():
    output = plan("--noise", "0.04")
    assert "at 4 % noise" in output
    assert all(f"{points} points worse: found" in output for points in (10, 15, 30))
    assert "--noise" in plan("--noise", "1", code=2)


def test_a_plan_promises_nothing_of_regressions_below_the_limit():
    output = plan("--margin", "0.2")
    assert "20 points worse: found" in output
    assert not any(f"{points} points worse" in output for points in (5, 10, 15))


def test_a_plan_knows_the_clusters_of_the_goldens(tmp_path):
    goldens = tmp_path / "goldens.jsonl"
    rows = []
    for number in range(30):
        prompt = f"Is {number} a prime number?"
        rows.append({"id": str(number), "prompt": prompt, "answer": "No.", "model": "m"})
    goldens.write_text("\n".join(map(json.dumps, rows)))
    assert "Your 30 goldens form 1 cluster" in plan(goldens)
