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
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest

from console import ConsoleSources, GoldenSources, create_app
from evenkeel import __version__, replays
from evenkeel.access import TokenGuard
from evenkeel.admin_server import serving
from evenkeel.children import when_orphaned
from evenkeel.data_plane import DATABASE_FILE, LAST_SPANS_S, new_event_loop, open_queue
from evenkeel.encoders import make_encoder
from evenkeel.pipeline import Pipeline
from evenkeel.responsiveness import stay_responsive
from evenkeel.scorers import make_judge, make_scorer
from evenkeel.templates import TemplateKeeper
from evenkeel.tracing import open_spans
from metrics.export.prometheus import CellText, MonitorReading
from metrics.export.snapshots import SnapshotCollector
from metrics.goldens import SqliteGoldens
from metrics.monitor import Monitor, MonitorSettings
from metrics.notify import Notifier, Webhook
from metrics.stores.counters import CounterStore, Tally, merge
from metrics.stores.sqlite import Database, SqliteMonitorStore, SqliteVerdictLog
from shadow.trials import TrialMaker
from shadow.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.children import Briefing
    from evenkeel.settings import Settings
    from metrics.stores.counters import Snapshot

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
    judge, health = make_judge(settings, database, costs, spans.observer)
    encoder = await asyncio.to_thread(make_encoder, settings, costs, spans.observer)
    scorer = await asyncio.to_thread(make_scorer, settings, judge, encoder, tally)
    monitor = Monitor(verdicts, monitor_store, _monitor_settings(settings), clock=time.time)
    notifier = Notifier(monitor_store, _announce, _webhook(settings))
    replayer = replays.replayer(settings)
    rewriter = replays.rewriter(
        settings, database, costs, tally, replays.meaning(settings, judge, ledger), spans.observer
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
    registry = CollectorRegistry()
    registry.register(SnapshotCollector(lambda: [*counters.read(), monitor.snapshot(), pipeline.snapshot()]))
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
            goldens=GoldenSources(SqliteGoldens(database), archive),
            trace_url=settings.telemetry.trace_url,
        )
    )

    stop = _stop_event()
    stopping = threading.Event()
    threads = [
        threading.Thread(target=monitor.run, args=(stopping, _MONITOR_POLL_S, cells.refresh), name="monitor"),
        threading.Thread(target=notifier.run, args=(stopping, _MONITOR_POLL_S), name="notify"),
        threading.Thread(
            target=_publish,
            args=(stopping, briefing.source, counters, lambda: merge([tally.snapshot(), spans.snapshot()])),
            name="publish",
        ),
        threading.Thread(target=templates.run, args=(stopping, _KEEP_TEMPLATES_EVERY_S), name="templates"),
    ]
    for thread in threads:
        thread.start()
    stay_responsive()
    async with serving(TokenGuard(app, _admin_token(settings)), briefing.open_sockets()):
        checking = asyncio.create_task(health.run(stop))
        working = asyncio.create_task(worker.run(stop))
        await stop.wait()
        await working
        checking.cancel()
    await asyncio.to_thread(spans.finish, LAST_SPANS_S)
    stopping.set()
    for thread in threads:
        await asyncio.to_thread(thread.join, 5)
    await replayer.close()
    if rewriter is not None:
        await rewriter.close()
    await encoder.close()
    await health.close()
    database.close()


def _stop_event() -> asyncio.Event:
    """Set by SIGTERM, or by the end of the supervisor."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    when_orphaned(lambda: loop.call_soon_threadsafe(stop.set))
    return stop


def _monitor_settings(settings: Settings) -> MonitorSettings:
    return MonitorSettings(
        threshold=settings.alert.threshold,
        mean_trials_between_false_alarms=settings.alert.mean_trials_between_false_alarms,
        min_trials=settings.alert.min_trials,
        drift_tolerance=settings.alert.drift_tolerance,
        provisional_after=settings.alert.provisional_after,
        trend_interval_s=settings.console.trend_interval_s,
    )


def _webhook(settings: Settings) -> Webhook | None:
    return Webhook(settings.alert.webhook) if settings.alert.webhook else None


def _admin_token(settings: Settings) -> str | None:
    return os.environ.get(settings.admin.token_env) if settings.admin.token_env else None


def _announce(text: str) -> None:
    log.warning("%s", text)


def _publish(
    stopping: threading.Event, source: str, counters: CounterStore, snapshot: Callable[[], Snapshot]
) -> None:
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
