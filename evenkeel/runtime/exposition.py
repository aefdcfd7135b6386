"""What a monitor exports: its own figures as they are, those of the store as they were a moment ago.

Store reads are refreshed in the background: a scrape must not wait for a Redis that is gone, or a busy file.
"""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, generate_latest

from evenkeel.core.trouble import Trouble
from evenkeel.core.version import VERSION
from evenkeel.monitor.export.prometheus import CellText, MonitorReading
from evenkeel.monitor.export.snapshots import SnapshotCollector

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from prometheus_client.registry import Collector

    from evenkeel.monitor.monitor import Monitor
    from evenkeel.stores.counters import Snapshot


Found = TypeVar("Found")

log = logging.getLogger("evenkeel.monitor")

_EVERY_S: Final = 1.0
_STALE_S: Final = 30.0


class Lately(Generic[Found]):
    """Something as it was a moment ago; nothing once that is half a minute ago."""

    def __init__(
        self, read: Callable[[], Found], nothing: Found, timer: Callable[[], float] = time.monotonic
    ) -> None:
        """Wire it.

        Args:
            read: Finds it out; may block and fail.
            nothing: What there is while nothing was found.
            timer: Seconds since some moment.
        """
        self._read = read
        self._nothing = nothing
        self._timer = timer
        self._found = nothing
        self._found_at = timer()

    def __call__(self) -> Found:
        """What was found last. Never waits."""
        return self._found if self._timer() - self._found_at < _STALE_S else self._nothing

    def look(self) -> None:
        """Find it out now."""
        found = self._read()
        self._found, self._found_at = found, self._timer()

    def run(self, stop: threading.Event) -> None:
        """Look every second until `stop` is set. A store in trouble is tried again."""
        trouble = Trouble(log, "figures of queue, spend and changes cannot be read (%s)")
        while True:
            with trouble:
                self.look()
            if stop.wait(_EVERY_S):
                return


class Exposition:
    """The page that Prometheus reads."""

    def __init__(
        self,
        monitor: Monitor,
        collectors: Sequence[Collector],
        stored: Callable[[], list[Snapshot]],
    ) -> None:
        """Wire it.

        Args:
            monitor: Has the estimates.
            collectors: Export the change response and the labels; read the store.
            stored: Counters and gauges that take the store to be read.
        """
        self.cells = CellText(
            MonitorReading(monitor.reports, monitor.rollups, monitor.changes), version=VERSION
        )
        responses = CollectorRegistry()
        for collector in collectors:
            responses.register(collector)
        self._stored: Lately[list[Snapshot]] = Lately(stored, [])
        self._responses = Lately(lambda: generate_latest(responses), b"")
        self._counters = CollectorRegistry()
        # One collector for both, so that no family is exported twice.
        self._counters.register(SnapshotCollector(lambda: [monitor.snapshot(), *self._stored()]))

    def __call__(self) -> bytes:
        """The metrics in the Prometheus text format 0.0.4."""
        return self.cells.render() + generate_latest(self._counters) + self._responses()

    def readers(self, stop: threading.Event) -> tuple[Callable[[], None], ...]:
        """Bodies of the threads that read the store until `stop` is set."""
        return partial(self._stored.run, stop), partial(self._responses.run, stop)
