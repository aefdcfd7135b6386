"""The process nobody waits for: worker, monitor and console, at a lower priority than the relay."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, generate_latest

from console import ConsoleSources, GoldenSources, create_app
from evenkeel import __version__, replays
from evenkeel.access import TokenGuard
from evenkeel.admin_server import serving
from evenkeel.changes.burst import SqliteBursts
from evenkeel.changes.store import SqliteChangeStore
from evenkeel.changes.wiring import Asking, ChangeResponse, stamp_of
from evenkeel.children import when_orphaned
from evenkeel.data_plane import DATABASE_FILE, LAST_SPANS_S, new_event_loop, open_queue
from evenkeel.encoders import make_encoder
from evenkeel.notifications import Troubles, channels
from evenkeel.pipeline import Pipeline
from evenkeel.responsiveness import stay_responsive
from evenkeel.scorers import make_judge, make_scorer
from evenkeel.templates import TemplateKeeper
from evenkeel.tracing import open_spans
from metrics.export.prometheus import CellText, MonitorReading
from metrics.export.snapshots import SnapshotCollector
from metrics.goldens import SqliteGoldens
from metrics.judge import SqliteJudgeCache
from metrics.monitor import Monitor, MonitorSettings
from metrics.notify import Notifier, Webhook
from metrics.stores.counters import CounterStore, Tally, merge
from metrics.stores.sqlite import Database, SqliteMonitorStore, SqliteVerdictLog
from shadow.rewriter import SqliteRewriteCache
from shadow.trials import TrialMaker
from shadow.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from evenkeel.children import Briefing
    from evenkeel.settings import Settings
    from metrics.stores.counters import CounterWriting, Snapshot

log = logging.getLogger("evenkeel")

_NICENESS = 10
_PUBLISH_EVERY_S = 1.0
_MONITOR_POLL_S = 0.5
_KEEP_TEMPLATES_EVERY_S = 30.0


def run(briefing: Briefing) -> None:
    """Work, watch and show until SIGTERM or the end of the supervisor."""
    with contextlib.suppress(OSError):  # a container may forbid it; then the scheduler shares fairly
        os.nice(_NICENESS)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve(briefing))


async def _serve(briefing: Briefing) -> None:
    settings = briefing.settings
    database = Database(Path(settings.data_dir) / DATABASE_FILE)
    verdicts = SqliteVerdictLog(database)
    monitor_store = SqliteMonitorStore(database)
    counters = CounterStore(database)
    archive = await asyncio.to_thread(replays.archive, settings, database)
    costs = replays.prices(settings)
    await asyncio.to_thread(replays.warm_up, costs)
    ledger = replays.ledger(settings, database)
    queue = open_queue(settings)
    tally = Tally()
    spans = open_spans(settings)
    judge, health = make_judge(settings, SqliteJudgeCache(database), costs, spans.observer)
    encoder = await asyncio.to_thread(make_encoder, settings, costs, spans.observer)
    scorer = await asyncio.to_thread(make_scorer, settings, judge, encoder, tally)
    monitor = Monitor(verdicts, monitor_store, monitor_settings(settings), clock=time.time)
    troubles = Troubles(health, queue, monitor, time.time)
    notifier = Notifier(
        monitor_store,
        announce,
        webhook_of(settings),
        await asyncio.to_thread(channels, settings, troubles, announce, time.monotonic),
    )
    replayer = replays.replayer(settings)
    rewriter = replays.rewriter(
        settings,
        SqliteRewriteCache(database),
        costs,
        tally,
        replays.meaning(settings, judge, ledger),
        spans.observer,
    )
    templates = TemplateKeeper(database)
    reader = replays.reader(settings, templates.learner)
    trials = TrialMaker(
        verdicts,
        scorer,
        replayer,
        ledger,
        costs,
        target=replays.replay_target(settings),
        tally=tally,
        clock=time.time,
        rewriter=rewriter,
        observer=spans.observer,
        stamp=await asyncio.to_thread(stamp_of, settings, SqliteChangeStore(database)),
    )
    worker = Worker(
        queue,
        verdicts,
        reader,
        trials,
        tally=tally,
        needs=replays.Needs(monitor.reports, settings.alert.min_trials),
        hold=lambda: health.hold,
        keep=replays.archivist(settings, archive, tally),
        observer=spans.observer,
    )
    pipeline = Pipeline(settings, counters, queue, ledger, health)
    cells = CellText(MonitorReading(monitor.reports, monitor.rollups, monitor.changes), version=__version__)
    asking = Asking(SqliteGoldens(database), archive, verdicts, replayer, scorer, judge, ledger, costs)
    changes = await asyncio.to_thread(
        ChangeResponse, settings, SqliteChangeStore(database), SqliteBursts(database), monitor, asking
    )
    registry = CollectorRegistry()
    registry.register(changes.collector)
    registry.register(
        SnapshotCollector(
            lambda: [*counters.read(), monitor.snapshot(), pipeline.snapshot(), health.snapshot()]
        )
    )
    app = create_app(
        ConsoleSources(
            reports=monitor.reports,
            rollups=monitor.rollups,
            changes=monitor.changes,
            log=verdicts,
            monitor_store=monitor_store,
            exposition=lambda: cells.render() + generate_latest(registry),
            ready=pipeline.problems,
            pipeline=pipeline.view,
            clock=time.time,
            change_reports=changes.book.reports,
            goldens=GoldenSources(asking.goldens, archive),
            trace_url=settings.telemetry.trace_url,
        )
    )

    stop = stop_event()
    stopping = threading.Event()
    threads = [
        threading.Thread(target=monitor.run, args=(stopping, _MONITOR_POLL_S, cells.refresh), name="monitor"),
        threading.Thread(target=notifier.run, args=(stopping, _MONITOR_POLL_S), name="notify"),
        threading.Thread(
            target=publish_counters,
            args=(stopping, briefing.source, counters, lambda: merge([tally.snapshot(), spans.snapshot()])),
            name="publish",
        ),
        threading.Thread(target=templates.run, args=(stopping, _KEEP_TEMPLATES_EVERY_S), name="templates"),
    ]
    for thread in threads:
        thread.start()
    stay_responsive()
    async with serving(TokenGuard(app, admin_token(settings), settings.admin.hosts), briefing.open_sockets()):
        await _work(stop, worker, health.run(stop), changes.responder.run(stop))
    await asyncio.to_thread(spans.finish, LAST_SPANS_S)
    stopping.set()
    for thread in threads:
        await asyncio.to_thread(thread.join, 5)
    changes.close()
    await replayer.close()
    if rewriter is not None:
        await rewriter.close()
    await encoder.close()
    await health.close()
    database.close()


async def _work(stop: asyncio.Event, worker: Worker, *others: Coroutine[Any, Any, None]) -> None:
    """Work until told to stop and what is held is finished; the others end with that."""
    beside = [asyncio.create_task(other) for other in others]
    working = asyncio.create_task(worker.run(stop))
    await stop.wait()
    await working
    for task in beside:
        task.cancel()


def stop_event() -> asyncio.Event:
    """Set by SIGTERM, or by the end of the supervisor."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    when_orphaned(lambda: loop.call_soon_threadsafe(stop.set))
    return stop


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


def webhook_of(settings: Settings) -> Webhook | None:
    """Where alerts go, None if they are only logged."""
    return Webhook(settings.alert.webhook) if settings.alert.webhook else None


def admin_token(settings: Settings) -> str | None:
    """What protects the admin port, None if nothing does."""
    return settings.admin.token


def announce(text: str) -> None:
    """Tell people, in the log."""
    log.warning("%s", text)


def publish_counters(
    stopping: threading.Event, source: str, counters: CounterWriting, snapshot: Callable[[], Snapshot]
) -> None:
    """Publish the counters of this process every second until `stopping` is set, and then once more."""
    reported = False
    while True:
        last = stopping.wait(_PUBLISH_EVERY_S)
        try:
            counters.publish(source, snapshot())
            reported = False
        except Exception as error:  # noqa: BLE001 - the boundary of this thread: it must live on
            if not reported:
                log.warning("counters cannot be published (%s)", error)
                reported = True
        if last:
            return
