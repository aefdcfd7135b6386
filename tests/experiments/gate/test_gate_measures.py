"""Breaches: a rating or calibrated scores as a yes or no for each measure."""

from __future__ import annotations

import pytest

from evenkeel.core.verdict import Failure, Judgement, QualityScore
from evenkeel.experiments.calibrate.calibration import ModeResult
from evenkeel.experiments.calibrate.score_table import FailureMode
from evenkeel.experiments.gate.scoring import (
    CONTENT_SHIFT,
    QUALITY_CHANGE,
    calibrated_breaches,
    rated_breaches,
    watched_modes,
)
from tests.experiments.gate.planted import planted_calibration, watched

FAILED = Failure("similarity", 1, "timeout", "no answer in time")
LOST = Failure("faithfulness", 1, "refused", "")


def quality(reference, candidate, scale="rating"):
    return QualityScore("completeness", 1, reference, candidate, scale)


def test_the_same_content_breaches_nothing():
    """A rating of 3 is no shift, and no quality is looked at."""
    assert rated_breaches(Judgement("judge", 3)) == {CONTENT_SHIFT: False, QUALITY_CHANGE: False}


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


def test_a_failed_rating_leaves_both_open():
    """A failure is never a number."""
    found = rated_breaches(Judgement("judge", None, failures=(FAILED,)))
    assert found == {CONTENT_SHIFT: FAILED, QUALITY_CHANGE: FAILED}


def test_a_failed_quality_leaves_only_quality_open():
    """Unless another quality has changed already."""
    alone = rated_breaches(Judgement("judge", 1, quality=(quality(2, 2),), failures=(LOST,)))
    assert alone == {CONTENT_SHIFT: True, QUALITY_CHANGE: LOST}
    beside = rated_breaches(Judgement("judge", 1, quality=(quality(3, 2),), failures=(LOST,)))
    assert beside[QUALITY_CHANGE] is True


def test_a_shift_without_any_quality_metric_is_said():
    """Nothing measured is not "no change"."""
    found = rated_breaches(Judgement("metrics", 1))[QUALITY_CHANGE]
    assert isinstance(found, Failure)
    assert found.reason == "no_quality"


CALIBRATION = planted_calibration(
    [
        watched(FailureMode.MISSING, "rouge_l", 0.8),
        watched(FailureMode.REWORDED, "gleu", 0.6),
        ModeResult(FailureMode.ADDED, harmless=False, failure=Failure("roles", 1, "insensitive")),
    ],
    [("rouge_l", 1, "lexical"), ("gleu", 1, "lexical")],
)
"""`rouge_l` watches missing parts below 0.8, `gleu` rewording below 0.6; nobody watches added ones."""


def test_each_watched_mode_is_a_measure():
    """A mode without a threshold is none, so it cannot be passed unseen."""
    assert watched_modes(CALIBRATION) == (FailureMode.MISSING, FailureMode.REWORDED)


def test_a_score_below_the_threshold_breaches_its_mode_alone():
    """Each mode has its own metric and its own limit."""
    found = calibrated_breaches(CALIBRATION, {"rouge_l": 0.79, "gleu": 0.6})
    assert found == {"missing": True, "reworded": False}


def test_a_score_that_failed_or_is_missing_leaves_its_mode_open():
    """The failure itself is passed on; a metric nobody computed is named."""
    found = calibrated_breaches(CALIBRATION, {"rouge_l": LOST})
    assert found["missing"] is LOST
    assert found["reworded"] == Failure("gleu", 1, "not_in_use", "the metric was not computed")
