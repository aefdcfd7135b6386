"""`evenkeel worker`: takes exchanges off the queue on Redis and makes their trials."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest

from console import create_probes
from evenkeel import __version__, replays
from evenkeel.access import TokenGuard
from evenkeel.admin_server import serving
from evenkeel.back_plane import admin_token, publish_counters
from evenkeel.changes.redis_store import RedisChangeStore
from evenkeel.changes.wiring import stamp_of
from evenkeel.data_plane import LAST_SPANS_S, new_event_loop
from evenkeel.encoders import make_encoder
from evenkeel.redis_stores import counter_store, exchange_queue, open_redis
from evenkeel.responsiveness import stay_responsive
from evenkeel.roles.needs import HeardNeeds
from evenkeel.roles.running import listen_admin, redis_of, stop_on_signal, supervisor_of, threads
from evenkeel.roles.templates import SharedTemplates
from evenkeel.scorers import make_judge, make_scorer
from evenkeel.tracing import open_spans
from metrics.export.snapshots import SnapshotCollector
from metrics.judge.redis_cache import RedisJudgeCache
from metrics.stores.counters import Tally, merge
from metrics.stores.redis.connection import process_name
from metrics.stores.redis.exchanges import RedisExchangeArchive
from metrics.stores.redis.lease import RedisLease
from metrics.stores.redis.verdicts import RedisVerdictLog
from shadow.redis_spend import RedisSpendLedger
from shadow.rewriter.redis_cache import RedisRewriteCache
from shadow.trials import TrialMaker
from shadow.worker import Worker

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from evenkeel.children import Briefing
    from evenkeel.settings import Settings
    from metrics.stores.counters import Snapshot
    from metrics.stores.redis.connection import RedisStore
    from shadow.queues.redis import RedisExchangeQueue

log = logging.getLogger("evenkeel.worker")

_NICENESS = 10
_TEMPLATES_EVERY_S = 10.0
_LEARNER_LEASE_S = 30.0
_SWEEP_EVERY_S = 600.0


def work(settings: Settings, *, admin: bool, say: Callable[[str], None]) -> None:
    """Work until SIGINT or SIGTERM, then finish what is held.

    Args:
        settings: as for `up`, with a `redis`.
        admin: whether to serve `/metrics` and health on the admin port.
        say: prints the banner.

    Raises:
        SettingsError: the settings name no Redis.
        StoreError: the Redis cannot be used.
        ListenError: the admin port cannot be listened on.
    """
    redis_of(settings, "worker")
    probes: socket.socket | None = None
    if admin:
        settings, probes = listen_admin(settings)
    ready = partial(say, _banner(settings, probes))
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        source = f"worker.{int(time.time())}"  # a name is not used again: what a former one counted stays
        runner.run(_serve(settings, probes, source, ready, supervised=False))


def run(briefing: Briefing) -> None:
    """Work under a supervisor."""
    with contextlib.suppress(OSError):  # a container may forbid it; then the scheduler shares fairly
        os.nice(_NICENESS)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_serve(briefing.settings, None, briefing.source, lambda: None, supervised=True))


async def _serve(
    settings: Settings,
    probes: socket.socket | None,
    source: str,
    ready: Callable[[], None],
    *,
    supervised: bool,
) -> None:
    redis = redis_of(settings, "worker")
    store = open_redis(redis)
    await asyncio.to_thread(store.check)
    queue = exchange_queue(redis, store)
    verdicts = verdict_log(settings, store)
    ledger = spend_ledger(settings, store)
    costs = replays.prices(settings)
    await asyncio.to_thread(replays.warm_up, costs)
    tally = Tally()
    spans = open_spans(settings)
    judge, health = make_judge(settings, RedisJudgeCache(store), costs, spans.observer)
    encoder = await asyncio.to_thread(make_encoder, settings, costs, spans.observer)
    scorer = await asyncio.to_thread(make_scorer, settings, judge, encoder, tally)
    replayer = replays.replayer(settings)
    meaning = replays.meaning(settings, judge, ledger)
    rewriter = replays.rewriter(settings, RedisRewriteCache(store), costs, tally, meaning, spans.observer)
    learning = RedisLease(store, "learner", process_name(os.getpid()), length_s=_LEARNER_LEASE_S)
    templates = await asyncio.to_thread(SharedTemplates, store, learning)
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
        stamp=await asyncio.to_thread(stamp_of, settings, RedisChangeStore(store)),
    )
    worker = Worker(
        queue,
        verdicts,
        reader,
        trials,
        tally=tally,
        needs=HeardNeeds(store),
        hold=lambda: health.hold,
        keep=replays.archivist(settings, exchange_archive(settings, store), tally),
        observer=spans.observer,
    )

    def snapshot() -> Snapshot:
        return merge([tally.snapshot(), spans.snapshot(), health.snapshot()])

    counters = counter_store(store, supervisor_of(supervised=supervised))
    stop = stop_on_signal(supervised=supervised)
    stopping = threading.Event()
    bodies = (
        partial(publish_counters, stopping, source, counters, snapshot),
        partial(templates.run, reader, stopping, _TEMPLATES_EVERY_S),
        partial(_sweep, queue, stopping),
    )
    stay_responsive()
    with contextlib.closing(store), threads(stopping, bodies):
        async with _probes(settings, probes, snapshot, lambda: _problems(health.problem)):
            ready()
            checking = asyncio.create_task(health.run(stop))
            working = asyncio.create_task(worker.run(stop))
            await stop.wait()
            await working
            checking.cancel()
        await asyncio.to_thread(spans.finish, LAST_SPANS_S)
        await replayer.close()
        if rewriter is not None:
            await rewriter.close()
        await encoder.close()
        await health.close()


def verdict_log(settings: Settings, store: RedisStore) -> RedisVerdictLog:
    """The log, within the limits of the settings."""
    redis = redis_of(settings, "worker")
    return RedisVerdictLog(
        store,
        kept=redis.verdicts,
        evidence_kept=redis.evidence,
        evidence_s=redis.evidence_days * 86_400,
    )


def spend_ledger(settings: Settings, store: RedisStore) -> RedisSpendLedger:
    """What all workers spend together, with the limits of the settings."""
    limits = replays.budgets(settings)
    return RedisSpendLedger(store, limits.all_routes, time.time, limits.routes)


def exchange_archive(settings: Settings, store: RedisStore) -> RedisExchangeArchive:
    """The archive, within the limits of the settings."""
    return RedisExchangeArchive(
        store,
        per_route=settings.archive.exchanges_per_route,
        total_bytes=round(settings.archive.megabytes * 1e6),
    )


def _probes(
    settings: Settings,
    sock: socket.socket | None,
    snapshot: Callable[[], Snapshot],
    problems: Callable[[], dict[str, str]],
) -> contextlib.AbstractAsyncContextManager[None]:
    if sock is None:
        return contextlib.nullcontext()
    registry = CollectorRegistry()
    registry.register(SnapshotCollector(lambda: [snapshot()]))
    app = create_probes(lambda: generate_latest(registry), problems)
    return serving(TokenGuard(app, admin_token(settings), settings.admin.hosts), [sock])


def _problems(problem: str | None) -> dict[str, str]:
    return {"judge": problem} if problem else {}


def _sweep(queue: RedisExchangeQueue, stop: threading.Event) -> None:
    """Remove the names of workers that are gone, now and then."""
    while not stop.wait(_SWEEP_EVERY_S):
        try:
            queue.forget_workers()
        except Exception as error:  # noqa: BLE001 - the boundary of this thread: names do no harm
            log.warning("names of workers that are gone cannot be removed (%s)", error)


def _banner(settings: Settings, probes: socket.socket | None) -> str:
    lines = [f"evenkeel {__version__} worker", f"  queue      {redis_of(settings, 'worker').url}"]
    if probes:
        lines.append(f"  metrics    http://{settings.admin.address}/metrics")
    return "\n".join(lines)
