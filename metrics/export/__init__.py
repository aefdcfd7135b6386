"""Prometheus export: `prometheus` (the cells of the monitor), `snapshots` (counters of all processes).

Both are collectors for a registry that the caller owns.
"""

from metrics.export.prometheus import CellCollector
from metrics.export.snapshots import SnapshotCollector

__all__ = ["CellCollector", "SnapshotCollector"]
