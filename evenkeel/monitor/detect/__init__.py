"""Sequential detection: evidence that a mean has moved, with a stated rate of false alarms.

`e_detector` gathers evidence by bets. `alert` compares up to five measures of a trial with their limits,
`segments` the clients, versions, tasks and languages of a cell with theirs,
`drift` a rate with what it was, stratum by stratum. `gate` decides on goldens, once and for all.
"""

from evenkeel.core.cells import Limit
from evenkeel.monitor.detect.alert import Alert, AlertChange, AlertRules, Measure, blind_measures
from evenkeel.monitor.detect.drift import Baseline, DriftAlert, DriftChange, DriftRules
from evenkeel.monitor.detect.e_detector import Bets, DetectorRun, EDetector, Side, bets_against
from evenkeel.monitor.detect.segments import DIMENSIONS, Dimension, SegmentName, Segments

__all__ = [
    "DIMENSIONS",
    "Alert",
    "AlertChange",
    "AlertRules",
    "Baseline",
    "Bets",
    "DetectorRun",
    "Dimension",
    "DriftAlert",
    "DriftChange",
    "DriftRules",
    "EDetector",
    "Limit",
    "Measure",
    "SegmentName",
    "Segments",
    "Side",
    "bets_against",
    "blind_measures",
]
