"""Worker and monitor, each in a process of its own behind the data plane.

Neither can hold up the other: a text that keeps the worker's interpreter busy delays no page of the console.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from functools import partial
from typing import TYPE_CHECKING

from evenkeel.runtime.instruments import Instruments
from evenkeel.runtime.process import (
    attend,
    new_event_loop,
    publish_counters,
    served,
    step_aside,
    take_short_turns,
    threads,
)
from evenkeel.runtime.stores import connect
from evenkeel.runtime.supervisor import when_orphaned
from evenkeel.shadow.timesheet import Timesheet
from evenkeel.stores.counters import merge

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.types import ASGIApp

    from evenkeel.runtime.stores import Stores
    from evenkeel.runtime.supervisor import Briefing
    from evenkeel.settings import Settings
    from evenkeel.stores.counters import Snapshot

log = logging.getLogger("evenkeel")


def run(briefing: Briefing) -> None:
    """Run a role until SIGTERM or the end of the supervisor."""
    if briefing.role == "worker":
        step_aside()
    else:
        take_short_turns()

    async def serve_until_stopped() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        when_orphaned(lambda: loop.call_soon_threadsafe(stop.set))
        await serve(briefing, stop)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve_until_stopped())


async def serve(briefing: Briefing, stop: asyncio.Event) -> None:
    """Run a worker or a monitor until `stop` is set, then finish what is held.

    Raises: StoreError if the store cannot be used.
    """
    role, settings = briefing.role, briefing.settings
    with contextlib.closing(await _opened(role, settings)) as stores:
        instruments = await Instruments.set_up(settings, stores)
        health = instruments.health
        stopping = threading.Event()
        monitor = worker = None
        bodies: list[Callable[[], object]] = []
        # Loaded on demand: a worker needs nothing of the console, nor a monitor the planner.
        if role == "monitor":
            from evenkeel.runtime.roles.monitor import MonitorRole  # noqa: PLC0415

            own = partial(stores.counters.read, briefing.source)
            monitor = await asyncio.to_thread(MonitorRole, settings, stores, instruments, own)
            bodies += monitor.bodies(stopping)
        else:
            from evenkeel.runtime.roles.worker import WorkerRole  # noqa: PLC0415

            worker = await WorkerRole.set_up(settings, stores, instruments, Timesheet(briefing.sheet))
            bodies.append(partial(worker.keep_templates, stopping))

        def published() -> Snapshot:
            return merge([instruments.counted(), *([health.snapshot()] if worker else [])])

        bodies.append(partial(publish_counters, stopping, briefing.report, published))
        main = [worker.run(stop)] if worker else []
        main += [monitor.lead(stop)] if monitor else []

        def app() -> ASGIApp:
            assert monitor is not None  # a worker has no sockets: its supervisor serves the probes
            return monitor.app

        with threads(stopping, bodies):
            async with served(app, settings, briefing.open_sockets()):
                await attend(*main, health.run(stop, announced=worker is not None))
            if worker:
                await worker.close()
            await instruments.close()
        if monitor:
            await monitor.close()


async def _opened(role: str, settings: Settings) -> Stores:
    # What a worker that was killed had is in the name of the next one: that of their supervisor.
    consumer = f"worker of {os.getppid()}" if role == "worker" else None
    stores = connect(settings, lost=partial(_start_again, role), consumer=consumer)
    try:
        await asyncio.to_thread(stores.check)
        if role == "worker":
            await asyncio.to_thread(stores.prepare)
    except BaseException:
        stores.close()
        raise
    return stores


def _start_again(role: str, problem: str) -> None:
    """End this process at once, so that the supervisor starts another.

    Estimates, spend and templates in memory are those of a store that is gone. Written into an empty one they
    would make a checkpoint that lacks most of its parts, at an offset that the new log reaches much later.
    """
    log.error("%s; the %s starts again", problem, role)
    os._exit(1)
