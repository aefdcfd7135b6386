"""`evenkeel monitor`: folds the verdict log on Redis, exports the gauges, serves the console."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from console import ConsoleSources, GoldenSources, create_app
from evenkeel import __version__, replays
from evenkeel.access import TokenGuard
from evenkeel.admin_server import serving
from evenkeel.back_plane import admin_token, announce, monitor_settings, publish_counters, webhook_of
from evenkeel.changes.redis_burst import RedisBursts
from evenkeel.changes.redis_store import RedisChangeStore
from evenkeel.changes.wiring import Asking, ChangeResponse
from evenkeel.data_plane import LAST_SPANS_S, new_event_loop
from evenkeel.encoders import make_encoder
from evenkeel.notifications import Troubles, channels
from evenkeel.pipeline import Pipeline
from evenkeel.redis_stores import counter_store, exchange_queue, host_name, open_redis
from evenkeel.responsiveness import stay_responsive
from evenkeel.roles.exposition import Exposition
from evenkeel.roles.needs import ToldNeeds
from evenkeel.roles.responding import LEASE_S, respond
from evenkeel.roles.routes_log import RoutesLog
from evenkeel.roles.running import listen_admin, redis_of, stop_on_signal, supervisor_of, threads
from evenkeel.roles.worker import exchange_archive, spend_ledger, verdict_log
from evenkeel.scorers import make_judge, make_scorer
from evenkeel.tracing import open_spans
from metrics.goldens.redis_store import RedisGoldens
from metrics.judge.redis_cache import RedisJudgeCache
from metrics.monitor import Monitor
from metrics.notify import Notifier
from metrics.stores.counters import Tally, merge
from metrics.stores.redis.connection import process_name
from metrics.stores.redis.lease import RedisLease
from metrics.stores.redis.monitor import RedisMonitorStore

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from evenkeel.children import Briefing
    from evenkeel.settings import Settings
    from metrics.stores.counters import Snapshot
    from metrics.stores.protocols import AlertEvent
    from metrics.stores.redis.verdicts import RedisVerdictLog
    from shadow.queues.redis import RedisExchangeQueue

log = logging.getLogger("evenkeel.monitor")

_POLL_S = 0.5


class NotifyingStore:
    """The monitors' store as the notifier sees it: only who holds the lease finds something to deliver."""

    def __init__(self, store: RedisMonitorStore, lease: RedisLease) -> None:
        self._store = store
        self._lease = lease

    def undelivered(self, limit: int) -> list[AlertEvent]:
        """Events not yet notified, oldest first; none while another monitor notifies."""
        waiting = self._store.undelivered(limit)
        return waiting if waiting and self._lease.hold() else []

    def __getattr__(self, name: str) -> Any:
        """Everything else is the store's."""
        return getattr(self._store, name)


def watch(settings: Settings, *, say: Callable[[str], None]) -> None:
    """Watch and show until SIGINT or SIGTERM.

    Raises:
        SettingsError: the settings name no Redis.
        StoreError: the Redis cannot be used.
        ListenError: the admin port cannot be listened on.
    """
    redis_of(settings, "monitor")
    settings, admin = listen_admin(settings)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve(settings, [admin], "monitor", partial(say, _banner(settings)), supervised=False))


def run(briefing: Briefing) -> None:
    """Watch and show under a supervisor, whose processes' counters are exported too."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(
            _serve(briefing.settings, briefing.open_sockets(), briefing.source, lambda: None, supervised=True)
        )


async def _serve(
    settings: Settings,
    sockets: list[socket.socket],
    source: str,
    ready: Callable[[], None],
    *,
    supervised: bool,
) -> None:
    redis = redis_of(settings, "monitor")
    store = open_redis(redis)
    await asyncio.to_thread(store.check)
    log_all = verdict_log(settings, store)
    verdicts = RoutesLog(log_all, settings.monitor.routes) if settings.monitor.routes else log_all
    monitor_store = RedisMonitorStore(store, checkpoint_name(settings))
    monitor = Monitor(verdicts, monitor_store, monitor_settings(settings), clock=time.time)
    name = process_name(os.getpid())
    lease = RedisLease(store, "notify", name)
    ledger = spend_ledger(settings, store)
    queue = exchange_queue(redis, store)
    costs, tally, spans = replays.prices(settings), Tally(), open_spans(settings)
    judge, health = make_judge(settings, RedisJudgeCache(store), costs, spans.observer)
    troubles = Troubles(health, queue, monitor, time.time)
    notifier = Notifier(
        NotifyingStore(monitor_store, lease),
        announce,
        webhook_of(settings),
        await asyncio.to_thread(channels, settings, troubles, announce, time.monotonic),
    )
    replayer = replays.replayer(settings)
    encoder = await asyncio.to_thread(make_encoder, settings, costs, spans.observer)
    scorer = await asyncio.to_thread(make_scorer, settings, judge, encoder, tally)
    archive, goldens = exchange_archive(settings, store), RedisGoldens(store)
    asking = Asking(goldens, archive, verdicts, replayer, scorer, judge, ledger, costs)
    changes = await asyncio.to_thread(
        ChangeResponse, settings, RedisChangeStore(store), RedisBursts(store), monitor, asking
    )
    responding = RedisLease(
        store, f"respond {' '.join(sorted(settings.monitor.routes))}", name, length_s=LEASE_S
    )
    pipeline = Pipeline(settings, counter_store(store, None), queue, ledger, health)
    mine = counter_store(store, supervisor_of(supervised=supervised))

    def counted() -> Snapshot:
        return merge([tally.snapshot(), spans.snapshot()])

    def stored() -> list[Snapshot]:
        # Other roles export their own counters; exported here too, they would count double. Under a
        # supervisor all of its processes' are exported here, this one's among them.
        own = mine.read() if supervised else [health.snapshot(), counted()]
        return [pipeline.snapshot(), _no_longer_kept(queue, log_all), *own]

    exposition = Exposition(monitor, changes.collector, stored)
    app = create_app(
        ConsoleSources(
            reports=monitor.reports,
            rollups=monitor.rollups,
            changes=monitor.changes,
            log=verdicts,
            monitor_store=monitor_store,
            exposition=exposition,
            ready=pipeline.problems,
            pipeline=pipeline.view,
            clock=time.time,
            change_reports=changes.book.reports,
            goldens=GoldenSources(goldens, archive),
            trace_url=settings.telemetry.trace_url,
        )
    )
    stop = stop_on_signal(supervised=supervised)
    stopping = threading.Event()
    needs = ToldNeeds(store, monitor.reports, settings.alert.min_trials)
    bodies: tuple[Callable[[], object], ...] = (
        partial(monitor.run, stopping, _POLL_S, exposition.cells.refresh),
        partial(notifier.run, stopping, _POLL_S),
        partial(needs.run, stopping),
        *exposition.readers(stopping),
        *([partial(publish_counters, stopping, source, mine, counted)] if supervised else []),
    )
    stay_responsive()
    with contextlib.closing(store), threads(stopping, bodies):
        async with serving(TokenGuard(app, admin_token(settings), settings.admin.hosts), sockets):
            ready()
            checking = asyncio.create_task(health.run(stop))
            await respond(stop, changes.responder, responding)
            checking.cancel()
        await asyncio.to_thread(spans.finish, LAST_SPANS_S)
        changes.close()
        await replayer.close()
        await encoder.close()
        await health.close()
        with contextlib.suppress(Exception):  # a courtesy to the other one: the lease runs out anyway
            await asyncio.to_thread(lease.leave)


def _no_longer_kept(queue: RedisExchangeQueue, verdicts: RedisVerdictLog) -> Snapshot:
    """What limits cost, and what somebody trimmed, since the installation began."""
    figures = queue.figures()
    return {
        "counters": [
            ["exchanges_requeued", {}, figures["requeued"]],
            ["dead_letters_dropped", {}, figures["dead_dropped"]],
            ["verdicts_trimmed", {}, verdicts.trimmed()],
        ]
    }


def checkpoint_name(settings: Settings) -> str:
    """Names this monitor's checkpoint: by its name, and by its routes, with which its state changes."""
    watched = sorted(settings.monitor.routes)
    return "/".join([settings.monitor.name or host_name(), *watched])


def _banner(settings: Settings) -> str:
    admin = f"http://{settings.admin.address}"
    watched = ", ".join(settings.monitor.routes) or "all routes"
    return "\n".join(
        [
            f"evenkeel {__version__} monitor",
            f"  console    {admin}/",
            f"  metrics    {admin}/metrics",
            f"  watches    {watched}, as {checkpoint_name(settings)}, in {redis_of(settings, 'monitor').url}",
        ]
    )
