import math
from random import Random

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evenkeel.core.verdict import Failure
from evenkeel.lab.judge_audit.agreement import (
    cluster_share,
    krippendorff_alpha,
    unit,
)
from evenkeel.monitor.labels import wilson

matrices = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([None, 1, 2, 3, 4, 5]), min_size=raters, max_size=raters),
        min_size=2,
        max_size=12,
    )
)


def alpha(rows):
    return krippendorff_alpha([unit(row) for row in rows])


def test_ratings_that_do_not_vary_have_no_alpha():
    """Agreement cannot be told from chance: a failure, not 1 and not 0."""
    outcome = alpha([(3, 3), (3, 3)])
    assert outcome.reason == "no_variation"


@given(matrices, st.sampled_from(("ordinal", "interval")))
def test_agrees_with_the_krippendorff_package(rows, level):
    """The reference implementation at either level, missing values included, to 1e-9."""
    mine = krippendorff_alpha([unit(row) for row in rows], level)
    assume(not isinstance(mine, Failure))
    data = np.array([[math.nan if rating is None else rating for rating in row] for row in rows]).T
    theirs = krippendorff.alpha(reliability_data=data, level_of_measurement=level)
    assert mine == pytest.approx(theirs, abs=1e-9)


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


def test_clusters_that_agree_within_themselves_give_wider_intervals():
    """Two rulings a pair that are always alike carry as much as one."""
    alike = cluster_share([(2, 2), (0, 2)] * 25, times=1000, rng=Random(1))
    mixed = cluster_share([(1, 2)] * 50, times=1000, rng=Random(1))
    assert (alike.count, alike.n, alike.value) == (50, 100, 0.5)
    assert alike.upper - alike.lower == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 50), rel=0.15)
    assert (mixed.lower, mixed.upper) == (0.5, 0.5)
