"""Prometheus export.

`prometheus` names the series and fills them from reports, `snapshots` has the counters of all
processes. The collectors are for a registry that the caller owns; `CellText` is the fast way for many
cells.
"""

from evenkeel.monitor.export.prometheus import CellCollector, CellText, MonitorReading
from evenkeel.monitor.export.snapshots import SnapshotCollector

__all__ = ["CellCollector", "CellText", "MonitorReading", "SnapshotCollector"]
