"""Sequential detection: evidence that a mean has moved, with a stated rate of false alarms.

`bets` says how evidence is gathered, `e_detector` gathers it, `watch` adds when the change began.
`alert` holds a mean against a fixed line, `drift` against a cell's `baseline`, both ways; `family`
says which of many cells are in alarm together.
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
