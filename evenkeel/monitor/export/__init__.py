"""Prometheus export.

`prometheus` names the series and fills them from reports, `snapshots` has the counters of all
processes. The collectors are for a registry that the caller owns.
"""

from evenkeel.monitor.export.prometheus import CellCollector
from evenkeel.monitor.export.snapshots import SnapshotCollector

__all__ = ["CellCollector", "SnapshotCollector"]
