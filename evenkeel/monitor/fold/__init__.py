"""State of the monitor: a fold over the verdict log, pure except that it is updated in place.

The state after a verdict depends on the verdicts up to it and on nothing else (no clock, no order of steps,
no restart), which is what makes a checkpoint and an offset enough to resume.

`state` is the whole, made of cells (`cell`), the models of a route (`rollups`) and the changes of every route
(`evenkeel.monitor.changes`), of which `silent` finds those that nobody announced; `models` says which models
have cells of their own; `events` are what it reports on the way.
"""

from evenkeel.monitor.fold.events import FoldOutcome, TrendRow
from evenkeel.monitor.fold.settings import MonitorSettings
from evenkeel.monitor.fold.silent import SilentReport
from evenkeel.monitor.fold.state import Checkpoint, CheckpointError, MonitorState

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "FoldOutcome",
    "MonitorSettings",
    "MonitorState",
    "SilentReport",
    "TrendRow",
]
