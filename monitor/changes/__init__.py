"""Changes: what is noticed about a route, what it did, and what is behind it.

`route` tells changes from the verdicts of a route, as a part of the monitor's fold: `values` that are new,
`shares` that move, each kept as a `record` with a `tally` of the traffic before and after. `compare` holds
the two sides against each other, `goldens` tells from replayed goldens whether answers changed, `cause` says
what is likely behind it, and `report` puts all of that together for people (`markdown`).
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
