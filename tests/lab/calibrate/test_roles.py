"""Primary and secondary metrics."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.lab.calibrate.calibrate import _hand_out, roles, specificity
from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.score_table import MetricFacts

MISSING, COMPRESSED, REWORDED = FailureMode.MISSING, FailureMode.COMPRESSED, FailureMode.REWORDED
MODES = (MISSING, COMPRESSED, REWORDED)


def test_specificity_is_a_share_of_all_reactions():
    """0.6 of 0.6 + 0.2 + 0.2; a metric that rises is not specific, nor is one that does nothing."""
    reactions = {MISSING: 0.6, COMPRESSED: 0.2, REWORDED: -0.2}
    assert specificity(reactions, MISSING) == pytest.approx(0.6)
    assert specificity(reactions, REWORDED) == 0.0
    assert specificity({MISSING: 0.0}, MISSING) == 0.0


def test_a_metric_that_falls_under_everything_is_kept_for_the_mode_that_needs_it():
    """Words fall most under both modes, but only they fall when steps are reworded."""
    found = roles(
        {"words": {MISSING: 1.2, REWORDED: 0.9}, "steps": {MISSING: 0.8, REWORDED: 0.1}},
        [MetricFacts("words", 1, "lexical"), MetricFacts("steps", 1, "structural")],
        (MISSING, REWORDED),
    )
    assert found[MISSING].primary.metric == "steps"
    assert found[REWORDED].primary.metric == "words"
    assert found[MISSING].secondary.metric == "words"
    assert found[REWORDED].secondary is None


def test_an_expensive_metric_is_primary_only_where_no_cheap_one_moves():
    """The judge stands by for missing steps and watches reordered ones alone."""
    judge = MetricFacts("judge", 1, "judge", cost_usd=0.01)
    found = roles(
        {"steps": {MISSING: 0.5}, "judge": {MISSING: 0.9, COMPRESSED: 0.9}},
        [judge, MetricFacts("steps", 1, "structural")],
        (MISSING, COMPRESSED),
    )
    assert found[MISSING].primary.metric == "steps"
    assert found[MISSING].secondary.metric == "judge"
    assert found[COMPRESSED].primary.metric == "judge"


def test_the_most_sensitive_metric_speaks_for_its_family_and_ties_go_to_the_cheaper():
    """`b` falls more than `a`; `c` is as sensitive as `b` but free."""
    facts = [
        MetricFacts("a", 1, "f"),
        MetricFacts("b", 1, "f", cost_usd=0.0005),
        MetricFacts("c", 1, "f"),
    ]
    (found,) = roles(
        {"a": {MISSING: 0.5}, "b": {MISSING: 0.8}, "c": {MISSING: 0.8}}, facts, [MISSING]
    ).values()
    assert found.primary.metric == "c"
    assert found.primary.sensitivity == pytest.approx(0.7)


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 0.2, 0.4, 0.7, 1.1]), min_size=3, max_size=3), min_size=1, max_size=4
    )
)
def test_families_are_handed_out_as_well_as_by_trying_everything(matrix):
    """One round serves the largest number of modes, and among such rounds has the largest sum."""
    names = [f"m{i}" for i in range(len(matrix))]
    of_family = {name: dict(zip(MODES, row, strict=True)) for name, row in zip(names, matrix, strict=True)}
    best = max(
        (
            len(served := [(i, j) for j, i in enumerate(way) if i is not None]),
            round(sum(matrix[i][j] for i, j in served), 9),
        )
        for way in product([None, *range(len(matrix))], repeat=3)
        if len(set(way) - {None}) == 3 - way.count(None)
        and all(i is None or matrix[i][j] >= 0.3 for j, i in enumerate(way))
    )
    given_out = _hand_out(of_family, names, MODES)
    assert len(set(given_out.values())) == len(given_out)
    total = sum(of_family[family][mode] for mode, family in given_out.items())
    assert (len(given_out), pytest.approx(total)) == best
