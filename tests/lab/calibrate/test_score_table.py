"""Score tables and their files."""

from __future__ import annotations

from math import nan

import pytest

from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.score_table import (
    CandidateScores,
    MetricFacts,
    TableError,
    score_table,
)

MISSING, NONE = FailureMode.MISSING, FailureMode.NONE
FACT = MetricFacts("chain_f1", 2, "structural", 0.0, 1.5)


def row(golden="a", mode=MISSING, severity=0.1, expected=0.9, **scores):
    return CandidateScores(golden, mode, severity, expected, scores or {"chain_f1": 0.9})


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
