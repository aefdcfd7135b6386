"""The processes behind the data plane: worker and monitor, each in a process of its own.

Neither can hold up the other: a text that keeps the worker's interpreter busy delays no page of the console.
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
    take_short_turns,
    threads,
)
from evenkeel.runtime.stores import RedisStores, SqliteStores
from evenkeel.runtime.timesheet import Timesheet
from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from evenkeel.runtime.stores import Stores
    from evenkeel.runtime.supervisor import Briefing
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import CounterStore, Snapshot
    from evenkeel.stores.redis.queue import RedisExchangeQueue

log = logging.getLogger("evenkeel")

_SWEEP_EVERY_S: Final = 600.0


class Host(NamedTuple):
    """The process that a role runs in."""

    source: str
    """Names it among those of its supervisor."""
    sockets: list[socket.socket]
    """Of the admin port; without any nothing is served there."""
    stop: asyncio.Event
    ready: Callable[[], object] = lambda: None
    """Called once everything is served."""
    reloaded: Callable[[], Snapshot] | None = None
    """Says how reloads of the settings went; None = a supervisor does."""
    sheet: int = -1
    """Descriptor of the `Timesheet` that its supervisor watches."""


def run(briefing: Briefing) -> None:
    """Run a role until SIGTERM or the end of the supervisor."""
    if briefing.role == "worker":
        step_aside()
    else:
        take_short_turns()

    async def supervised() -> None:
        stop = stop_on_signal(supervised=True)
        host = Host(briefing.source, briefing.open_sockets(), stop, sheet=briefing.sheet)
        await serve(briefing.role, briefing.settings, host)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(supervised())


async def serve(role: str, settings: Settings, host: Host) -> None:
    """Run a role until `host.stop` is set, then finish what is held.

    Args:
        role: "worker" or "monitor".
        settings: Of the process.
        host: The process.

    Raises: StoreError if the store cannot be used.
    """
    with contextlib.closing(await _opened(role, settings)) as stores:
        instruments = await Instruments.set_up(settings, stores)
        health = instruments.health
        counters = stores.counters_of(os.getppid() if host.reloaded is None else os.getpid())
        stopping = threading.Event()
        monitor = worker = None
        bodies: list[Callable[[], object]] = []
        # Loaded on demand: a worker needs nothing of the console, nor a monitor the planner.
        if role == "monitor":
            from evenkeel.runtime.roles.monitor import MonitorRole  # noqa: PLC0415

            counted = partial(_exported, instruments, counters, host)
            monitor = await MonitorRole.set_up(settings, stores, instruments, counted)
            bodies += monitor.bodies(stopping)
        else:
            from evenkeel.runtime.roles.worker import WorkerRole  # noqa: PLC0415

            worker = await WorkerRole.set_up(settings, stores, instruments, Timesheet(host.sheet))
            bodies.append(partial(worker.keep_templates, stopping))
            if isinstance(stores, RedisStores):
                bodies.append(partial(_sweep, stores.queue, stopping))

        def published() -> Snapshot:
            known = [health.snapshot()] if worker else []
            return merge([instruments.counted(), *known, host.reloaded() if host.reloaded else {}])

        if worker or host.reloaded is None:
            publish = partial(
                publish_counters, stopping, host.source, lambda: nullcontext(counters), published
            )
            bodies.append(publish)
        main = [worker.run(host.stop)] if worker else []
        main += [monitor.respond(host.stop), monitor.ask(host.stop)] if monitor else []
        app = (
            (lambda: monitor.app)
            if monitor
            else partial(
                probes, lambda: [published()], health.problems, detail=settings.telemetry.metrics_detail
            )
        )
        with threads(stopping, bodies):
            async with served(app, settings, host.sockets):
                host.ready()
                await attend(*main, health.run(host.stop, announced=worker is not None))
            if worker:
                await worker.close()
            await instruments.close()
        if monitor:
            await monitor.close()


async def _opened(role: str, settings: Settings) -> Stores:
    if settings.storage.redis is None:
        stores = SqliteStores(settings, lost=partial(_start_again, role))
        if role == "worker":
            await asyncio.to_thread(stores.archive.prune)
            await asyncio.to_thread(stores.verdicts.trim)
        return stores
    # What a worker that was killed had is in the name of the next one: that of their supervisor.
    shared = RedisStores(settings, consumer=f"worker of {os.getppid()}" if role == "worker" else None)
    try:
        await asyncio.to_thread(shared.check)
        if role == "worker":
            await asyncio.to_thread(shared.queue.check_readable)
    except BaseException:
        shared.close()
        raise
    return shared


def _start_again(role: str, problem: str) -> None:
    """End this process at once; the supervisor starts another.

    Estimates, spend and templates in memory are those of a store that is gone. Written into an empty one they
    would make a checkpoint that lacks most of its parts, at an offset that the new log reaches much later.
    """
    log.error("%s; the %s starts again", problem, role)
    os._exit(1)


def _exported(instruments: Instruments, counters: CounterStore, host: Host) -> list[Snapshot]:
    """Counters that a monitor exports besides its own.

    Alone, other roles export theirs; exported here too, they would count double. Under a supervisor all of
    its processes' are exported here, this one's among them.
    """
    if host.reloaded is not None:
        return [instruments.health.snapshot(), instruments.counted(), host.reloaded()]
    return counters.read()


def _sweep(queue: RedisExchangeQueue, stop: threading.Event) -> None:
    """Remove the names of workers that are gone, now and then."""
    while not stop.wait(_SWEEP_EVERY_S):
        try:
            queue.forget_workers()
        except Exception as error:  # noqa: BLE001 - the boundary of this thread: names do no harm
            log.warning("names of workers that are gone cannot be removed (%s)", error)
