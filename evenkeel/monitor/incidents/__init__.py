"""Incidents: a change of a route that made its answers fragile, worse, invalid or different.

The fold gives every alert event the incident that it belongs to (`book`). An `Incident` is what the events of
one say together, so whoever reads the events has the incidents. `trials` finds what shows it
best, `case` which incidents people hear of together.
"""

from evenkeel.monitor.incidents.case import Case, cases_of
from evenkeel.monitor.incidents.incident import Incident, IncidentBoard, Part, incidents_of
from evenkeel.monitor.incidents.trials import verdicts_behind, worst_trials

__all__ = [
    "Case",
    "Incident",
    "IncidentBoard",
    "Part",
    "cases_of",
    "incidents_of",
    "verdicts_behind",
    "worst_trials",
]
