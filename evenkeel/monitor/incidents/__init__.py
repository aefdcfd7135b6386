"""Incidents: a change of a route that made its answers fragile, worse, invalid or different.

The fold gives every alert event to the incident that it belongs to (`book`). An `Incident` is the record that
events change; the monitor stores it and everybody else reads it with an `IncidentBoard`. `trials` finds what
shows it best, `case` which incidents people hear of together.
"""

from evenkeel.monitor.incidents.case import Case, cases_of
from evenkeel.monitor.incidents.incident import Incident, IncidentBoard, Part
from evenkeel.monitor.incidents.trials import verdicts_behind, worst_trials

__all__ = [
    "Case",
    "Incident",
    "IncidentBoard",
    "Part",
    "cases_of",
    "verdicts_behind",
    "worst_trials",
]
