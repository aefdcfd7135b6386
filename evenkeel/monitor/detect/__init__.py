"""Sequential detection: evidence that a mean has moved, with a stated rate of false alarms.

`e_detector` gathers evidence by bets. `alert` compares up to four measures of a trial with their limits,
`drift` a rate with what it was, stratum by stratum. `gate` decides on goldens, once and for all.
"""

from evenkeel.core.cells import Limit
from evenkeel.monitor.detect.alert import Alert, AlertRules, Change, Measure, blind_measures
from evenkeel.monitor.detect.clients import Clients
from evenkeel.monitor.detect.drift import Baseline, DriftAlert, DriftChange, DriftRules, DriftState
from evenkeel.monitor.detect.e_detector import Bets, EDetector, Run, Side, bets_against

__all__ = [
    "Alert",
    "AlertRules",
    "Baseline",
    "Bets",
    "Change",
    "Clients",
    "DriftAlert",
    "DriftChange",
    "DriftRules",
    "DriftState",
    "EDetector",
    "Limit",
    "Measure",
    "Run",
    "Side",
    "bets_against",
    "blind_measures",
]
