"""The monitor: folds the verdict log, notifies, responds to changes, exports gauges, serves the console."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from evenkeel.console import ConsoleSources, GoldenSources, ReferenceSetup, ReferenceSources, create_app
from evenkeel.metrics.registry import publish_labels
from evenkeel.monitor.changes.exporter import SilentCollector
from evenkeel.monitor.detect.references import FALSE_ALARMS_PER_YEAR
from evenkeel.monitor.export.exposition import Exposition
from evenkeel.monitor.export.incidents import IncidentCollector
from evenkeel.monitor.incidents import IncidentBoard
from evenkeel.monitor.labels import LabelCollector
from evenkeel.monitor.measuring import MeasuringWatch, known
from evenkeel.monitor.monitor import Monitor
from evenkeel.monitor.notify import Notifier
from evenkeel.release.challenge.board import ChallengeBoard, ChallengeCollector, ChallengeWatch
from evenkeel.runtime import references
from evenkeel.runtime.changes import LEASE_S, ChangeResponse, respond, urgent_routes
from evenkeel.runtime.console_sources import Pipeline, with_operations
from evenkeel.runtime.limits import monitor_settings
from evenkeel.runtime.notifications import challenger_link, channels, contacts, sinks, writer
from evenkeel.shadow.needs import NeedsPublisher
from evenkeel.shadow.references.pace import BURST_CALLS

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from litestar.types import ASGIApp

    from evenkeel.release.judge_panel import JudgePanel
    from evenkeel.runtime.changes import Stepper
    from evenkeel.runtime.instruments import Instruments
    from evenkeel.runtime.stores import Stores
    from evenkeel.settings import Settings
    from evenkeel.shadow.references.asker import ReferenceAsker
    from evenkeel.stores.counters import Snapshot
    from evenkeel.stores.lease import RoleLease
    from evenkeel.stores.monitor_state import AlertEvent, MonitorStore


log = logging.getLogger("evenkeel")

_POLL_S = 0.5


class NotifyingStore:
    """The monitors' store as the notifier sees it: only the holder of the lease finds events to deliver."""

    def __init__(self, store: MonitorStore, lease: RoleLease) -> None:
        self._store = store
        self._lease = lease

    def undelivered(self, limit: int) -> list[AlertEvent]:
        """Return events not yet notified, oldest first; none while another monitor notifies."""
        waiting = self._store.undelivered(limit)
        return waiting if waiting and self._lease.hold() else []

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the store."""
        return getattr(self._store, name)


@dataclass(frozen=True, slots=True)
class MonitorRole:
    """The monitor of a process, and its background tasks."""

    monitor: Monitor
    app: ASGIApp
    """Application with console and metrics."""
    _notifier: Notifier
    _changes: ChangeResponse
    _exposition: Exposition
    _notifying: RoleLease
    asker: ReferenceAsker
    _panel: JudgePanel | None
    _challenges: ChallengeWatch
    _leading: RoleLease
    """Held by the one of several monitors that calls models and changes what is stored."""
    _needs: NeedsPublisher

    @classmethod
    async def set_up(
        cls,
        settings: Settings,
        stores: Stores,
        instruments: Instruments,
        counted: Callable[[], list[Snapshot]],
    ) -> MonitorRole:
        """Connect the parts.

        Args:
            settings: Limits of alerts, channels, and responses to changes.
            stores: Where verdicts come from and everything learned from them is kept.
            instruments: Replay goldens and rate the answers.
            counted: Counters to export beside those of the monitor; may read the stores.
        """
        folding = monitor_settings(settings)
        asked = settings.replays.references
        monitor = Monitor(
            stores.verdicts,
            stores.monitor,
            folding,
            clock=time.time,
        )
        notifying = stores.lease("notify")
        watch = MeasuringWatch(
            stores.counters,
            stores.queue,
            instruments.health.trouble,
            instruments.ledger,
            time.time,
            fold=monitor,
            figures_known=lambda: any(known(report) for report in monitor.reports()),
        )
        notifying_store = NotifyingStore(stores.monitor, notifying)
        words = writer(settings, monitor, stores.verdicts, lambda: watch().thinned)
        # In threads, here and below: reading a store would hold up the event loop.
        opened = await asyncio.to_thread(
            channels, settings, notifying_store, words, lambda: watch().causes, announce, time.monotonic
        )
        notifier = Notifier(notifying_store, announce, opened)
        changes = await asyncio.to_thread(ChangeResponse, settings, stores, instruments, monitor)
        pipeline = Pipeline(settings, stores.counters, stores.queue, instruments.ledger)
        board = ChallengeBoard(stores.challenges, time.time)
        exposition = Exposition(
            monitor,
            (
                changes.collector,
                SilentCollector(monitor.silent),
                LabelCollector(stores.labels),
                ChallengeCollector(board.states),
            ),
            IncidentCollector(IncidentBoard(stores.monitor).all, monitor.reports, contacts(settings)),
            lambda: [pipeline.snapshot(), stores.losses(), *counted()],
            lambda: watch().snapshot(),
            detail=settings.telemetry.metrics_detail,
        )
        sources = ConsoleSources(
            reports=monitor.reports,
            rollups=monitor.rollups,
            changes=monitor.changes,
            log=stores.verdicts,
            monitor_store=stores.monitor,
            exposition=exposition,
            measuring=watch,
            pipeline=pipeline.view,
            clock=time.time,
            change_reports=changes.book.reports,
            gates=stores.changes.gates,
            checks=stores.changes.checks,
            writer=words,
            goldens=GoldenSources(stores.goldens, stores.archive, changes.book.latest_runs),
            references=ReferenceSources(
                stores.references,
                ReferenceSetup(asked.calls_per_day, BURST_CALLS, asked.usd_per_day, FALSE_ALARMS_PER_YEAR),
                tuple(route.name for route in settings.routes),
                monitor.silent,
            ),
            labels=stores.labels,
            challengers=board,
            actions=stores.actions,
            trace_url=settings.telemetry.trace_url,
            thresholds=folding,
            signs_in=not settings.access.open_on_loopback,
        )
        publish_labels()
        app = create_app(with_operations(sources, settings, stores.queue, instruments.ledger))
        return cls(
            monitor,
            app,
            notifier,
            changes,
            exposition,
            notifying,
            asker=references.asker(settings, stores, instruments, monitor),
            _panel=references.judge_panel(settings, stores, instruments, monitor),
            _challenges=ChallengeWatch(
                board, partial(sinks, settings, announce), partial(challenger_link, settings)
            ),
            _leading=stores.lease("respond", LEASE_S),
            _needs=await asyncio.to_thread(
                NeedsPublisher,
                stores.documents,
                monitor.reports,
                settings.alerts.min_trials,
                partial(urgent_routes, monitor, time.time),
            ),
        )

    def bodies(self, stopping: threading.Event) -> tuple[Callable[[], object], ...]:
        """Return the bodies of the threads, which end when `stopping` is set."""
        return (
            partial(self.monitor.run, stopping, _POLL_S, self._exposition.refresh),
            partial(self._notifier.run, stopping, _POLL_S),
            partial(self._needs.run, stopping),
            *self._exposition.readers(stopping),
        )

    async def lead(self, stop: asyncio.Event) -> None:
        """Respond to changes, ask references and the judge's panel, and report challengers, until `stop`."""
        tasks: list[tuple[Stepper, str]] = [
            (self._changes.responder, "changes cannot be responded to"),
            (self.asker, "reference prompts cannot be asked"),
            (self._challenges, "challengers cannot be reported"),
        ]
        if self._panel is not None:
            tasks.append((self._panel, "the judge's panel cannot be asked"))
        # Side by side: goldens may take minutes, and reference prompts must not wait for them.
        await asyncio.gather(*[respond(stop, task, self._leading, problem) for task, problem in tasks])

    async def close(self) -> None:
        """Let another monitor take over."""
        with contextlib.suppress(Exception):  # a courtesy to the other monitor: the lease expires anyway
            await asyncio.to_thread(self._notifying.leave)


def announce(text: str) -> None:
    """Write a line to the log for people."""
    log.warning("%s", text)
