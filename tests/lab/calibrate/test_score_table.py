"""Score tables and their files."""

from __future__ import annotations

import json
from math import nan

import numpy as np
import pytest

from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.score_table import (
    MetricFacts,
    Scored,
    TableError,
    read_table,
    score_table,
    table_lines,
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


def test_a_table_reads_back_as_it_was_written():
    """Scores, failures by reason, and the metrics with version, family and cost."""
    rows = [row("a"), row("b", chain_f1="timeout"), row("ü", severity=0.3)]
    lines = list(table_lines(rows, [FACT]))
    back, table = read_table([lines[0], "\n", *lines[1:]]), score_table(rows, [FACT])
    assert (back.metrics, back.goldens, back.conditions) == (table.metrics, table.goldens, table.conditions)
    assert np.array_equal(back.scores, table.scores, equal_nan=True)
    assert back.failures == table.failures == ((table.conditions[0], "chain_f1", "timeout", 1),)


HEAD = json.dumps(
    {"schema_version": 1, "metrics": [{"name": "chain_f1", "version": 2, "family": "structural"}]}
)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "empty"),
        (["{}"], "line 1: schema_version: Field required"),
        ([HEAD.replace("1,", "7,", 1)], "schema_version must be 1, not 7"),
        ([HEAD, "nonsense"], "line 2: the line: Invalid JSON"),
        ([HEAD, "", '{"golden": "a", "mode": "lost"}'], "line 3: mode"),
        ([HEAD, '{"golden": "", "mode": "missing", "severity": 0.1, "expected": 1, "scores": {}}'], "golden"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(lines, said):
    """The message holds line and field."""
    with pytest.raises(TableError, match=said):
        read_table(lines)
