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

from console import ConsoleSources, create_app
from evenkeel import __version__
from evenkeel.access import TokenGuard
from evenkeel.admin_server import serving
from evenkeel.children import when_orphaned
from evenkeel.data_plane import DATABASE_FILE, new_event_loop, open_queue
from evenkeel.judge_health import JudgeHealth
from evenkeel.pipeline import Pipeline
from evenkeel.settings import Credential, route_table
from metrics.export.prometheus import CellCollector
from metrics.export.snapshots import SnapshotCollector
from metrics.judge import Breaker, Judge
from metrics.monitor import Monitor, MonitorSettings
from metrics.notify import Notifier, Webhook
from metrics.scoring import cheap_scorer, judge_scorer
from metrics.similarity import EmbeddingsUnavailableError, load_embeddings
from metrics.stores.counters import CounterStore, Tally
from metrics.stores.sqlite import Database, SqliteMonitorStore, SqliteVerdictLog
from shadow.perturbations import by_name
from shadow.planner import RoutePlan
from shadow.replay import Replayer, Target
from shadow.spend import Budget, SpendLedger, price_usd
from shadow.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.children import Briefing
    from evenkeel.settings import Settings
    from metrics.scoring import TwoStageScorer
    from metrics.similarity import Embeddings
    from shadow.handoff import Exchange

log = logging.getLogger("evenkeel")

_NICENESS = 10
_PUBLISH_EVERY_S = 1.0
_MONITOR_POLL_S = 0.5


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
    ledger = SpendLedger(database, Budget(**settings.budget.model_dump()), time.time)
    queue = open_queue(settings)
    tally = Tally()
    scorer, health = await asyncio.to_thread(_scorer, settings)
    monitor = Monitor(verdicts, monitor_store, _monitor_settings(settings), clock=time.time)
    notifier = Notifier(monitor_store, _announce, _webhook(settings))
    replayer = Replayer(
        concurrency=settings.shadow.concurrency,
        timeout_s=settings.shadow.timeout_s,
        user_agent=f"evenkeel/{__version__}",
    )
    worker = Worker(
        queue,
        verdicts,
        scorer,
        replayer,
        ledger,
        routes=route_plans(settings),
        target=replay_target(settings),
        tally=tally,
        clock=time.time,
        hold=lambda: health.hold,
    )
    pipeline = Pipeline(settings, counters, queue, ledger, health)
    registry = CollectorRegistry()
    registry.register(CellCollector(monitor.reports, version=__version__))
    registry.register(SnapshotCollector(lambda: [*counters.read(), monitor.snapshot(), pipeline.snapshot()]))
    app = create_app(
        ConsoleSources(
            reports=monitor.reports,
            log=verdicts,
            monitor_store=monitor_store,
            exposition=lambda: generate_latest(registry),
            ready=pipeline.problems,
            pipeline=pipeline.view,
            clock=time.time,
        )
    )

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    when_orphaned(lambda: loop.call_soon_threadsafe(stop.set))
    stopping = threading.Event()
    threads = [
        threading.Thread(target=monitor.run, args=(stopping, _MONITOR_POLL_S), name="monitor"),
        threading.Thread(target=notifier.run, args=(stopping, _MONITOR_POLL_S), name="notify"),
        threading.Thread(target=_publish, args=(stopping, briefing.source, counters, tally), name="publish"),
    ]
    for thread in threads:
        thread.start()
    async with serving(TokenGuard(app, _admin_token(settings)), briefing.open_sockets()):
        checking = asyncio.create_task(health.run(stop))
        working = asyncio.create_task(worker.run(stop))
        await stop.wait()
        await working
        checking.cancel()
    stopping.set()
    for thread in threads:
        await asyncio.to_thread(thread.join, 5)
    await replayer.close()
    await health.close()
    database.close()


def route_plans(settings: Settings) -> dict[str, RoutePlan]:
    """How the exchanges of each route are tried."""
    return {
        route.name: RoutePlan(
            perturbations=by_name(route.perturbations),
            severities=tuple(route.severities),
            trials_per_exchange=route.trials_per_exchange,
            task=route.task,
        )
        for route in settings.routes
    }


def replay_target(settings: Settings) -> Callable[[Exchange], Target]:
    """Where replays go: the upstream call that the data plane would make, with their own credential.

    A route whose key evenkeel injects replays with that key, unless replays have one of their own.
    """
    table = route_table(settings.routes)
    own = Credential.read(settings.shadow.api_key_env, settings.shadow.api_key_header)
    credentials = {
        route.name: own
        or (Credential.read(route.api_key_env, route.api_key_header) if route.api_key_env else None)
        for route in settings.routes
    }

    def target(exchange: Exchange) -> Target:
        route = table.named(exchange.route)
        assert route is not None
        # The upstream that answered, so that the pair compares prompts and not deployments.
        upstream = route.upstreams[exchange.upstream if exchange.upstream < len(route.upstreams) else 0]
        path = route.target(exchange.path.encode("latin-1"), upstream).decode("latin-1")
        credential = credentials[exchange.route]
        origin = f"{'https' if upstream.tls else 'http'}://{upstream.authority.decode()}"
        headers = ((credential.header, credential.value),) if credential else ()
        return Target(f"{origin}{path}", headers, upstream.unix_path)

    return target


def _scorer(settings: Settings) -> tuple[TwoStageScorer, JudgeHealth]:
    chosen = settings.judge
    breaker = Breaker()
    if chosen is None:
        return cheap_scorer(_embeddings(settings)), JudgeHealth(None, breaker, "")
    judge = Judge(
        base_url=chosen.base_url,
        model=chosen.model,
        api_key=os.environ.get(chosen.api_key_env) or "",
        timeout_s=chosen.timeout_s,
        concurrency=chosen.concurrency,
        breaker=breaker,
        price=price_usd,
    )
    return judge_scorer(judge), JudgeHealth(judge, breaker, chosen.api_key_env)


def _embeddings(settings: Settings) -> Embeddings | None:
    wanted = settings.scoring.embeddings
    if wanted is False:
        return None
    try:
        return load_embeddings()
    except EmbeddingsUnavailableError as error:
        if wanted:
            log.warning("no sentence embeddings: %s; scoring goes on without them", error)
        return None


def _monitor_settings(settings: Settings) -> MonitorSettings:
    return MonitorSettings(
        threshold=settings.alert.threshold,
        mean_trials_between_false_alarms=settings.alert.mean_trials_between_false_alarms,
        min_trials=settings.alert.min_trials,
        trend_interval_s=settings.console.trend_interval_s,
    )


def _webhook(settings: Settings) -> Webhook | None:
    return Webhook(settings.alert.webhook) if settings.alert.webhook else None


def _admin_token(settings: Settings) -> str | None:
    return os.environ.get(settings.admin.token_env) if settings.admin.token_env else None


def _announce(text: str) -> None:
    log.warning("%s", text)


def _publish(stopping: threading.Event, source: str, counters: CounterStore, tally: Tally) -> None:
    reported = False
    while True:
        last = stopping.wait(_PUBLISH_EVERY_S)
        try:
            counters.publish(source, tally.snapshot())
            reported = False
        except Exception as error:  # noqa: BLE001 - the boundary of this thread: it must live on
            if not reported:
                log.warning("counters cannot be published (%s)", error)
                reported = True
        if last:
            return
