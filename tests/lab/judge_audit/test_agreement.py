from __future__ import annotations

import math
from random import Random

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evenkeel.core.verdict import Failure
from evenkeel.lab.judge_audit.agreement import (
    Agreement,
    agreement,
    cluster_share,
    krippendorff_alpha,
    resamples,
    unit,
)
from evenkeel.monitor.labels import wilson

_ = None
# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", section C: four observers, twelve units.
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]

matrices = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([None, 1, 2, 3, 4, 5]), min_size=raters, max_size=raters),
        min_size=2,
        max_size=12,
    )
)


def alpha(rows):
    return krippendorff_alpha([unit(row) for row in rows])


def test_the_published_example_with_missing_values_gives_its_alpha():
    """The worked example of the method's author, ordinal: 0.815."""
    assert alpha(zip(*PUBLISHED, strict=True)) == pytest.approx(0.815, abs=5e-4)


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [
        # Six ratings, three of each kind, one disagreement: 1 − 5·1 / (3·3).
        ([(1, 1), (2, 2), (1, 2)], 4 / 9),
        # (1, 1, 2) counts 2·1/2 = 1 disagreement; n₁ = 2, n₂ = 4: 1 − 5·1 / 8.
        ([(1, 1, 2), (2, 2, 2)], 0.375),
        # Midpoints 1.5, 3.5 and 5: 1 − 5·4 / (3·4 + 6·12.25 + 2·2.25); medians may lie between steps.
        ([(1, 1), (2, 2), (1.5, 1)], 7 / 9),
        # Perfect agreement, whatever is agreed on, as long as it varies.
        ([(1, 1), (4, 4), (2, 2)], 1.0),
    ],
)
def test_agreement_worked_by_hand(ratings, expected):
    """Two raters, three raters, the ordinal distance, and perfect agreement."""
    assert alpha(ratings) == pytest.approx(expected)


def test_an_item_with_one_rating_says_nothing():
    """It changes neither agreement nor chance."""
    assert alpha([(1, 1), (2, 2), (1, 2), (5, None)]) == alpha([(1, 1), (2, 2), (1, 2)])


def test_four_raters_cannot_fall_much_below_minus_a_third():
    """K items split two to two: 1 − (4k − 1)(4k/3) / (2k)² = −1/3 + 1/(3k)."""
    assert alpha([(1, 1, 5, 5)] * 100) == pytest.approx(-1 / 3 + 1 / 300)


def test_ratings_that_do_not_vary_have_no_alpha():
    """Agreement cannot be told from chance: a failure, not 1 and not 0."""
    outcome = alpha([(3, 3), (3, 3)])
    assert isinstance(outcome, Failure)
    assert outcome.reason == "no_variation"


@given(matrices, st.sampled_from(("ordinal", "interval")))
def test_agrees_with_the_krippendorff_package(rows, level):
    """The reference implementation at either level, missing values included, to 1e-9."""
    mine = krippendorff_alpha([unit(row) for row in rows], level)
    assume(not isinstance(mine, Failure))
    data = np.array([[math.nan if rating is None else rating for rating in row] for row in rows]).T
    theirs = krippendorff.alpha(reliability_data=data, level_of_measurement=level)
    assert mine == pytest.approx(theirs, abs=1e-9)


def test_the_interval_holds_the_value_and_shrinks_with_more_items():
    """Ten times the same items, about a third of the width."""
    rows = [(1, 1), (2, 2), (1, 2), (3, 3), (3, 2), (5, 4), (4, 4), (1, 1), (5, 5), (2, 3)]

    def found(times):
        units = [unit(row) for row in rows * times]
        return agreement(units, resamples(len(units), 300, Random(1)))

    few, many = found(1), found(10)
    assert few.lower < few.value < few.upper
    assert (few.upper - few.lower) / (many.upper - many.lower) == pytest.approx(math.sqrt(10), rel=0.5)


def test_too_little_variation_gives_a_value_without_an_interval():
    """Nineteen of twenty items alike: most resamples of two such pairs have nothing to compare."""
    units = [unit((1, 1))] * 199 + [unit((2, 2))]
    found = agreement(units, [[0] * 200] * 60 + [[0, 199] * 100] * 40)
    assert found == Agreement(1.0, None, None, 200)


def test_without_resamples_there_is_no_interval():
    """The value and the number of items with two ratings or more."""
    assert agreement([unit((1, 1)), unit((2, 1)), unit((2,))]) == Agreement(
        pytest.approx(1 - 3 * 1 / 3), None, None, 2
    )


def test_clusters_are_drawn_whole():
    """Items 0 and 2 of one cluster are in a draw equally often, and each draw has as many clusters."""
    draws = resamples(3, 20, Random(1), clusters=["a", "b", "a"])
    assert all(draw.count(0) == draw.count(2) for draw in draws)
    assert all(draw.count(0) + draw.count(1) == 2 for draw in draws)
    assert resamples(3, 5, Random(1)) == resamples(3, 5, Random(1), clusters=[7, 8, 9])


@pytest.mark.parametrize(
    ("count", "n", "lower", "upper"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (1, 1, 0.2065, 1.0)],
)
def test_wilson_intervals_are_the_tabulated_ones(count, n, lower, upper):
    """Ends to four digits."""
    share = wilson(count, n)
    assert share.value == count / n
    assert share.lower == pytest.approx(lower, abs=5e-5)
    assert share.upper == pytest.approx(upper, abs=5e-5)


def test_a_share_of_nothing_has_no_value():
    """Neither 0 nor 1."""
    assert wilson(0, 0).value is None
    assert cluster_share([(0, 0)], times=10, rng=Random(1)).value is None


def test_clusters_that_agree_within_themselves_give_wider_intervals():
    """Two rulings a pair that are always alike carry as much as one."""
    alike = cluster_share([(2, 2), (0, 2)] * 25, times=1000, rng=Random(1))
    mixed = cluster_share([(1, 2)] * 50, times=1000, rng=Random(1))
    assert (alike.count, alike.n, alike.value) == (50, 100, 0.5)
    assert alike.upper - alike.lower == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 50), rel=0.15)
    assert (mixed.lower, mixed.upper) == (0.5, 0.5)
