"""The name of what became of a workflow's steps."""

from __future__ import annotations

import random

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.lab.calibrate.degrade import WORKFLOWS
from evenkeel.release.gate.scoring import step_change

STEPS = (
    "Open the settings of the printer",
    "Print a test page and look at it",
    "Clean the print head if lines are missing",
    "Replace the cartridge of the colour that is empty",
    "Print another test page to compare",
    "Close the settings and tell the user",
)
GOLDEN = Answer("\n".join(f"{number}. {step}" for number, step in enumerate(STEPS, start=1)))
NAMES = {
    "missing_random": "missing",
    "compressed_random": "compressed",
    "reordered_steps": "reordered",
    "duplicated_steps": "duplicated",
    "added_steps": "added",
}


@pytest.mark.parametrize("degradation", WORKFLOWS, ids=lambda degradation: degradation.name)
@pytest.mark.parametrize("severity", [0.1, 0.3])
def test_each_degradation_has_its_name(degradation, severity):
    """The rule holds whichever steps it hits. Reworded steps have none: the judge alone knows them."""
    for seed in range(10):
        candidate = degradation.apply(GOLDEN, severity, random.Random(seed))
        assert step_change(Pair(GOLDEN, candidate, "", "workflow")) == NAMES.get(degradation.name, "changed")


def test_several_changes_at_once_have_no_name():
    """A step is gone and a foreign one came elsewhere; where there is no workflow nothing is said."""
    other = "\n".join(f"{n}. {step}" for n, step in enumerate([*STEPS[1:4], "Dance", *STEPS[4:]], start=1))
    assert step_change(Pair(GOLDEN, Answer(other), "", "workflow")) == "changed"
    assert step_change(Pair(GOLDEN, Answer(""), "", "workflow")) == ""
