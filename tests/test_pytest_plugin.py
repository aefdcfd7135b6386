"""Gate and check as pytest tests, as users run them: pytest inside pytest, against a simulated model."""

import inspect
import json
import random

from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from tests.release.gate.planted import planted_golden

pytest_plugins = ["pytester"]

MODELS = (
    ModelState("in-use"),
    ModelState("equal"),
    ModelState("worse", fragility=0.9),
    ModelState("broken", error_rate=1.0),
)
# Twenty goldens settle it: the margin is wide.
TESTS = """
import pytest

from evenkeel.simulate import make_case, summary_prompt

GATE = dict(base_url=URL, margin=0.5)
CHECK = dict(perturbations=["general"], rounds=40, base_url=URL, judge="simulated-judge")

@pytest.mark.parametrize("model", ["equal", "worse", "broken"])
def test_gate(evenkeel_gate, model):
    assert evenkeel_gate("goldens.jsonl", model=model, **GATE).report.settled

def test_gate_without_the_option(evenkeel_gate, pytestconfig, monkeypatch):
    monkeypatch.setattr(pytestconfig.option, "evenkeel_yes", False)
    evenkeel_gate("goldens.jsonl", model="equal", **GATE)

def test_gate_with_a_slip(evenkeel_gate):
    evenkeel_gate("goldens.jsonl", modle="equal", **GATE)

@pytest.mark.parametrize("model", ["equal", "worse"])
def test_check(evenkeel_check, model):
    evenkeel_check(summary_prompt(make_case(7)), model=model, **CHECK)
"""


def test_only_what_is_allowed_and_passes_lets_a_test_pass(pytester, pytestconfig, monkeypatch):
    """A worse model fails with its report; what could not be measured, or was not asked, says why."""
    assert not pytestconfig.getoption("--evenkeel-yes")
    goldens = [json.dumps(planted_golden(seed)) for seed in range(20)]
    (pytester.path / "goldens.jsonl").write_text("\n".join(goldens), encoding="utf-8")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    simulation = Simulation(MODELS, SimulationSettings(strict_models=True), rng=random.Random(3))
    with serving(simulation) as url:
        pytester.makepyfile(test_gates=f"URL = {url + '/v1'!r}\n{inspect.cleandoc(TESTS)}")
        # In this process pytest would drop at its end what it loaded first, and later tests would meet two
        # classes of each exception.
        done = pytester.runpytest_subprocess("-v", "-p", "evenkeel.pytest_plugin", "--evenkeel-yes")
    passed = {line.split()[0].partition("::")[2] for line in done.outlines if " PASSED" in line}
    assert passed == {"test_gate[equal]", "test_check[equal]"}
    done.assert_outcomes(passed=2, failed=5)
    done.stdout.fnmatch_lines([
        "*evenkeel gate: *differs*", "*could not measure*", "*no calls were made (up to 40 calls*",
        "*No such option*--modle*", "*over the limit*",
    ])  # fmt: skip
