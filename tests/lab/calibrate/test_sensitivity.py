"""Resamples, sensitivities and trajectories."""

from random import Random

import numpy as np
import pytest

from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.resampling import multiplicities
from evenkeel.lab.calibrate.score_table import CandidateScores, MetricFacts, score_table
from evenkeel.lab.calibrate.sensitivity import sensitivities, slope_weights, trajectories

MISSING = FailureMode.MISSING


def test_sensitivity_is_the_mean_of_the_slopes():
    """Two slopes, of 1 and of 0.5, over uneven steps; with even ones only the ends count."""
    # For 10, 30 and 50 % the source's formula is 2.5 times the fall from first to last.
    assert slope_weights((0.1, 0.3, 0.5)) == pytest.approx((2.5, 0.0, -2.5))
    # (0.9 − 0.8) / 0.1 = 1 and (0.8 − 0.6) / 0.4 = 0.5.
    assert sensitivities(np.array((0.9, 0.8, 0.6)), (0.1, 0.2, 0.6)) == pytest.approx(0.75)


def rows():
    """Two goldens: one metric that falls as expected, one that is kind and fails once."""
    broken = "timeout"
    return [
        CandidateScores("a", MISSING, 0.1, 0.9, {"fair": 0.8, "kind": 1.0}),
        CandidateScores("b", MISSING, 0.1, 0.9, {"fair": 1.0, "kind": 0.9}),
        CandidateScores("a", MISSING, 0.3, 0.7, {"fair": 0.7, "kind": 0.9}),
        CandidateScores("b", MISSING, 0.3, 0.7, {"fair": 0.7, "kind": broken}),
    ]


def test_trajectories_are_means_and_distances_from_the_expected_score():
    """Worked by hand for two goldens."""
    table = score_table(rows(), [MetricFacts("fair", 1, "x"), MetricFacts("kind", 1, "y")])
    fair, kind = trajectories(table, multiplicities(2, 50, Random(1)))
    assert [point.severity for point in fair.points] == [0.1, 0.3]
    # (0.8 + 1.0) / 2 = 0.9; deviation 0.1; residual (−0.1 + 0.1) / 2 = 0.
    mild = fair.points[0]
    assert (mild.mean.value, mild.deviation, mild.residual.value) == (0.9, 0.1, 0.0)
    assert (mild.mean.lower, mild.mean.upper) == (0.8, 1.0)
    assert fair.residual == 0.0
    # Residuals (0.1 + 0.0) / 2 = 0.05 and 0.9 − 0.7 = 0.2; √((0.0025 + 0.04) / 2) = 0.145774.
    assert [point.residual.value for point in kind.points] == [0.05, 0.2]
    assert kind.residual == pytest.approx(0.145774, abs=1e-6)
    assert (kind.points[1].mean.n, kind.points[1].unmeasured) == (1, 1)
    assert table.failures == ((table.conditions[1], "kind", "timeout", 1),)
    never = score_table(
        [CandidateScores("a", MISSING, 0.1, 0.9, {"x": "timeout"})], [MetricFacts("x", 1, "f")]
    )
    (way,) = trajectories(never, multiplicities(1, 10, Random(1)))
    assert (way.points, way.residual) == ((), None)
