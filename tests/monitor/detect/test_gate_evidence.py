"""Evidence about a mean difference: hand-worked values, properties, and how often it misleads."""

from __future__ import annotations

from collections import Counter
from math import exp, log, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.monitor.detect import Bets
from evenkeel.monitor.detect.gate_evidence import SHARES, bounds, log_evidence, mirrored, needed

counts = st.builds(
    lambda plus, minus, zero: {1.0: plus, -1.0: minus, 0.0: zero},
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(0, 200),
)
thresholds = st.floats(-0.9, 0.9)


def test_no_difference_is_evidence_against_a_positive_mean():
    """Against "at least 0.1" a bet with the share s of the largest, 1/0.9, wins s/9 at each 0."""
    expected = sum((1 + share / 9) ** 20 for share in SHARES) / len(SHARES)
    assert exp(log_evidence(mirrored({0.0: 20}), -0.1)) == pytest.approx(expected)


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=1, max_size=40), st.floats(-0.5, 0.5))
def test_counts_say_the_same_as_the_bets_played_one_by_one(differences, threshold):
    """The order of the differences changes nothing: the wealth is a product of factors."""
    bets = Bets(threshold, -1.0, 1.0, tuple(share / (1 + threshold) for share in SHARES))
    factors = [bets.factors(difference) for difference in differences]
    wealth = sum(prod(column) for column in zip(*factors, strict=True)) / len(bets.stakes)
    assert exp(log_evidence(Counter(differences), threshold)) == pytest.approx(wealth, rel=1e-9)


@given(counts, thresholds, st.sampled_from([0.05, 0.01]))
def test_a_bound_is_beyond_a_threshold_exactly_if_the_evidence_is_enough(seen, threshold, alpha):
    """The interval and the verdict can never contradict each other."""
    found = bounds(seen, alpha, alpha)
    margin = 1e-6
    if found.lower > threshold + margin:
        assert log_evidence(seen, threshold) >= log(1 / alpha)
    if found.lower < threshold - margin:
        assert log_evidence(seen, threshold) < log(1 / alpha)
    if found.upper < threshold - margin:
        assert log_evidence(mirrored(seen), -threshold) >= log(1 / alpha)


def test_without_differences_nothing_is_ruled_out():
    """The interval is the whole range, and nobody can say how many goldens are lacking."""
    assert bounds({}, 0.05, 0.05) == (-1.0, 1.0)
    assert needed({}, 0.0, 0.05) is None


@pytest.mark.parametrize("seen", [{0.0: 10, 1.0: 2}, {0.0: 50, 1.0: 9, -1.0: 2}, {1.0: 3}])
def test_needed_is_the_first_number_at_which_the_evidence_is_enough(seen):
    """One golden less is not enough in the proportions seen so far."""
    number = needed(seen, 0.0, 0.05)
    n = sum(seen.values())

    def at(total):
        return log_evidence({difference: count * total / n for difference, count in seen.items()}, 0.0)

    assert at(number) >= log(20) > at(number - 1)


def test_needed_is_none_where_the_evidence_never_grows():
    assert needed({0.0: 90, 1.0: 5, -1.0: 5}, 0.0, 0.05) is None
