"""The exact tests of the last look: hand-worked values, a brute-force count, and their error rate."""

from collections import Counter
from itertools import product
from math import comb

import pytest

from evenkeel.monitor.detect.last_look import Pairs, excluded, p_value, score


def test_the_score_counts_standard_errors():
    """Eight worse and one better against 0: (8 − 1) / √(8 + 1)."""
    assert score(Pairs(8, 1, 50), 0.0) == pytest.approx(7 / 3)
    assert score(Pairs(0, 0, 50), 0.0) == 0.0


def test_one_golden_is_a_coin_toss():
    """The probability that the candidate is worse on the only golden is ½ at most."""
    assert p_value({1.0: 1}, 0.0) == pytest.approx(0.5, abs=0.01)
    assert p_value({-1.0: 1}, 0.0) == pytest.approx(1.0, abs=0.01)
    assert p_value({}, 0.0) == 1.0


def brute(worse, better, n, threshold):
    """The same by adding up every outcome, over a fine grid of what is left open."""
    seen = score(Pairs(worse, better, n), threshold)
    extreme = [
        (b, c)
        for b, c in product(range(n + 1), repeat=2)
        if b + c <= n and score(Pairs(b, c, n), threshold) >= seen - 1e-9
    ]
    low, high = max(0.0, -threshold), (1 - threshold) / 2
    found = 0.0
    for place in range(401):
        q = low + (high - low) * place / 400
        p, rest = q + threshold, max(0.0, 1 - 2 * q - threshold)
        chance = sum(comb(n, b) * comb(n - b, c) * p**b * q**c * rest ** (n - b - c) for b, c in extreme)
        found = max(found, chance)
    return found


@pytest.mark.parametrize(
    ("worse", "better", "n", "threshold"),
    [(4, 0, 10, 0.0), (5, 1, 12, 0.0), (0, 0, 10, -0.3), (1, 2, 11, -0.4), (6, 1, 12, 0.2)],
)
def test_the_p_value_is_the_largest_probability_of_an_outcome_as_extreme(worse, better, n, threshold):
    """Counted by hand, golden by golden, against thresholds on both sides of 0."""
    counts = {1.0: worse, -1.0: better, 0.0: n - worse - better}
    assert p_value(counts, threshold) == pytest.approx(brute(worse, better, n, threshold), rel=0.01)


@pytest.mark.parametrize(("n", "level"), [(20, 0.05), (30, 0.02)])
def test_false_alarms_stay_below_the_level_whatever_the_noise(n, level):
    """Exact: the probability of all rejected outcomes, for 12 rates of noise that both sides share."""
    rejected = [
        (b, c)
        for b in range(n + 1)
        for c in range(min(b, n - b) + 1)
        if p_value({1.0: b, -1.0: c, 0.0: n - b - c}, 0.0) <= level
    ]
    for place in range(12):
        q = 0.5 * (place + 0.5) / 12
        chance = sum(
            comb(n, b) * comb(n - b, c) * q ** (b + c) * (1 - 2 * q) ** (n - b - c) for b, c in rejected
        )
        assert chance <= level + 1e-4


def brute_signs(differences):
    """Share of all ways to turn the signs that give a sum as large."""
    seen = sum(differences)
    sums = [
        sum(sign * each for sign, each in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(each >= seen - 1e-9 for each in sums) / len(sums)


@pytest.mark.parametrize(
    "differences",
    [
        [0.5, 0.5, 1.0],
        [0.5, -0.5, 0.75, 1.0, 0.0],
        [0.25, 0.25, -1.0],
        [1 / 3, 2 / 3, 1 / 3, -1 / 3, 1.0, 0.5],
    ],
)
def test_fractions_are_tested_by_turning_their_signs(differences):
    """Counted way by way; one cluster that differs by any amount is a coin toss."""
    assert p_value(Counter(differences), 0.0) == pytest.approx(brute_signs(differences))
    assert p_value({0.05: 1}, 0.0) == pytest.approx(0.5)


def test_fractions_have_no_exact_test_against_another_threshold():
    with pytest.raises(ValueError, match="no exact test"):
        p_value({0.5: 1}, -0.1)


def test_what_is_excluded_is_where_the_test_ends():
    """Just below the bound the p-value is within the level, just above it is not."""
    counts = {1.0: 12, -1.0: 1, 0.0: 37}
    bound = excluded(counts, 0.02)
    assert 0.0 < bound < 0.22
    assert p_value(counts, bound) <= 0.02 < p_value(counts, bound + 0.01)


def test_fractions_are_excluded_by_evidence_and_by_turned_signs():
    """Three halves say little; of twelve, all signs turned the same way have a chance of 2⁻¹²."""
    assert -1.0 < excluded({0.5: 3}, 0.02) < 0.0
    assert excluded({0.5: 9, -0.5: 1}, 0.02) == 0.0
    assert excluded({0.5: 12}, 0.02) >= 0.0
