"""Sequential detection: evidence against a threshold, with a stated rate of false alarms.

`e_detector` gathers the evidence, `alert` makes a two-state alert of two of them.
"""

from metrics.detect.alert import Alert, AlertRules, Change
from metrics.detect.e_detector import Bets, EDetector, bets_against

__all__ = ["Alert", "AlertRules", "Bets", "Change", "EDetector", "bets_against"]
