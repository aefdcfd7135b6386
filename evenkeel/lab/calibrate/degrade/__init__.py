"""Answers made worse by a known amount, to measure what a metric says of it.

One engine: an answer is divided into units (steps of a `workflow`, sentences or items of a `text`, values
of `data`), and each form has a change for each failure mode: missing, compressed, reordered, duplicated,
added, and reworded, which is none and must not cost anything. `engine` counts how many units a share is,
`variants` finds an answer's form and its degradations.

A new degradation is one function and one line in the tuple of its form.
"""

from evenkeel.lab.calibrate.degrade.engine import SEVERITIES, Degradation, NotDegradableError, units_touched
from evenkeel.lab.calibrate.degrade.variants import Damage, as_written, degradations

__all__ = [
    "SEVERITIES",
    "Damage",
    "Degradation",
    "NotDegradableError",
    "as_written",
    "degradations",
    "units_touched",
]
