"""Changes: what is noticed about a route, what it did, and what coincided with it.

`route` finds changes in the verdicts of a route, as a part of the monitor's fold: in the values and `traits`
of its exchanges. Each change is kept as a `record` with a tally of the traffic before and after. A `report`
rests on the `comparison` of the two sides: `effects` say what was measured, `causes` what coincided with it.
`book` gathers the reports of all changes.
"""

from evenkeel.monitor.changes.causes import Cause
from evenkeel.monitor.changes.comparison import Comparison
from evenkeel.monitor.changes.record import ChangeRecord
from evenkeel.monitor.changes.route import RouteWatch

__all__ = ["Cause", "ChangeRecord", "Comparison", "RouteWatch"]
