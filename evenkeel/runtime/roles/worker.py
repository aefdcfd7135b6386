"""`evenkeel worker`: takes exchanges off the queue on Redis and makes their trials.

The worker of a process: takes exchanges off the queue and makes their trials.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from dataclasses import dataclass
from functools import cache, partial
from itertools import count
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest

from evenkeel import __version__
from evenkeel.monitor.export.snapshots import SnapshotCollector
from evenkeel.runtime import replays
from evenkeel.runtime.changes import stamp_of
from evenkeel.runtime.instruments import Instruments
from evenkeel.runtime.process import (
    attend,
    listen_admin,
    publish_counters,
    redis_of,
    served,
    step_aside,
    supervisor_of,
    threads,
)
from evenkeel.runtime.roles.needs import NeedsReader
from evenkeel.runtime.roles.starting import run_alone, run_supervised
from evenkeel.runtime.stores import RedisStores
from evenkeel.shadow.trials import TrialMaker
from evenkeel.shadow.worker import Worker
from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from litestar.types import ASGIApp

    from evenkeel.runtime.reload import SettingsSource
    from evenkeel.runtime.stores import Stores
    from evenkeel.runtime.supervisor import Briefing
    from evenkeel.settings import Settings
    from evenkeel.shadow.planner import Need
    from evenkeel.shadow.rewriter import Rewriter
    from evenkeel.stores.counters import Snapshot
    from evenkeel.stores.redis.queue import RedisExchangeQueue


@dataclass(frozen=True, slots=True)
class Working:
    """The worker, and what runs beside it."""

    worker: Worker
    keep_templates: Callable[[threading.Event], None]
    """Body of a thread."""
    rewriter: Rewriter | None

    @classmethod
    async def set_up(
        cls,
        settings: Settings,
        stores: Stores,
        instruments: Instruments,
        needs: Callable[[str, str], Mapping[str, Need]],
    ) -> Working:
        """Wire it.

        Args:
            settings: Routes, rewriter, what is archived.
            stores: Where exchanges come from and verdicts go.
            instruments: Ask and rate.
            needs: By route and model: what is still to be learnt.
        """
        tally, spans = instruments.tally, instruments.spans
        rewriter = replays.rewriter(
            settings,
            stores.rewrites,
            instruments.prices,
            tally,
            replays.meaning(settings, instruments.judge, instruments.ledger),
            spans.observer,
        )
        templates = await asyncio.to_thread(lambda: stores.templates)
        reader = replays.reader(settings, templates.learner)
        trials = TrialMaker(
            stores.verdicts,
            instruments.scorer,
            instruments.replayer,
            instruments.ledger,
            instruments.prices,
            target=replays.replay_target(settings),
            tally=tally,
            clock=time.time,
            rewriter=rewriter,
            observer=spans.observer,
            stamp=await asyncio.to_thread(stamp_of, settings, stores.changes),
        )
        worker = Worker(
            stores.queue,
            stores.verdicts,
            reader,
            trials,
            tally=tally,
            needs=needs,
            hold=lambda: instruments.health.hold,
            keep=replays.archivist(settings, stores.archive, tally),
            observer=spans.observer,
        )
        return cls(worker, partial(templates.run, reader), rewriter)

    async def close(self) -> None:
        """Close the rewriter's connections."""
        if self.rewriter is not None:
            await self.rewriter.close()


log = logging.getLogger("evenkeel.worker")

_SWEEP_EVERY_S = 600.0


def work(
    settings: Settings, *, admin: bool, say: Callable[[str], None], source: SettingsSource | None = None
) -> None:
    """Work until SIGINT or SIGTERM, then finish what is held.

    Args:
        settings: as for `up`, with a `redis`.
        admin: whether to serve `/metrics` and health on the admin port.
        say: prints the banner.
        source: where the settings are read again; None = nowhere.

    Raises:
        SettingsError: the settings name no Redis.
        StoreError: the Redis cannot be used.
        ListenError: the admin port cannot be listened on.
    """
    redis_of(settings, "worker")
    written = settings
    probes: list[socket.socket] = []
    if admin:
        settings, sock = listen_admin(settings)
        probes.append(sock)
    ready = cache(partial(say, _banner(settings, admin=admin)))
    # A name is not used again: what a former one counted stays.
    names = (f"worker.{int(time.time())}.{number}" for number in count())

    async def serve(settings: Settings, stop: asyncio.Event, reloaded: Callable[[], Snapshot]) -> None:
        sockets = [sock.dup() for sock in probes]
        await _serve(settings, sockets, next(names), ready, stop, reloaded)

    run_alone("worker", written, settings, source, serve)


def run(briefing: Briefing) -> None:
    """Work under a supervisor."""
    step_aside()
    run_supervised(lambda stop: _serve(briefing.settings, [], briefing.source, lambda: None, stop, None))


async def _serve(
    settings: Settings,
    probes: list[socket.socket],
    source: str,
    ready: Callable[[], None],
    stop: asyncio.Event,
    reloaded: Callable[[], Snapshot] | None,
) -> None:
    """Work until `stop` is set; `reloaded` says how reloads went, None = a supervisor does."""
    with contextlib.closing(RedisStores(settings)) as stores:
        await asyncio.to_thread(stores.check)
        await asyncio.to_thread(stores.queue.check_readable)
        instruments = await Instruments.set_up(settings, stores)
        health = instruments.health
        working = await Working.set_up(settings, stores, instruments, NeedsReader(stores.documents))

        def snapshot() -> Snapshot:
            return merge([instruments.counted(), health.snapshot(), reloaded() if reloaded else {}])

        def problems() -> dict[str, str]:
            return {"judge": health.problem} if health.problem else {}

        def probes_app() -> ASGIApp:
            from evenkeel.console import create_probes  # noqa: PLC0415 - a worker without an admin port stays small

            registry = CollectorRegistry()
            registry.register(SnapshotCollector(lambda: [snapshot()]))
            return create_probes(lambda: generate_latest(registry), problems)

        counters = stores.counters_of(supervisor_of(supervised=reloaded is None))
        stopping = threading.Event()
        bodies = (
            partial(publish_counters, stopping, source, counters, snapshot),
            partial(working.keep_templates, stopping),
            partial(_sweep, stores.queue, stopping),
        )
        with threads(stopping, bodies):
            async with served(probes_app, settings, probes):
                ready()
                await attend(working.worker.run(stop), health.run(stop))
            await working.close()
            await instruments.close()


def _sweep(queue: RedisExchangeQueue, stop: threading.Event) -> None:
    """Remove the names of workers that are gone, now and then."""
    while not stop.wait(_SWEEP_EVERY_S):
        try:
            queue.forget_workers()
        except Exception as error:  # noqa: BLE001 - the boundary of this thread: names do no harm
            log.warning("names of workers that are gone cannot be removed (%s)", error)


def _banner(settings: Settings, *, admin: bool) -> str:
    lines = [f"evenkeel {__version__} worker", f"  queue      {redis_of(settings, 'worker').url}"]
    if admin:
        lines.append(f"  metrics    {settings.admin.url}/metrics")
    return "\n".join(lines)
