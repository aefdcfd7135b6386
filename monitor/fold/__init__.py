"""The monitor's state: a fold over the verdict log, pure but for being updated in place.

The state after a verdict depends on the verdicts up to it and on nothing else (no clock, no
order of steps, no restart), which is what makes a checkpoint and an offset enough to resume.

`state` is the whole, made of cells (`cell`), roll-ups over them (`rollups`), the changes of every
route (`evenkeel.monitor.changes`) and the log's own time (`log_clock`); `events` is what it tells on the way,
`cell_report` what is told of a cell, `checkpoint` the form in which all of it is stored.
"""

from evenkeel.monitor.fold.events import Applied, TrendRow
from evenkeel.monitor.fold.settings import MonitorSettings
from evenkeel.monitor.fold.state import OTHER_MODEL, Checkpoint, CheckpointError, MonitorState

__all__ = [
    "OTHER_MODEL",
    "Applied",
    "Checkpoint",
    "CheckpointError",
    "MonitorSettings",
    "MonitorState",
    "TrendRow",
]
