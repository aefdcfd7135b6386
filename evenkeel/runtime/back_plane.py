"""The processes that nobody waits for: worker and monitor, both in one process or each in its own.

On the file of the data folder both run in one process; on a Redis each has a process of its own, under a
supervisor or alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.runtime.instruments import Instruments
from evenkeel.runtime.process import (
    attend,
    new_event_loop,
    probes,
    publish_counters,
    served,
    step_aside,
    stop_on_signal,
    threads,
)
from evenkeel.runtime.replays import Needs
from evenkeel.runtime.roles.needs import NeedsPublisher, NeedsReader
from evenkeel.runtime.stores import RedisStores, SqliteStores
from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping

    from evenkeel.runtime.roles.monitor import MonitorRole
    from evenkeel.runtime.roles.worker import WorkerRole
    from evenkeel.runtime.stores import Stores
    from evenkeel.runtime.supervisor import Briefing
    from evenkeel.settings import Settings
    from evenkeel.shadow.planner import Need
    from evenkeel.stores.counters import CounterStore, Snapshot
    from evenkeel.stores.redis.queue import RedisExchangeQueue

log = logging.getLogger("evenkeel")

_SWEEP_EVERY_S: Final = 600.0


class Host(NamedTuple):
    """The process that a part runs in."""

    source: str
    """Names it among those of its supervisor."""
    sockets: list[socket.socket]
    """Of the admin port; without any nothing is served there."""
    stop: asyncio.Event
    ready: Callable[[], object] = lambda: None
    """Called once everything is served."""
    reloaded: Callable[[], Snapshot] | None = None
    """Says how reloads of the settings went; None = a supervisor does."""


def run(briefing: Briefing) -> None:
    """Run a part until SIGTERM or the end of the supervisor."""
    if briefing.role != "monitor":
        step_aside()

    async def supervised() -> None:
        host = Host(briefing.source, briefing.open_sockets(), stop_on_signal(supervised=True))
        await serve(briefing.role, briefing.settings, host)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(supervised())


async def serve(part: str, settings: Settings, host: Host) -> None:
    """Run a part until `host.stop` is set, then finish what is held.

    Args:
        part: "worker", "monitor", or "back-plane" for both.
        settings: Of the process.
        host: The process.

    Raises: StoreError if the store cannot be used.
    """
    with contextlib.closing(await _opened(part, settings)) as stores:
        instruments = await Instruments.set_up(settings, stores)
        health = instruments.health
        counters = stores.counters_of(os.getppid() if host.reloaded is None else os.getpid())
        stopping = threading.Event()
        monitor = worker = None
        # Loaded on demand: a worker needs nothing of the console, nor a monitor the planner.
        if part != "worker":
            from evenkeel.runtime.roles.monitor import MonitorRole  # noqa: PLC0415

            counted = partial(_exported, stores, instruments, counters, host)
            late = not isinstance(stores, SqliteStores)
            monitor = await MonitorRole.set_up(settings, stores, instruments, counted, late=late)
        if part != "monitor":
            from evenkeel.runtime.roles.worker import WorkerRole  # noqa: PLC0415

            worker = await WorkerRole.set_up(settings, stores, instruments, _needs(settings, stores, monitor))

        def published() -> Snapshot:
            # On SQLite the monitor in this process knows its judge's health at first hand.
            known = [health.snapshot()] if worker and not monitor else []
            return merge([instruments.counted(), *known, host.reloaded() if host.reloaded else {}])

        bodies = _bodies(settings, stores, monitor, worker, stopping)
        if worker or host.reloaded is None:
            publish = partial(
                publish_counters, stopping, host.source, lambda: nullcontext(counters), published
            )
            bodies.append(publish)
        main = [worker.worker.run(host.stop)] if worker else []
        main += [monitor.respond(host.stop), monitor.ask(host.stop)] if monitor else []
        app = (lambda: monitor.app) if monitor else partial(probes, lambda: [published()], health.problems)
        with threads(stopping, bodies):
            async with served(app, settings, host.sockets):
                host.ready()
                await attend(*main, health.run(host.stop))
            if worker:
                await worker.close()
            await instruments.close()
        if monitor:
            await monitor.close()


def _bodies(
    settings: Settings,
    stores: Stores,
    monitor: MonitorRole | None,
    worker: WorkerRole | None,
    stopping: threading.Event,
) -> list[Callable[[], object]]:
    """Bodies of the threads, which end when `stopping` is set."""
    shared = None if isinstance(stores, SqliteStores) else stores
    bodies: list[Callable[[], object]] = []
    if monitor:
        bodies += monitor.bodies(stopping)
        if shared:
            told = NeedsPublisher(shared.documents, monitor.monitor.reports, settings.alert.min_trials)
            bodies.append(partial(told.run, stopping))
    if worker:
        bodies.append(partial(worker.keep_templates, stopping))
        if shared:
            bodies.append(partial(_sweep, shared.queue, stopping))
    return bodies


async def _opened(part: str, settings: Settings) -> Stores:
    if settings.redis is None:
        stores = SqliteStores(settings, lost=_start_again)
        await asyncio.to_thread(stores.archive.prune)
        await asyncio.to_thread(stores.verdicts.trim)
        return stores
    shared = RedisStores(settings)
    try:
        await asyncio.to_thread(shared.check)
        if part == "worker":
            await asyncio.to_thread(shared.queue.check_readable)
    except BaseException:
        shared.close()
        raise
    return shared


def _start_again(problem: str) -> None:
    """End this process at once; the supervisor starts another.

    Estimates, spend and templates in memory are those of a store that is gone. Written into an empty one they
    would make a checkpoint that lacks most of its parts, at an offset that the new log reaches much later.
    """
    log.error("%s; the back plane starts again", problem)
    os._exit(1)


def _exported(stores: Stores, instruments: Instruments, counters: CounterStore, host: Host) -> list[Snapshot]:
    """Counters that a monitor exports besides its own.

    On a Redis other roles export theirs; exported here too, they would count double. Under a supervisor all
    of its processes' are exported here, this one's among them.
    """
    if host.reloaded is not None:
        return [instruments.health.snapshot(), instruments.counted(), host.reloaded()]
    if isinstance(stores, SqliteStores):
        return [instruments.health.snapshot(), *counters.read()]
    return counters.read()


def _needs(
    settings: Settings, stores: Stores, monitor: MonitorRole | None
) -> Callable[[str, str], Mapping[str, Need]]:
    """Where a worker learns which cells need trials: from the monitor beside it, or through Redis."""
    if monitor is not None:
        return Needs(monitor.monitor.reports, settings.alert.min_trials)
    assert not isinstance(stores, SqliteStores)  # on a file both are in one process
    return NeedsReader(stores.documents)


def _sweep(queue: RedisExchangeQueue, stop: threading.Event) -> None:
    """Remove the names of workers that are gone, now and then."""
    while not stop.wait(_SWEEP_EVERY_S):
        try:
            queue.forget_workers()
        except Exception as error:  # noqa: BLE001 - the boundary of this thread: names do no harm
            log.warning("names of workers that are gone cannot be removed (%s)", error)
