"""The bench of workflow metrics: what it makes of two workflows and of hand-made figures."""

from __future__ import annotations

import pytest

from benchmarks.workflowperturb import published
from benchmarks.workflowperturb.compare import beside, sensitivities
from benchmarks.workflowperturb.measure import (
    BY_LENGTH,
    EXACT,
    PRINTED,
    WEIGHTED,
    Measured,
    Spread,
    measure,
)
from evenkeel.experiments.calibrate.degrade.workflow import REORDERED, missing
from evenkeel.metrics.workflow.workflow import sequence


def test_scores_of_two_workflows_are_averaged() -> None:
    """Ten and five steps without the last: chain F1 18/19 and 8/9, weighted τ .9 and .8."""
    goldens = [sequence([f"step {n}" for n in range(size)]) for size in (10, 5)]
    found = measure(goldens, missing("last"), EXACT, None)
    low, high = 8 / 9, 18 / 19
    spread = found.scores["Chain F1"][0]
    assert spread == (pytest.approx((low + high) / 2), pytest.approx((high - low) / 2))
    assert found.scores[WEIGHTED][0].mean == found.scores[BY_LENGTH][0].mean == pytest.approx(0.85)
    assert found.scores[PRINTED][0] == (1.0, 0.0)
    assert found.refused == (0, 0, 0)


def test_workflows_that_cannot_be_degraded_are_counted_and_named_in_the_table() -> None:
    """A single step has no order, at any severity; the other one is measured."""
    found = measure([sequence("abcdef"), sequence("a")], REORDERED, EXACT, None)
    assert found.refused == (1, 1, 1)
    table = beside("t", published.MISSING, {"ours": found}, ["n"])
    assert table.notes == ("n", "Not degradable (ours): 1/1/1 workflows.")
    assert table.rows[0][1] == "0.90 ± 0.06 / 0.76 ± 0.06 / 0.61 ± 0.06"


def test_sensitivity_is_the_fall_from_ten_to_fifty_percent_over_the_difference() -> None:
    """.9 to .6 is .75 a unit; a metric that was not measured has none; the paper's τ has a sign."""
    falling = Measured({"Graph F1": tuple(Spread(mean, 0.0) for mean in (0.9, 0.8, 0.6))}, (0, 0, 0))
    rows = {row[0]: row for row in sensitivities({"ours": [falling] * 3}, []).rows}
    assert rows["Graph F1"][2] == "0.75 / 0.75 / 0.75"
    assert rows["BLEU"][2] == "– / – / –"
    assert rows["LLM-as-Judge"][1] == "0.80 / 0.70 / −0.03"


def test_the_published_sensitivities_follow_from_the_published_means() -> None:
    """As the paper says of its own tables: within the rounding of the means, some .02 to .03."""
    tables = (published.MISSING, published.COMPRESSED, published.REWORDED)
    for metric, slopes in published.SENSITIVITY.items():
        for table, slope in zip(tables, slopes, strict=True):
            row = table[metric]
            assert 2.5 * (row[0].mean - row[2].mean) == pytest.approx(slope, abs=0.0301)
