"""Places of thresholds, and whether they hold on goldens they were not set on."""

from random import Random

import numpy as np
import pytest

from evenkeel.lab.calibrate.calibration import Placement
from evenkeel.lab.calibrate.resampling import multiplicities
from evenkeel.lab.calibrate.threshold import threshold


def placed(mild, moderate, rule, *, times=200):
    return threshold(np.array(mild), np.array(moderate), multiplicities(len(mild), times, Random(3)), rule)


def test_the_threshold_is_conformal():
    """With 20 mild scores and one tenth allowed it is the second smallest: ⌊0.1 · 21⌋ = 2."""
    mild = [0.60, 0.65, 0.70, *[0.9] * 17]
    found = placed(mild, [0.5] * 20, Placement(false_alerts=0.1))
    assert found.value == pytest.approx(0.65, abs=2e-6)
    assert found.value < 0.65
    assert found.limited_by == "false_alerts"
    assert (found.mild_mean, found.moderate_mean) == (pytest.approx(0.8625), 0.5)


@pytest.mark.parametrize(
    ("mild", "moderate", "rule", "value", "limited_by"),
    [
        ([0.9] * 30, [0.5] * 30, Placement(level=0.3), 0.7, "level"),
        ([0.9] * 30, [0.75] * 30, Placement(level=0.3), 0.75, "band"),
        ([0.2, 0.3, 0.4, *[0.8] * 27], [0.6] * 30, Placement(false_alerts=0.05), 0.2, "false_alerts"),
    ],
)
def test_the_level_holds_the_threshold_down_and_nothing_holds_it_up(mild, moderate, rule, value, limited_by):
    """Flagging from 30 % on puts none above 0.7, or the mean moderate score; the stated rate always holds."""
    found = placed(mild, moderate, rule)
    assert (found.value, found.limited_by) == (pytest.approx(value, abs=2e-6), limited_by)
    assert found.false_alerts.lower <= 0.05
    assert found.misses.value == pytest.approx(1.0 if limited_by != "level" else 0.0, abs=0.06)


def test_goldens_of_a_cluster_are_one_witness():
    """Of 40 goldens in 20 pairs the worst of each counts: the second smallest of those is the threshold."""
    mild = np.array([score for worst in range(20) for score in (0.6 + worst / 100, 0.9)])
    clusters = np.arange(40) // 2
    drawn = multiplicities(40, 200, Random(3), clusters)
    assert (drawn[:, ::2] == drawn[:, 1::2]).all()
    found = threshold(mild, np.full(40, 0.5), drawn, Placement(), clusters)
    assert found.value == pytest.approx(0.61, abs=2e-6)
    assert found.false_alerts.n == 20


def test_too_few_clusters_have_no_threshold_and_the_reason_says_how_many_do():
    """Eight clusters of five goldens: ⌊0.1 · 9⌋ is 0, and nine clusters would do."""
    clusters = np.arange(40) // 5
    drawn = multiplicities(40, 50, Random(3), clusters)
    found = threshold(np.full(40, 0.9), np.full(40, 0.5), drawn, Placement(), clusters)
    assert found.detail == "8 independent goldens were measured, a rate of 0.1 takes 9."
