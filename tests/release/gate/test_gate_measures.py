"""Breaches: a rating or calibrated scores as a yes or no for each measure."""

from __future__ import annotations

import pytest

from evenkeel.core.verdict import Failure, Judgement, QualityScore
from evenkeel.release.calibration.calibration import FailureMode, ModeResult
from evenkeel.release.gate.scoring import (
    CONTENT_SHIFT,
    DIFFERS,
    QUALITY_CHANGE,
    calibrated_breaches,
    rated_breaches,
)
from tests.release.gate.planted import planted_calibration, watched

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
    """It is never a number; the same content breaches nothing, and a quality that has changed is enough."""
    assert rated_breaches(judgement) == dict(zip((CONTENT_SHIFT, QUALITY_CHANGE), expected, strict=True))


def test_a_shift_without_any_quality_metric_is_said():
    """Nothing measured is not "no change"."""
    assert rated_breaches(Judgement("judge", 1))[QUALITY_CHANGE].reason == "no_quality"


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        (Judgement("metrics", 3, similarity=1.0), False),
        (Judgement("metrics", None, unsure=True, similarity=0.99), True),
        (Judgement("metrics", 1, similarity=0.0), True),
        (Judgement("metrics", None, failures=(FAILED,)), FAILED),
    ],
)
def test_without_a_judge_an_answer_only_differs_or_does_not(judgement, expected):
    """Nothing is said about content or quality."""
    assert rated_breaches(judgement) == {DIFFERS: expected}


CALIBRATION = planted_calibration(
    [
        watched(FailureMode.MISSING, "rouge_l", 0.8),
        watched(FailureMode.REWORDED, "gleu", 0.6),
        ModeResult(FailureMode.ADDED, harmless=False, failure=Failure("roles", 1, "insensitive")),
    ],
    [("rouge_l", 1, "lexical"), ("gleu", 1, "lexical")],
)
"""`rouge_l` watches missing parts below 0.8, `gleu` rewording below 0.6; nobody watches added ones."""


STEPS = planted_calibration(
    [
        watched(FailureMode.MISSING, "workflow_graph_f1", 0.9),
        watched(FailureMode.COMPRESSED, "workflow_tau_weighted", 0.7),
        watched(FailureMode.REWORDED, "workflow_bleu", 0.8, harmless=True),
    ],
    [
        ("workflow_graph_f1", 2, "structural"),
        ("workflow_tau_weighted", 2, "order"),
        ("workflow_bleu", 1, "l"),
    ],
    form="workflow",
)


def test_degradations_of_a_workflow_are_one_measure():
    """Whichever metric falls, the steps changed; a rewording is a measure of its own."""
    low = {"workflow_graph_f1": 0.8, "workflow_tau_weighted": 0.9, "workflow_bleu": 0.9}
    assert calibrated_breaches(STEPS, low) == {"steps_changed": True, "reworded": False}
    assert calibrated_breaches(STEPS, {**low, "workflow_graph_f1": LOST}) == {
        "steps_changed": LOST, "reworded": False,
    }  # fmt: skip
    assert calibrated_breaches(STEPS, {**low, "workflow_graph_f1": 1.0, "workflow_bleu": 0.1}) == {
        "steps_changed": False, "reworded": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"rouge_l": 0.79, "gleu": 0.6}, {"missing": True, "reworded": False}),
        (
            {"rouge_l": LOST},
            {"missing": LOST, "reworded": Failure("gleu", 1, "not_in_use", "the metric was not computed")},
        ),
    ],
)
def test_a_score_below_the_threshold_breaches_its_mode_alone(scores, expected):
    """Each mode with a threshold has its own metric and limit; a score that failed leaves it open."""
    assert calibrated_breaches(CALIBRATION, scores) == expected
