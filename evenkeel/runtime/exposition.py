"""What a monitor exports: its own figures as they are, those in Redis as they were a moment ago."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest

from evenkeel import __version__
from evenkeel.monitor.export.prometheus import CellText, MonitorReading
from evenkeel.monitor.export.snapshots import SnapshotCollector
from evenkeel.runtime.lately import Lately

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from prometheus_client.registry import Collector

    from evenkeel.monitor.monitor import Monitor
    from evenkeel.stores.counters import Snapshot


class Exposition:
    """The page that Prometheus reads."""

    def __init__(
        self,
        monitor: Monitor,
        collectors: Sequence[Collector],
        stored: Callable[[], list[Snapshot]],
        *,
        late: bool,
    ) -> None:
        """Wire it.

        Args:
            monitor: Has the estimates.
            collectors: Export the change response and the labels; read the store.
            stored: Counters and gauges that take the store to be read.
            late: Whether a scrape gets what the store held a moment ago, instead of waiting for it.
        """
        self.cells = CellText(
            MonitorReading(monitor.reports, monitor.rollups, monitor.changes), version=__version__
        )
        responses = CollectorRegistry()
        for collector in collectors:
            responses.register(collector)
        self._stored: Lately[list[Snapshot]] = Lately(stored, [])
        self._responses = Lately(lambda: generate_latest(responses), b"")
        self._late = late
        figures = self._stored if late else stored
        self._counters = CollectorRegistry()
        # One collector for both, so that no family is exported twice.
        self._counters.register(SnapshotCollector(lambda: [monitor.snapshot(), *figures()]))
        self._responded = self._responses if late else partial(generate_latest, responses)

    def __call__(self) -> bytes:
        """The metrics in the Prometheus text format 0.0.4."""
        return self.cells.render() + generate_latest(self._counters) + self._responded()

    def readers(self, stop: threading.Event) -> tuple[Callable[[], None], ...]:
        """Bodies of the threads that read the store until `stop` is set."""
        return (partial(self._stored.run, stop), partial(self._responses.run, stop)) if self._late else ()
