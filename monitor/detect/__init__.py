"""Sequential detection: evidence that a mean has moved, with a stated rate of false alarms.

`e_detector` gathers evidence by bets. `alert` compares a mean with a fixed line, `drift` with a cell's
baseline, both ways; `family` decides which of many cells are in alarm together. `gate` decides on goldens,
once and for all.
"""

from evenkeel.monitor.detect.alert import Alert, AlertRules
from evenkeel.monitor.detect.drift import (
    Baseline,
    DriftAlert,
    DriftChange,
    DriftRules,
    DriftState,
    Observable,
    estimate_of,
)
from evenkeel.monitor.detect.e_detector import Bets, Change, EDetector, Run, Side, bets_against
from evenkeel.monitor.detect.family import Family, alarm_set

__all__ = [
    "Alert",
    "AlertRules",
    "Baseline",
    "Bets",
    "Change",
    "DriftAlert",
    "DriftChange",
    "DriftRules",
    "DriftState",
    "EDetector",
    "Family",
    "Observable",
    "Run",
    "Side",
    "alarm_set",
    "bets_against",
    "estimate_of",
]
