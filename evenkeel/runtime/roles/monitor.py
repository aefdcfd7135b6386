"""`evenkeel monitor`: folds the verdict log on Redis, exports the gauges, serves the console.

The monitor of a process: folds the verdict log, notifies, responds to changes, exports, shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from evenkeel import __version__
from evenkeel.console import ConsoleSources, GoldenSources, create_app
from evenkeel.metrics.registry import publish_labels
from evenkeel.monitor.labels import LabelCollector
from evenkeel.monitor.monitor import Monitor, MonitorSettings
from evenkeel.monitor.notify import Notifier, Webhook
from evenkeel.runtime.changes import LEASE_S, Asking, ChangeResponse, respond
from evenkeel.runtime.console_sources import Pipeline, with_operations
from evenkeel.runtime.exposition import Exposition
from evenkeel.runtime.instruments import Instruments
from evenkeel.runtime.notifications import Troubles, channels
from evenkeel.runtime.process import (
    attend,
    listen_admin,
    publish_counters,
    redis_of,
    served,
    supervisor_of,
    threads,
)
from evenkeel.runtime.roles.needs import NeedsPublisher
from evenkeel.runtime.roles.starting import run_alone, run_supervised
from evenkeel.runtime.stores import RedisStores, checkpoint_name

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from litestar.types import ASGIApp

    from evenkeel.runtime.reload import SettingsSource
    from evenkeel.runtime.stores import Stores
    from evenkeel.runtime.supervisor import Briefing
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot
    from evenkeel.stores.lease import Lease
    from evenkeel.stores.monitor_state import AlertEvent, MonitorStore


log = logging.getLogger("evenkeel")

_POLL_S = 0.5


class NotifyingStore:
    """The monitors' store as the notifier sees it: only who holds the lease finds something to deliver."""

    def __init__(self, store: MonitorStore, lease: Lease) -> None:
        self._store = store
        self._lease = lease

    def undelivered(self, limit: int) -> list[AlertEvent]:
        """Events not yet notified, oldest first; none while another monitor notifies."""
        waiting = self._store.undelivered(limit)
        return waiting if waiting and self._lease.hold() else []

    def __getattr__(self, name: str) -> Any:
        """Everything else is the store's."""
        return getattr(self._store, name)


@dataclass(frozen=True, slots=True)
class Watching:
    """The monitor, and what runs beside it."""

    monitor: Monitor
    app: ASGIApp
    """Console and metrics."""
    _notifier: Notifier
    _changes: ChangeResponse
    _exposition: Exposition
    _notifying: Lease
    _responding: Lease

    @classmethod
    async def set_up(
        cls,
        settings: Settings,
        stores: Stores,
        instruments: Instruments,
        counted: Callable[[], list[Snapshot]],
        *,
        late: bool,
    ) -> Watching:
        """Wire it.

        Args:
            settings: What raises an alert, who is told, what is done about changes.
            stores: Where verdicts come from and everything learned from them is kept.
            instruments: Ask goldens and rate the answers.
            counted: Counters to export beside those of the monitor; may read the stores.
            late: Whether a scrape gets what the stores held a moment ago, instead of waiting for them.
        """
        health = instruments.health
        monitor = Monitor(
            stores.watched,
            stores.monitor,
            monitor_settings(settings),
            clock=time.time,
            routes=settings.monitor.routes,
        )
        notifying = stores.lease("notify")
        troubles = Troubles(health, stores.queue, monitor, time.time)
        notifier = Notifier(
            NotifyingStore(stores.monitor, notifying),
            announce,
            Webhook(settings.alert.webhook) if settings.alert.webhook else None,
            await asyncio.to_thread(channels, settings, troubles, announce, time.monotonic),
        )
        asking = Asking(
            stores.goldens,
            stores.archive,
            stores.watched,
            instruments.replayer,
            instruments.scorer,
            instruments.judge,
            instruments.ledger,
            instruments.prices,
        )
        changes = await asyncio.to_thread(
            ChangeResponse, settings, stores.changes, stores.bursts, monitor, asking
        )
        pipeline = Pipeline(settings, stores.counters, stores.queue, instruments.ledger, health)
        exposition = Exposition(
            monitor,
            (changes.collector, LabelCollector(stores.labels)),
            lambda: [pipeline.snapshot(), stores.losses(), *counted()],
            late=late,
        )
        sources = ConsoleSources(
            reports=monitor.reports,
            rollups=monitor.rollups,
            changes=monitor.changes,
            log=stores.watched,
            monitor_store=stores.monitor,
            exposition=exposition,
            ready=pipeline.problems,
            pipeline=pipeline.view,
            clock=time.time,
            change_reports=changes.book.reports,
            goldens=GoldenSources(stores.goldens, stores.archive),
            labels=stores.labels,
            actions=stores.actions,
            trace_url=settings.telemetry.trace_url,
        )
        publish_labels()
        app = create_app(with_operations(sources, settings, stores.queue, instruments.ledger))
        responding = stores.lease(f"respond {' '.join(sorted(settings.monitor.routes))}", LEASE_S)
        return cls(monitor, app, notifier, changes, exposition, notifying, responding)

    def bodies(self, stopping: threading.Event) -> tuple[Callable[[], object], ...]:
        """Bodies of the threads, which end when `stopping` is set."""
        return (
            partial(self.monitor.run, stopping, _POLL_S, self._exposition.cells.refresh),
            partial(self._notifier.run, stopping, _POLL_S),
            *self._exposition.readers(stopping),
        )

    async def respond(self, stop: asyncio.Event) -> None:
        """Respond to changes until `stop` is set."""
        await respond(stop, self._changes.responder, self._responding)

    async def close(self) -> None:
        """Let another monitor take over, and let go of what was loaded."""
        self._changes.close()
        with contextlib.suppress(Exception):  # a courtesy to the other one: the lease runs out anyway
            await asyncio.to_thread(self._notifying.leave)


def monitor_settings(settings: Settings) -> MonitorSettings:
    """How the verdict log is folded."""
    return MonitorSettings(
        threshold=settings.alert.threshold,
        mean_trials_between_false_alarms=settings.alert.mean_trials_between_false_alarms,
        min_trials=settings.alert.min_trials,
        drift_tolerance=settings.alert.drift_tolerance,
        provisional_after=settings.alert.provisional_after,
        trend_interval_s=settings.console.trend_interval_s,
    )


def announce(text: str) -> None:
    """Tell people, in the log."""
    log.warning("%s", text)


def watch(settings: Settings, *, say: Callable[[str], None], source: SettingsSource | None = None) -> None:
    """Watch and show until SIGINT or SIGTERM.

    Args:
        settings: as for `up`, with a `redis`.
        say: prints the banner.
        source: where the settings are read again; None = nowhere.

    Raises:
        SettingsError: the settings name no Redis.
        StoreError: the Redis cannot be used.
        ListenError: the admin port cannot be listened on.
    """
    redis_of(settings, "monitor")
    written = settings
    settings, admin = listen_admin(settings)
    ready = cache(partial(say, _banner(settings)))

    async def serve(settings: Settings, stop: asyncio.Event, reloaded: Callable[[], Snapshot]) -> None:
        await _serve(settings, [admin.dup()], "monitor", ready, stop, reloaded)

    run_alone("monitor", written, settings, source, serve)


def run(briefing: Briefing) -> None:
    """Watch and show under a supervisor, whose processes' counters are exported too."""
    run_supervised(
        lambda stop: _serve(
            briefing.settings, briefing.open_sockets(), briefing.source, lambda: None, stop, None
        )
    )


async def _serve(
    settings: Settings,
    sockets: list[socket.socket],
    source: str,
    ready: Callable[[], None],
    stop: asyncio.Event,
    reloaded: Callable[[], Snapshot] | None,
) -> None:
    """Watch until `stop` is set; `reloaded` says how reloads went, None = a supervisor does."""
    with contextlib.closing(RedisStores(settings)) as stores:
        await asyncio.to_thread(stores.check)
        instruments = await Instruments.set_up(settings, stores)
        health = instruments.health
        mine = stores.counters_of(supervisor_of(supervised=reloaded is None))

        def counted() -> list[Snapshot]:
            # Other roles export their own counters; exported here too, they would count double. Under a
            # supervisor all of its processes' are exported here, this one's among them.
            if reloaded is None:
                return mine.read()
            return [health.snapshot(), instruments.counted(), reloaded()]

        watching = await Watching.set_up(settings, stores, instruments, counted, late=True)
        stopping = threading.Event()
        needs = NeedsPublisher(stores.documents, watching.monitor.reports, settings.alert.min_trials)
        bodies: list[Callable[[], object]] = [*watching.bodies(stopping), partial(needs.run, stopping)]
        if reloaded is None:
            bodies.append(partial(publish_counters, stopping, source, mine, instruments.counted))
        with threads(stopping, bodies):
            async with served(lambda: watching.app, settings, sockets):
                ready()
                await attend(watching.respond(stop), health.run(stop))
            await instruments.close()
            await watching.close()


def _banner(settings: Settings) -> str:
    admin = settings.admin.url
    watched = ", ".join(settings.monitor.routes) or "all routes"
    return "\n".join(
        [
            f"evenkeel {__version__} monitor",
            f"  console    {admin}/",
            f"  metrics    {admin}/metrics",
            f"  watches    {watched}, as {checkpoint_name(settings)}, in {redis_of(settings, 'monitor').url}",
        ]
    )
