"""Intervals by betting: hand-worked ends, mirrored and nested ones, coverage at all times, widths."""

import random
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.monitor.estimate import bounded_mean, paired_excess, proportion
from evenkeel.monitor.estimate.bounded_mean import SHARES, WEIGHTS, log_capital, weighted_mean

ALPHA = 0.05
MEAN_SHARE = sum(weight * share for weight, share in zip(WEIGHTS, SHARES, strict=True))
MEAN_SQUARE = sum(weight * share**2 for weight, share in zip(WEIGHTS, SHARES, strict=True))
histograms = st.dictionaries(
    st.sampled_from([0.0, 0.2, 0.25, 1 / 3, 0.5, 2 / 3, 0.75, 1.0]), st.integers(1, 300), min_size=1
)


def capital(mean, histogram):
    values, counts = np.array(sorted(histogram.items()), dtype=float).T
    return log_capital(mean, values, counts).value


def test_intervals_of_one_and_two_observations_agree_with_hand_worked_ones():
    """The gamblers' wealth is a polynomial in their shares, so a few observations can be solved by hand."""
    # One observation of 1 turns the wealth into the mean of 1 − s + s/μ, which is 40 at
    # μ = s̄ / (39 + s̄) for the mean share s̄.
    one = proportion(1, 1, alpha=ALPHA)
    assert (one.value, one.upper, one.n) == (1.0, 1.0, 1)
    assert one.lower == pytest.approx(MEAN_SHARE / (39 + MEAN_SHARE), rel=1e-4)
    # Two: the mean of (1 + s·x)² = 1 + 2·s̄·x + q·x² with x = 1/μ − 1 and the mean square q.
    x = (sqrt(MEAN_SHARE**2 + 39 * MEAN_SQUARE) - MEAN_SHARE) / MEAN_SQUARE
    assert proportion(2, 2, alpha=ALPHA).lower == pytest.approx(1 / (1 + x), rel=1e-4)
    # A pair without a difference lies at ½ of [−1, 1]: 1 − s + s/(2μ) is 40 on average at half that μ.
    zero = paired_excess(0, 0, 1, alpha=ALPHA)
    end = MEAN_SHARE / (39 + MEAN_SHARE) - 1
    assert (zero.value, zero.lower, zero.upper) == (0, pytest.approx(end, abs=1e-4), pytest.approx(-end))


def test_weighted_observations_agree_with_hand_worked_ones():
    """A stake on an observation of weight ½ is half as large, and the value is Σ w·v / Σ w."""
    # 1 − s/2 + s/(2μ) is 40 on average at μ = s̄ / (78 + s̄).
    one = weighted_mean({(1.0, 0.5): 1}, alpha=ALPHA)
    assert (one.value, one.upper, one.n) == (1.0, 1.0, 1)
    assert one.lower == pytest.approx(MEAN_SHARE / (78 + MEAN_SHARE), rel=1e-4)
    # Three of 1 with weight 1 and eight of 0 with weight 1/8: 3 of 4. Eleven observations are eleven.
    mixed = weighted_mean({(1.0, 1.0): 3, (0.0, 0.125): 8}, min_observations=11)
    assert (mixed.value, mixed.n) == (0.75, 11)
    assert weighted_mean({(1.0, 1.0): 3, (0.0, 0.125): 8}, min_observations=12) is None


@given(histograms)
def test_equal_weights_leave_the_value_alone(histogram):
    """Weights of 1 give each figure of plain observations to the last digit."""
    plain = bounded_mean(histogram)
    assert weighted_mean({(value, 1.0): count for value, count in histogram.items()}) == plain
    light = weighted_mean({(value, 0.25): count for value, count in histogram.items()})
    assert light.value == pytest.approx(plain.value, abs=1e-12)
    assert light.lower <= light.value <= light.upper


def test_no_observations_and_fewer_than_wanted_give_no_estimate():
    """Nothing observed is None, never a number."""
    assert proportion(0, 0) is None
    assert paired_excess(0, 0, 0) is None
    assert bounded_mean({}) is None
    assert bounded_mean({0.5: 29}, min_observations=30) is None
    assert bounded_mean({0.5: 30}, min_observations=30).n == 30


@given(histograms)
def test_the_interval_holds_the_mean_and_is_the_mirror_image_of_the_mirrored_one(histogram):
    """The interval of 1 − v is that of v the other way round."""
    estimate = bounded_mean(histogram)
    mirrored = bounded_mean({1 - value: count for value, count in histogram.items()})
    assert 0 <= estimate.lower <= estimate.value <= estimate.upper <= 1
    assert estimate.n == sum(histogram.values())
    assert mirrored.lower == pytest.approx(1 - estimate.upper, abs=1e-5)
    assert mirrored.upper == pytest.approx(1 - estimate.lower, abs=1e-5)


@given(histograms)
def test_the_ends_are_where_the_capital_reaches_the_limit_and_err_outwards(histogram):
    """The wealth of those who bet on more is 2/alpha at the lower end, or a little above."""
    estimate = bounded_mean(histogram, alpha=ALPHA)
    if estimate.lower > 0:
        assert log(2 / ALPHA) - 1e-9 <= capital(estimate.lower, histogram) <= log(2 / ALPHA) + 1e-3


def test_the_weighted_interval_covers_the_truth_at_all_times_together():
    """Over 600 trials, drawn by what moved before them, the true rate is ever outside in at most 5 %."""
    # A group moves in .3; a member moves in .6 of these and, hidden by the others, in .05 of the rest.
    truth, missed = 0.3 * 0.6 + 0.7 * 0.05, 0
    for run in range(40):
        choice = random.Random(f"drawn {run}")
        seen = {}
        for n in range(1, 601):
            group = choice.random() < 0.3
            moved = choice.random() < (0.6 if group else 0.05)
            if choice.random() < (1.0 if group else 0.125):
                each = (float(moved), 0.125 if group else 1.0)
                seen[each] = seen.get(each, 0) + 1
            if n % 20 == 0 and (found := weighted_mean(seen)) and not found.lower <= truth <= found.upper:
                missed += 1
                break
    assert missed <= ALPHA * 40
