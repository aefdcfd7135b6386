"""Changes: what is noticed about a route, what it did, and its likely cause.

`route` finds changes in the verdicts of a route, as a part of the monitor's fold; `shares` detects shares
of traffic that shift. Each change is kept as a `record` with a tally of the traffic before and after.
`goldens` finds in replayed goldens whether answers changed. `report` compares the two sides and names the
likely cause; `markdown` writes it for people, `book` gathers the reports of all changes, `exporter` exports
them.
"""

from evenkeel.monitor.changes.record import ChangeRecord, change_id
from evenkeel.monitor.changes.report import SAID, Cause, Comparison, compare, likely_cause
from evenkeel.monitor.changes.route import RouteWatch

__all__ = [
    "SAID",
    "Cause",
    "ChangeRecord",
    "Comparison",
    "RouteWatch",
    "change_id",
    "compare",
    "likely_cause",
]
