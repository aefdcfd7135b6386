"""Gate and check as pytest tests, as users run them: pytest inside pytest, against a simulated model."""

from __future__ import annotations

import inspect
import json
import random

import pytest

from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from tests.release.gate.planted import planted_golden

pytest_plugins = ["pytester"]


@pytest.fixture(scope="module")
def url():
    """Endpoint of a model in use, one that is equal, one that is far worse, and one that gives errors."""
    states = [
        ModelState("in-use"),
        ModelState("equal"),
        ModelState("worse", fragility=0.9),
        ModelState("broken", error_rate=1.0),
    ]
    with serving(Simulation(states, SimulationSettings(strict_models=True), rng=random.Random(3))) as url:
        yield f"{url}/v1"


@pytest.fixture
def project(pytester, url, monkeypatch):
    """Runs tests, given as text, with options and no other plugin, in a folder with twenty goldens."""
    lines = "\n".join(json.dumps(planted_golden(seed)) for seed in range(20))
    (pytester.path / "goldens.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    # Twenty goldens settle it: the margin is wide.
    head = f"OPTIONS = dict(base_url={url!r}, margin=0.5)\n"

    def run(tests, *options):
        pytester.makepyfile(test_gates=head + inspect.cleandoc(tests))
        # In this process pytest would drop at its end what it loaded first, and later tests would meet two
        # classes of each exception.
        return pytester.runpytest_subprocess("-p", "evenkeel.pytest_plugin", *options)

    return run


SHIP = """
import pytest

@pytest.mark.parametrize("model", ["equal", "worse", "broken"])
def test_ship(evenkeel_gate, model):
    assert evenkeel_gate("goldens.jsonl", model=model, **OPTIONS).report.settled
"""


def test_only_an_equal_model_passes(project):
    """A worse one fails with the report, one that is down with what could not be measured."""
    done = project(SHIP, "--evenkeel-yes")
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(["*evenkeel gate: *differs*", "*could not measure*"])


def test_nothing_is_asked_unless_allowed(project):
    """The message says what would be asked; options that there are not are told, too."""
    done = project(
        """
        def test_ship(evenkeel_gate):
            evenkeel_gate("goldens.jsonl", model="equal", **OPTIONS)

        def test_typo(evenkeel_gate):
            evenkeel_gate("goldens.jsonl", modle="equal", **OPTIONS)
        """
    )
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(["*no calls were made (40 calls*", "*the gate has no option 'modle'*"])


def test_a_check_fails_for_a_fragile_model_and_passes_for_a_steady_one(project):
    """`evenkeel_check` takes what `evenkeel.check` takes, and shows the report of a failure."""
    done = project(
        """
        from evenkeel.simulate import make_case, summary_prompt

        PROMPT = summary_prompt(make_case(7))
        ASKED = dict(perturbations=["general"], rounds=40, base_url=OPTIONS["base_url"])

        def test_steady(evenkeel_check):
            evenkeel_check(PROMPT, model="equal", judge="simulated-judge", **ASKED)

        def test_fragile(evenkeel_check):
            evenkeel_check(PROMPT, model="worse", judge="simulated-judge", **ASKED)
        """
    )
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*over the limit*"])
