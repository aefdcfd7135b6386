"""What a metric's score means: measured on goldens that were degraded by known amounts.

`table` (scores of degraded goldens; read from files by `reading`) → `trajectory` (mean scores and
residuals by severity) and `sensitivity` (how fast they fall) → `roles` (which metric watches which failure
mode) → `threshold` (where to flag, and what that costs) → `calibrate` (all of it) → `calibration` (the
value) with `document` (its file), `rules` (for Prometheus) and `report` (a page with plots).
`judge_bands` sets the cascade's bands on pairs that a judge has rated.

Source: WorkflowPerturb, "Calibrated Stress Tests for Evaluating Multi-Agent Workflow Metrics".
"""

from metrics.calibration.calibrate import calibrate
from metrics.calibration.calibration import Breach, Calibration, CalibrationError
from metrics.calibration.document import calibration_to_yaml, read_calibration
from metrics.calibration.judge_bands import JudgeBands, RatedPair, judge_bands
from metrics.calibration.reading import read_table, table_lines
from metrics.calibration.rules import alert_rules
from metrics.calibration.table import FailureMode, MetricFacts, Scored, ScoreTable, TableError, score_table
from metrics.calibration.threshold import PUBLISHED, Placement, Threshold
from metrics.calibration.trajectory import Trajectory, trajectories

__all__ = [
    "PUBLISHED",
    "Breach",
    "Calibration",
    "CalibrationError",
    "FailureMode",
    "JudgeBands",
    "MetricFacts",
    "Placement",
    "RatedPair",
    "ScoreTable",
    "Scored",
    "TableError",
    "Threshold",
    "Trajectory",
    "alert_rules",
    "calibrate",
    "calibration_to_yaml",
    "judge_bands",
    "read_calibration",
    "read_table",
    "score_table",
    "table_lines",
    "trajectories",
]
