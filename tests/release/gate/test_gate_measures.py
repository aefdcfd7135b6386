"""Breaches: a rating as a yes or no for each measure; and the name of what became of steps."""

import asyncio
import random
from dataclasses import replace

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure, Judgement, QualityScore
from evenkeel.lab.calibrate.degrade import WORKFLOWS
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.release.gate.scoring import (
    CONTENT_SHIFT,
    DIFFERS,
    QUALITY_CHANGE,
    rated_breaches,
    step_change,
)

FAILED = Failure("similarity", 1, "timeout", "no answer in time")
LOST = Failure("faithfulness", 1, "refused", "")


def quality(reference, candidate, scale="rating"):
    return QualityScore("completeness", 1, reference, candidate, scale)


@pytest.mark.parametrize(
    ("scores", "changed"),
    [
        ((quality(3, 1),), True),
        ((quality(1, 3),), False),
        ((quality(2, 2),), False),
        ((quality(1, 3), quality(3, 2)), True),
        ((quality(1.0, 0.4, "agreement"),), True),
    ],
)
def test_a_shift_changes_quality_unless_it_is_for_the_better_alone(scores, changed):
    """Better alone is no reason to stop a release; a scale that cannot tell counts as a change."""
    found = rated_breaches(Judgement("judge", 2, quality=scores))
    assert found == {CONTENT_SHIFT: True, QUALITY_CHANGE: changed}


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        (Judgement("judge", 3), (False, False)),
        (Judgement("judge", None, failures=(FAILED,)), (FAILED, FAILED)),
        (Judgement("judge", 1, quality=(quality(2, 2),), failures=(LOST,)), (True, LOST)),
        (Judgement("judge", 1, quality=(quality(3, 2),), failures=(LOST,)), (True, True)),
    ],
)
def test_a_failure_leaves_open_what_it_is_about(judgement, expected):
    """A failure is no number; the same content breaches nothing, one changed quality is enough."""
    assert rated_breaches(judgement) == dict(zip((CONTENT_SHIFT, QUALITY_CHANGE), expected, strict=True))


def test_a_shift_without_any_quality_metric_is_said():
    """Nothing measured is not "no change"."""
    assert rated_breaches(Judgement("judge", 1))[QUALITY_CHANGE].reason == "no_quality"


def test_an_empty_answer_is_a_regression_and_not_unmeasured():
    """No quality is measured of it, since no judge is asked."""
    judgement = asyncio.run(heuristic_scorer().score(Pair(Answer("Yes."), Answer(""), "Is it?")))
    assert rated_breaches(replace(judgement, scorer="judge")) == {CONTENT_SHIFT: True, QUALITY_CHANGE: True}


def test_without_a_judge_an_answer_that_was_not_compared_says_nothing():
    assert rated_breaches(Judgement("metrics", None, failures=(FAILED,))) == {DIFFERS: FAILED}


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
