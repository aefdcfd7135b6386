"""Score tables and their files."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest

from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.score_table import (
    MetricFacts,
    Scored,
    TableError,
    score_table,
)

MISSING, NONE = FailureMode.MISSING, FailureMode.NONE
FACT = MetricFacts("chain_f1", 2, "structural", 0.0, 1.5)


def row(golden="a", mode=MISSING, severity=0.1, expected=0.9, **scores):
    return Scored(golden, mode, severity, expected, scores or {"chain_f1": 0.9})


def test_rows_become_arrays_by_golden_condition_and_metric():
    """Goldens ascend, conditions go by mode and severity, what is missing is NaN."""
    table = score_table(
        [row("b", severity=0.3, chain_f1=0.7), row("a"), row("a", NONE, 0.0, 1.0, chain_f1=1.0)], [FACT]
    )
    assert table.goldens == ("a", "b")
    assert table.conditions == ((NONE, 0.0), (MISSING, 0.1), (MISSING, 0.3))
    expected = np.array([[1.0, 0.9, nan], [nan, nan, 0.7]])
    assert np.array_equal(table.scores[:, :, 0], expected, equal_nan=True)
    assert table.modes == (MISSING,)
    assert table.places(MISSING) == (1, 2)
    assert table.place(MISSING, 0.5) is None


@pytest.mark.parametrize(
    ("rows", "facts", "said"),
    [
        ([], [FACT], "no rows"),
        ([row(), row()], [FACT], "'a' has two rows for missing at severity 0.1"),
        ([row(severity=1.5)], [FACT], "ratios"),
        ([row(expected=-0.1)], [FACT], "ratios"),
        ([row(severity=0.0)], [FACT], "severity 0 belongs to the mode 'none'"),
        ([row(mode=NONE)], [FACT], "severity 0 belongs to the mode 'none'"),
        ([row(bleu=0.5)], [FACT], "'bleu' is not among the metrics"),
        ([row(chain_f1=nan)], [FACT], "give the reason"),
        ([row()], [FACT, FACT], "only once"),
    ],
)
def test_a_table_that_cannot_be_is_refused(rows, facts, said):
    """The message names the row."""
    with pytest.raises(TableError, match=said):
        score_table(rows, facts)
