"""Counters of several processes, kept in the store so that one process can export them all.

A snapshot is JSON: `{"counters": [[name, labels, number], …], "gauges": [same], "histograms":
[[name, labels, [upper bounds], [counts per bucket, +Inf included], sum], …]}`.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable


Snapshot: TypeAlias = dict[str, list[Any]]


def _key(row: list[Any]) -> tuple[str, str]:
    return row[0], json.dumps(row[1], sort_keys=True)


def merge(snapshots: Iterable[Snapshot]) -> Snapshot:
    """Sum snapshots series by series; histograms bucket by bucket.

    A histogram whose buckets differ from those of its first occurrence is left out, since its
    counts cannot be added.
    """
    numbers: dict[str, dict[tuple[str, str], list[Any]]] = {"counters": {}, "gauges": {}}
    histograms: dict[tuple[str, str], list[Any]] = {}
    for snapshot in snapshots:
        for kind, series in numbers.items():
            for row in snapshot.get(kind, []):
                known = series.setdefault(_key(row), [row[0], row[1], 0])
                known[2] += row[2]
        for row in snapshot.get("histograms", []):
            name, labels, bounds, counts, total = row
            known = histograms.setdefault(_key(row), [name, labels, list(bounds), [0] * len(counts), 0.0])
            if known[2] == list(bounds):
                known[3] = [a + b for a, b in zip(known[3], counts, strict=True)]
                known[4] += total
    return {
        "counters": list(numbers["counters"].values()),
        "gauges": list(numbers["gauges"].values()),
        "histograms": list(histograms.values()),
    }


class CounterStore(Protocol):
    """Latest snapshot of each process. Counters of a process that ended are kept, its gauges not."""

    def publish(self, source: str, snapshot: Snapshot) -> None:
        """Replace the snapshot of one process."""
        ...

    def retire(self, source: str) -> None:
        """Fold the counters of an ended process into the total of the ended ones."""
        ...

    def clear(self) -> None:
        """Start from zero, as counters do when a service starts."""
        ...

    def read(self) -> list[Snapshot]:
        """Snapshots of all processes, ended ones included."""
        ...


class Tally:
    """Counters and gauges of this process, off the hot path. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Count up. Label values must come from a bounded set."""
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            self._counters[key] = self._counters.get(key, 0) + amount

    def value(self, name: str, **labels: str) -> float:
        """Sum of the counters of that name whose labels include these."""
        wanted = set(labels.items())
        with self._lock:
            return sum(
                number
                for (known, known_labels), number in self._counters.items()
                if known == name and wanted <= set(known_labels)
            )

    def snapshot(self, gauges: dict[str, float] | None = None) -> Snapshot:
        """Everything counted, with gauges of the moment."""
        with self._lock:
            counters = [[name, dict(labels), number] for (name, labels), number in self._counters.items()]
        return {
            "counters": counters,
            "gauges": [[name, {}, number] for name, number in (gauges or {}).items()],
        }
