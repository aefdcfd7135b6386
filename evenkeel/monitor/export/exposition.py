"""Metrics of a monitor: its own figures as they are, those of the store as they were a moment ago.

Store reads are refreshed in the background: a scrape must not wait for a Redis that is gone, or a busy file.
"""

from __future__ import annotations

import logging
import math
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, generate_latest

from evenkeel.core.trouble import Trouble
from evenkeel.core.version import VERSION
from evenkeel.monitor.export.prometheus import CellCollector
from evenkeel.monitor.export.snapshots import SnapshotCollector

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from prometheus_client.registry import Collector

    from evenkeel.monitor.monitor import Monitor
    from evenkeel.stores.counters import Snapshot

log = logging.getLogger("evenkeel.monitor")

# Prometheus scrapes every few seconds at most.
_EVERY_S: Final = 1.0
# Age at which an exposition is an error: old figures would pass for present ones.
_STALE_S: Final = 30.0


class Lately:
    """Text that is refreshed in the background; empty once it is older than half a minute or so."""

    def __init__(
        self,
        read: Callable[[], bytes],
        timer: Callable[[], float] = time.monotonic,
        stale_s: float = _STALE_S,
    ) -> None:
        """Wire the reading.

        Args:
            read: Finds it out; may block and fail.
            timer: Seconds since some moment.
            stale_s: Seconds for which a reading holds.
        """
        self._stale_s = stale_s
        self._read = read
        self._timer = timer
        self._found = b""
        self._found_at = timer()

    def __call__(self) -> bytes:
        """Return the last reading, or nothing if it is stale. Never waits."""
        return self._found if self._timer() - self._found_at < self._stale_s else b""

    def look(self) -> None:
        """Read now."""
        self._found = self._read()
        self._found_at = self._timer()

    def run(self, stop: threading.Event) -> None:
        """Read every second until `stop` is set. A failing store is tried again."""
        trouble = Trouble(log, "figures of queue, spend, changes and incidents cannot be read (%s)")
        while True:
            with trouble:
                self.look()
            if stop.wait(_EVERY_S):
                return


class Exposition:
    """Page for Prometheus, written outside of requests, so that a scrape only joins five texts."""

    def __init__(
        self,
        monitor: Monitor,
        collectors: Sequence[Collector],
        incidents: Collector,
        stored: Callable[[], list[Snapshot]],
        measuring: Callable[[], Snapshot],
    ) -> None:
        """Wire the page.

        Args:
            monitor: Monitor with the estimates.
            collectors: Export the change response and the labels; read the store.
            incidents: Exports open incidents; reads the store. What it found last stays while the store can't
                be read: an incident that is not exported looks as if it were over.
            stored: Counters and gauges that take the store to be read.
            measuring: Gauges of the state of measuring; known also while the store is away, which they say.
        """
        self._monitor = monitor
        self._cells = CellCollector(monitor.reports, monitor.rollups, monitor.changes, version=VERSION)
        self._folded = b""
        self._begun: bool | None = None
        # One collector for both, so that no family is exported twice.
        counters = SnapshotCollector(lambda: [monitor.snapshot(), *stored()])
        self._counters = Lately(lambda: _text(counters))
        self._own = SnapshotCollector(lambda: [monitor.snapshot()])
        self._measuring = Lately(lambda: _text(SnapshotCollector(lambda: [measuring()])))
        self._responses = Lately(lambda: _text(*collectors))
        self._incidents = Lately(lambda: _text(incidents), stale_s=math.inf)

    def __call__(self) -> bytes:
        """Return the metrics in the Prometheus text format 0.0.4."""
        if self._begun != (self._monitor.stepped_at is not None):
            # The first step reads the checkpoint, and may have nothing to fold.
            self.refresh()
        counters = self._counters() or _text(self._own)
        return b"".join((self._folded, counters, self._measuring(), self._responses(), self._incidents()))

    def refresh(self) -> None:
        """Write the estimates again, as of the monitor's last commit."""
        begun = self._monitor.stepped_at is not None
        self._folded = _text(self._cells)
        self._begun = begun

    def readers(self, stop: threading.Event) -> tuple[Callable[[], None], ...]:
        """Return the bodies of the threads that read the store until `stop` is set."""
        read = (self._counters, self._measuring, self._responses, self._incidents)
        readers = []
        for reading in read:
            readers.append(partial(reading.run, stop))
        return tuple(readers)


def _text(*collectors: Collector) -> bytes:
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    return generate_latest(registry)
