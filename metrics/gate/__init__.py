"""Whether a candidate answers goldens worse than the reference does, decided as soon as that is settled.

`breach` (scores of an answer → yes or no for each measure) → `gate` (goldens one by one → a verdict; by
`rules`, with the e-values of `evidence`) → `report` (what it says).
"""

from metrics.gate.breach import (
    CONTENT_SHIFT,
    QUALITY_CHANGE,
    RATED,
    Breached,
    calibrated_breaches,
    rated_breaches,
    watched_modes,
)
from metrics.gate.gate import Gate, Measured, Shares, least_goldens
from metrics.gate.report import Finding, GateReport, Measure, Verdict
from metrics.gate.rules import GateRules

__all__ = [
    "CONTENT_SHIFT",
    "QUALITY_CHANGE",
    "RATED",
    "Breached",
    "Finding",
    "Gate",
    "GateReport",
    "GateRules",
    "Measure",
    "Measured",
    "Shares",
    "Verdict",
    "calibrated_breaches",
    "least_goldens",
    "rated_breaches",
    "watched_modes",
]
